"""A job and its sessions without a machine: the real decisions, an agent that does what a test says, and a clock."""

from __future__ import annotations

from typing import Any, Literal

from rekindle.core.effects import End, Launch, Open, Say
from rekindle.core.job import facts as jf
from rekindle.core.job.machine import evolve
from rekindle.core.job.order import JobOrder, StepOrder
from rekindle.core.job.orders import again, ended
from rekindle.core.job.plan import BeginSession, EndSession, TryAgain, plan
from rekindle.core.job.react import react
from rekindle.core.job.record import JobRecord, record
from rekindle.core.job.rules import job_rules
from rekindle.core.job.state import Job
from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.runbook import Reactions
from rekindle.core.session import facts as f
from rekindle.core.session import plan as session_plan
from rekindle.core.session.prompt_marks import marks
from rekindle.core.session.react import taken
from rekindle.core.session.state import Session
from rekindle.core.session.strategy import Evidence, candidates, choose

#: What an agent does in its next turn, or instead of starting.
Act = Literal["well", "die", "timeout", "error", "login", "too_long", "lose", "no_start"]


def step(name: str = "task", prompt: str = "do it", *needs: str, policy: str = "continue") -> StepOrder:
    rules = job_rules(policy, Reactions(), Limits(turn_seconds=60.0))
    return StepOrder(name, prompt, "fake", needs, cwd="/w", rules=rules, limits=rules.limits)


def order(*steps: StepOrder, **changes: Any) -> JobOrder:
    policy = changes.get("policy", "continue")
    return JobOrder(steps or (step(policy=policy),), **changes)


