"""What must hold after every step, on the state and on what a person would be told. Each is one function.

The world knows what truly happened; the store, the lists and the receipts say what rekindle knows. The two are held
against each other here, and nowhere else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from rekindle.adapters.sql_store.codec import decode_fact, decode_session, decode_told, encode
from rekindle.app.session_view import SessionView
from rekindle.app.session_view import shown as shown_offline
from rekindle.core.governor.facts import GovernorFact
from rekindle.core.job.facts import JobFact
from rekindle.core.session import facts as f
from rekindle.core.session.asking import open_questions
from rekindle.core.session.machine import evolve
from rekindle.core.session.prompt_ids import task_in
from rekindle.core.session.recovery import is_compaction
from rekindle.core.session.state import Session, State
from rekindle.core.session.words import OVER
from tests.simulate.feature_invariants import FeatureOracle
from tests.simulate.governor_invariants import GovernorOracle
from tests.simulate.job_invariants import JobOracle
from tests.simulate.report_invariants import ReportOracle
from tests.simulate.rule_invariants import RuleOracle
from tests.simulate.rulebooks import ENDING
from tests.simulate.simulation import Simulation
from tests.simulate.truth import said_by
from tests.simulate.violation import Violation, demand
from tests.simulate.waiting_invariants import WaitingOracle

#: So long a list may take to notice what has changed in the world.
_LATE = 5.0
#: More turns than this do not fail for one reason without anybody's help: twelve retries, and what begins anew.
_MOST_FAILURES = 16
#: More than this is never under way in a daemon of so few sessions: what fails is tried again once, not in each place.
_MOST_TASKS = 120
_ENDED = (State.COMPLETED, State.CANCELLED)


@dataclass
class Known:
    """A session, folded from its facts alone."""

    session: Session | None = None
    body: str = ""
    order: list[str] = field(default_factory=list)
    alone: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    receipts: dict[int, f.Receipt] = field(default_factory=dict)
    worked: set[int] = field(default_factory=set)


class Oracle:
    """Looks at one simulation after each of its steps."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.world = simulation.world
        self.known: defaultdict[str, Known] = defaultdict(Known)
        self.features = FeatureOracle(simulation)
        self.rules = RuleOracle(simulation)
        self.governor = GovernorOracle(simulation)
        self.waiting = WaitingOracle(simulation)
        self.jobs = JobOracle(simulation)
        self.report = ReportOracle(simulation, self.jobs)
        self._seen = 0
        self._healthy_since: float | None = None

    def after_step(self) -> None:
        """Everything that must hold at any moment."""
        self._no_fault()
        self._take_in_facts()
        self._one_tree()
        self._prompts_once_and_in_order()
        self._nothing_acknowledged_is_lost()
        self._answers_reach_their_questions()
        self._look_at_lists()
        self.features.after_step()
        self.rules.gates_ran()
        self.waiting.after_step()
        self.jobs.after_step()

    def sessions(self) -> list[Session]:
        """Every session as its facts have made it."""
        return [one.session for one in self.known.values() if one.session is not None]

    # faults of the program

    def _no_fault(self) -> None:
        for house in self.simulation.houses:
            for failure in (*house.faults, *house.loop.faults):
                raise Violation(f"the daemon met {type(failure).__name__}: {failure}") from failure
            tasks = house.loop.under_way()
            demand(tasks <= _MOST_TASKS, f"a daemon has {tasks} tasks under way at once")

    # facts

    def _take_in_facts(self) -> None:
        content = self.simulation.disk.content
        new, self._seen = content.facts[self._seen :], len(content.facts)
        for seq, stream, subject, text in new:
            when = self.world.recorded[seq - 1]
            if stream == "session":
                self._fact(self.known[subject], decode_fact(text), when)
            elif stream == "job":
                done = decode_told("job", text)
                assert isinstance(done, JobFact)
                self.jobs.fact(subject, done, when)
            elif stream == "governor":
                told = decode_told("governor", text)
                assert isinstance(told, GovernorFact)
                self.governor.governor_fact(told, when)
                self.waiting.governor_fact(told)
        for name in sorted({subject for _, stream, subject, _ in new if stream == "session"}):
            if name in content.sessions:
                known = self.known[name]
                same = encode(known.session) == content.sessions[name][1]
                demand(same, f"{name}: folding its facts does not give the session that is stored")

    def _fact(self, known: Known, fact: f.AnyFact, when: float) -> None:
        before = known.session
        known.session = evolve(before, fact)
        if before is not None:
            self.rules.fact(before, fact, when)
            self.governor.fact(before, fact, when)
            self.waiting.fact(before, fact, when)
        match fact:
            case f.PromptQueued(by="user") if fact.prompt not in known.order:
                known.order.append(fact.prompt)
            case f.ResumeAsked():
                known.alone = 0
                known.failures.clear()
            case f.LaunchIntended() if before is not None:
                self._launched(known, before, fact)
            case f.TurnFinished() if before is not None and not is_compaction(before, fact.prompt):
                known.alone = 0
                known.failures.clear()
                known.worked.add(fact.attempt)
            case f.TurnFailed() if task_in(fact.prompt):
                known.failures[fact.error] += 1
                most = f"{known.failures[fact.error]} turns failed ({fact.error}), and nobody was asked"
                demand(known.failures[fact.error] <= _MOST_FAILURES, most)
            case f.ReceiptWritten():
                self._receipt(known, fact.attempt, fact.receipt)
            case _:
                pass

    def _launched(self, known: Known, before: Session, fact: f.LaunchIntended) -> None:
        if fact.attempt > 1 and not before.resume_asked:
            known.alone += 1
        times = before.rules.restarts.times
        demand(known.alone <= times, f"{before.id}: {known.alone} starts by itself without progress (budget {times})")

    def _receipt(self, known: Known, attempt: int, receipt: f.Receipt) -> None:
        """What a receipt says against what the agent has opened, and against what truly ran."""
        assert known.session is not None
        name = known.session.id
        if receipt.kind == "same":
            due = Counter(said_by(self.world.due.get((name, attempt), [])))
            missing = due - Counter(said_by(self.world.loaded.get((name, attempt), [])))
            lost = ", ".join(prompt[:40] for prompt, _ in missing)
            demand(not missing, f"{name}: attempt {attempt} is called the same conversation, and lacks: {lost}")
        for tool in self.world.tools:
            if tool.session == name and tool.attempt < attempt and not tool.is_over:
                told = [
                    number
                    for number, one in known.receipts.items()
                    if tool.attempt < number < attempt
                    and one.kind != "unproven"
                    and number in known.worked
                    and _names(one, tool.title)
                ]
                is_named = _names(receipt, tool.title)
                unnamed = f"{name}: the receipt of attempt {attempt} does not name what was cut: {tool.title}"
                demand(bool(told) or is_named, unnamed)
        known.receipts[attempt] = receipt

    # the world

    def _one_tree(self) -> None:
        live = Counter(name for (name, _), one in self.world.attempts.items() if one.ended is None)
        for name, number in live.items():
            demand(number <= 1, f"{name}: {number} agents live at once")
        fenced = ("a stale generation speaks", *(["a second agent of one session"] * self.simulation.was_overtaken))
        refused = [one for one in self.world.refused if one not in fenced]
        demand(not refused, f"a keeper had to refuse: {', '.join(refused)}")

    def _prompts_once_and_in_order(self) -> None:
        shown: defaultdict[str, list[str]] = defaultdict(list)
        for begun in self.world.begun:
            if begun.is_shown and not task_in(begun.prompt):
                demand(begun.prompt not in shown[begun.session], f"{begun.prompt} was worked on twice")
                shown[begun.session].append(begun.prompt)
        for name, done in shown.items():
            order = [one for one in self.known[name].order if one in done]
            demand(order == done, f"{name}: prompts were worked on out of their order: {' '.join(done)}")
        own = {one.text for one in self.simulation.prompted.values()}  # by its words: a fault may give it another name
        texts = Counter(begun.text for begun in self.world.begun if begun.is_shown and begun.text in own)
        for text, number in texts.items():
            demand(number == 1, f"the agent was told {number} times: {text[:60]}")

    def _nothing_acknowledged_is_lost(self) -> None:
        for what, prompt, request in self.simulation.requests:
            if what in ("begin", "send") and request.state == "answered":
                told = self.simulation.prompted[prompt]
                found = self.known[told.session].order
                demand(prompt in found, f"{prompt} was acknowledged, and is lost")

    def _answers_reach_their_questions(self) -> None:
        given = {(one.title, one.option) for one in self.simulation.replied}
        for asked in self.world.asked:
            if asked.option is not None and self._is_mine(asked.session):
                nobody = f"nobody answered {asked.option} to: {asked.title}"
                demand((asked.title, asked.option) in given, nobody)

    def _is_mine(self, session: str) -> bool:
        """Whether a person answers this session's questions."""
        return self.simulation.permissions.get(session, "ask") == "ask"

    # what a person is told

    def view(self, name: str) -> SessionView:
        """A session as `ps` and `show` tell of it, with or without a daemon."""
        house = self.simulation.served
        if house is not None:
            found = house.engine.in_memory(name) or self._stored(name)
            return house.service.shown(found)
        alive = self.world.alive(name) > 0
        stored = self._stored(name)
        return shown_offline(stored, self.world.clock(), alive=alive, seen_seconds_ago=None, served=False)

    def _stored(self, name: str) -> Session:
        known = self.known[name].session
        return known if known is not None else decode_session(self.simulation.disk.content.sessions[name][1])

    def _look_at_lists(self) -> None:
        for name in self.simulation.disk.content.sessions:
            told = self.view(name)
            is_ended = told.state in _ENDED
            demand(told.status in OVER or not is_ended or not told.needs_you, f"{name} has ended and is {told.status}")
            unwanted = f"{name} is {told.status}, and nobody has asked for that"
            of_job = bool(self._stored(name).job)  # what ends it is in `job_invariants`
            may_end = told.feature is not None or of_job or self.simulation.books.get(name) in ENDING
            demand(name in self.simulation.ended or not is_ended or may_end, unwanted)
            is_failed = told.state is State.FAILED.value and not may_end
            demand(not is_failed, f"{name} has failed for good, and a start of it may still come")
            demand(is_ended or told.status not in OVER, f"{name} has not ended, and lists leave it out")
            self._list_is_true(name, told)

    def _list_is_true(self, name: str, told: SessionView) -> None:
        if self.simulation.served is None or self.world.is_full or self.world.syncs != "fast":
            self._healthy_since = None
            return
        now = self.simulation.time.now
        self._healthy_since = now if self._healthy_since is None else self._healthy_since
        if now - max(self._healthy_since, self.world.died_at.get(name, 0.0)) < _LATE:
            return
        if self.world.obstacle is None and not self.world.is_sick:
            self.waiting.goes_on(self._stored(name), told, now)
            self.waiting.falls_silent(self._stored(name), now, self._healthy_since)
            self.rules.gate_is_decided(self._stored(name), now, self._healthy_since)
            self.rules.waits_no_longer(self._stored(name), now, self._healthy_since)
        is_there = self.world.is_taken(name)
        demand(is_there or not told.is_running, f"{name} is listed as {told.status}, and its agent is dead")
        shown = {one.title for one in open_questions(self._stored(name))}
        answered = {one.title for one in self.simulation.replied}
        for asked in self.world.asked:
            if asked.session == name and asked.is_open and now - asked.at > _LATE and asked.title not in answered:
                is_mine = self._is_mine(name)
                demand(not is_mine or asked.title in shown, f"{name} asks, and nobody is told: {asked.title}")
                demand(not is_mine or told.needs_you, f"{name} asks, and is not listed as needing anybody")


def at_rest(oracle: Oracle) -> None:
    """After a long time in which nobody did anything: what cannot go on by itself says that it needs somebody."""
    if oracle.simulation.served is None:
        return
    oracle.jobs.at_rest({one.id: one for one in oracle.sessions()})
    for session in oracle.sessions():
        if session.feature is not None or session.job:
            continue  # its run decides: see `feature_invariants`, or its job: see `job_invariants`
        told = oracle.view(session.id)
        if session.state in _ENDED or told.waits_until is not None:
            continue
        open_states = ("queued", "sent", "began", *(() if session.stopped_by else ("cut",)))  # a stopped turn may stay
        pending = [one.id for one in session.prompts if one.state in open_states]
        left = f"{session.id} is {told.status}, has {', '.join(pending)} to do, and says that nobody is needed"
        is_held = bool(session.on_hold) and "on hold" in told.why
        demand(not pending or told.needs_you or is_held or told.status == "working", left)


def at_end(oracle: Oracle) -> None:
    """When everything was mended and a person did what the lists said: all is done, once, or named."""
    for session in oracle.sessions():
        if session.state in _ENDED or session.feature is not None or session.job:
            continue
        told = oracle.view(session.id)
        for prompt in session.prompts:
            if prompt.by != "user":
                continue
            left = f"{prompt.id} of {session.id} is {prompt.state} at the end ({told.status}: {told.why or '-'})"
            is_stopped = bool(session.stopped_by) and prompt.state == "cut"  # a person has stopped it
            demand(is_stopped or prompt.state in ("done", "failed", "cancelled"), left)
            is_told = prompt.id in oracle.world.got
            demand(prompt.state != "done" or is_told, f"{prompt.id} is done, and no agent worked on it")
            demand(prompt.state != "failed" or bool(prompt.outcome), f"{prompt.id} failed, and nobody is told why")


def _names(receipt: f.Receipt, title: str) -> bool:
    return any(title in line for line in receipt.unknown)