class Stage:
    """One job. `acts` are used up one by one; after them every turn goes well."""

    def __init__(self, wanted: JobOrder, acts: list[Act] | None = None, *, seconds: float = 1.0) -> None:
        self.now = 1000.0
        self.seconds = seconds
        self.acts = list(acts or [])
        self.facts: list[jf.JobFact] = []
        self.sessions: dict[str, Session] = {}
        self.said: list[tuple[str, str, int]] = []
        self.effects: list[Any] = []
        self.lost: set[str] = set()
        self.has_room = True
        self.job: Job = self.tell(jf.JobSubmitted(at=self.now, job="j00000001", order=wanted))

    def tell(self, *facts: jf.JobFact) -> Job:
        job: Job | None = getattr(self, "job", None)
        for fact in facts:
            job = evolve(job, fact)
            self.facts.append(fact)
        assert job is not None
        self.job = job
        return job

    @property
    def session(self) -> Session | None:
        current = self.job.current
        return self.sessions.get(current.session) if current is not None and current.session is not None else None

    @property
    def record(self) -> JobRecord:
        return record(self.job, self.sessions, self.now)

    def run(self, rounds: int = 400) -> Stage:
        """Until nothing more happens."""
        for _ in range(rounds):
            if not self.turn():
                return self
        raise AssertionError("it never came to rest")

    def turn(self) -> bool:
        """One decision, effect or move of an agent; False: there is none, and no timer runs."""
        self.now += self.seconds
        decided = react(self.job, self.session, self.now, has_room=self.has_room)
        if decided:
            self.tell(*decided)
            return True
        effects = plan(self.job, self.session, self.now)
        for effect in effects:
            self.effects.append(effect)
            self.perform(effect)
        if effects:
            return True
        if any(self.act(name) for name in list(self.sessions)):
            return True
        until = self.record.next_at
        if until is not None and until > self.now:
            self.now = until
            return True
        return False

    def perform(self, effect: Any) -> None:
        match effect:
            case BeginSession():
                wanted = next(one.order for one in self.job.steps if one.order.name == effect.step)
                created = f.Created(
                    at=self.now, session=effect.session, agent="fake", cwd="/w", rules=wanted.rules, job=self.job.id
                )
                self.book(effect.session, created)
                self.book(effect.session, f.PromptQueued(at=self.now, prompt="p0", text=wanted.prompt))
            case TryAgain():
                self.book(effect.session, *again(self.sessions[effect.session], effect, self.now))
            case EndSession():
                self.book(effect.session, *ended(self.sessions[effect.session], effect, self.now))

    def book(self, session: str, *facts: f.AnyFact) -> None:
        if facts:
            self.sessions[session] = taken(self.sessions.get(session), facts)[0]

    def act(self, name: str) -> bool:
        """What the session's own plan wants, done by an agent that follows the script."""
        effects = session_plan.plan(self.sessions[name], self.now)
        match effects[0] if effects else None:
            case Launch(attempt=number):
                self.launch(name, number)
            case Open(attempt=number, how=how, token=token):
                self.open(name, number, how, token)
            case Say(attempt=number, prompt=prompt, text=text):
                self.say(name, number, prompt, text)
            case End(attempt=number):
                self.book(name, f.Exited(at=self.now, attempt=number, how_ended="exit 0", by_us=True))
            case _:
                return False
        return True

    def launch(self, name: str, number: int) -> None:
        session = self.sessions[name]
        if session.attempt is None or session.attempt.status == "gone":
            tokens = candidates(session)
            choice = choose(session, [Evidence(one, "intact", self.known(name)) for one in tokens], self.now)
            intended = f.LaunchIntended(
                at=self.now, attempt=number, generation=number, how=choice.how, token=choice.token, why=choice.why
            )
            self.book(name, intended)
        if self.next_act() == "no_start":
            self.acts.pop(0)
            self.book(name, f.LaunchFailed(at=self.now, attempt=number, message="no such program"))
        else:
            self.book(name, f.Launched(at=self.now, attempt=number, folder="/k", pid=1))

    def next_act(self) -> Act:
        return self.acts[0] if self.acts else "well"

    def open(self, name: str, number: int, how: f.How, token: str | None) -> None:
        if how == "load" and token in self.lost:
            self.book(
                name,
                f.OpenRefused(at=self.now, attempt=number, how="load", problem="unknown_session", message="gone"),
            )
            return
        if how == "load" and self.next_act() == "lose":
            self.acts.pop(0)
            self.lost.add(str(token))
            self.open(name, number, how, token)
            return
        token = token or f"{name}-t{number}"
        known = marks(self.known(name))
        self.book(name, f.Opened(at=self.now, attempt=number, how=how, token=token, known=known))

    def known(self, name: str) -> tuple[str, ...]:
        """What the agent remembers: all that it was told."""
        return tuple(text for session, text, _ in self.said if session == name)

    def say(self, name: str, number: int, prompt: str, text: str) -> None:
        self.said.append((name, text, number))
        at, act = self.now, self.acts.pop(0) if self.acts else "well"
        self.book(name, f.PromptSent(at=at, attempt=number, prompt=prompt, message=1, text=text))
        self.book(name, f.TurnBegan(at=at, attempt=number, prompt=prompt))
        cut = f.Cut(said="half")
        match act:
            case "well":
                self.book(name, f.TurnFinished(at=at, attempt=number, prompt=prompt, stop_reason="end_turn"))
            case "die" | "lose" | "no_start":
                if act == "lose":
                    self.lost.add(str(self.sessions[name].token))
                self.book(name, f.Exited(at=at, attempt=number, how_ended="SIGKILL", by_us=False, cut=cut))
            case "timeout":
                due = self.sessions[name].timers["turn"]
                self.now = max(self.now, due)
                self.book(name, f.Due(at=self.now, timer="turn", until=due))
                self.book(name, f.Exited(at=self.now, attempt=number, how_ended="ended", by_us=True, cut=cut))
            case "error" | "login" | "too_long":
                kind: Any = {"error": "other", "login": "unauthorized", "too_long": "context_overflow"}[act]
                self.book(name, f.TurnFailed(at=at, attempt=number, prompt=prompt, error=kind, message="no"))
