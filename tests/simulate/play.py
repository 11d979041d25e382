"""Plays a story to its end and says how it went. The last part is always the same: rest, repair, and a patient person.

The person does what lists tell people to do, and nothing else: answers what is asked, types what `next` says.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from rekindle.app.session_view import SessionView
from tests.simulate.actions import Action, actions_of
from tests.simulate.invariants import Oracle, at_end, at_rest
from tests.simulate.simulation import Simulation, heal
from tests.simulate.violation import Violation, demand
from tests.simulate.virtual import GoesRound

#: So long nobody does anything before it is looked who needs somebody.
_REST = 700.0
#: So often the person looks at the lists, and so long it waits in between.
_LOOKS = 40
#: A few jobs work at once, and each may be tried again several times.
_LOOKS_AT_JOBS = 150
_PATIENCE = 120.0


@dataclass(frozen=True)
class Outcome:
    """How a story went. `problem` is empty where all held; `where` is the number of the step at which it did not."""

    seed: int
    actions: tuple[Action, ...]
    problem: str
    where: int
    steps: int
    trace: str
    lines: tuple[str, ...]
    cause: BaseException | None = None

    @property
    def has_failed(self) -> bool:
        """Whether something did not hold."""
        return bool(self.problem)


def play(seed: int, actions: Sequence[Action] | None = None) -> Outcome:
    """Play the story of a seed, or these actions with the moments of that seed."""
    story = tuple(actions_of(seed) if actions is None else actions)
    simulation = Simulation(seed)
    oracle = Oracle(simulation)
    problem, where, cause = "", 0, None
    try:
        for number, action in enumerate(story):
            where = number
            simulation.step(action)
            oracle.after_step()
        where = len(story)
        _rest(simulation, oracle)
        _finish(simulation, oracle)
    except (Violation, GoesRound) as error:
        problem, cause = str(error), error.__cause__
    finally:
        trace = simulation.trace()
        simulation.kill_houses()
    return Outcome(seed, story, problem, where, simulation.steps, trace, tuple(simulation.lines), cause)


def _rest(simulation: Simulation, oracle: Oracle) -> None:
    """Nobody does anything for a long time."""
    if simulation.world.is_full or simulation.world.syncs == "failing":
        return  # as long as nothing can be written down, nothing goes on
    simulation.tell("* nobody does anything for a long time")
    simulation.time.run(_REST)
    simulation.clear_up()
    oracle.after_step()
    at_rest(oracle)


def _finish(simulation: Simulation, oracle: Oracle) -> None:
    simulation.tell("* everything is mended, and a person does what the lists say")
    heal(simulation)
    _ = simulation.house
    _pass(simulation, oracle)
    wanted: list[str] = [""]
    looks = _LOOKS_AT_JOBS if simulation.orders else _LOOKS
    # A limit ends at a time of the day. What an agent said of it before the clock was set back may be read afterwards.
    looks += ceil(simulation.world.set_back / _PATIENCE)
    for _ in range(looks):
        before = wanted
        wanted = [name for name in list(simulation.disk.content.sessions) if _help(simulation, oracle, name)]
        wanted += ["the feature"] if oracle.features.finish() else []
        wanted += [job for job in simulation.orders if _help_job(simulation, oracle, job)]
        if not wanted and not before:
            break
        _pass(simulation, oracle)
    else:
        demand(False, f"after {looks} looks somebody is still needed: {', '.join(wanted)}")
    at_end(oracle)
    oracle.features.at_end()
    oracle.jobs.at_end()
    oracle.report.at_end()


def _pass(simulation: Simulation, oracle: Oracle) -> None:
    simulation.time.run(_PATIENCE)
    simulation.clear_up()
    _ = simulation.house
    simulation.time.run(1.0)
    demand(simulation.served is not None, "a daemon was started, and does not answer")
    oracle.after_step()


def _help(simulation: Simulation, oracle: Oracle, name: str) -> bool:
    """Do what a list says; whether it said that there is something to do, or something is still going on."""
    told = oracle.view(name)
    session = oracle.known[name].session
    is_led = told.feature is not None or (session is not None and bool(session.job))
    if is_led:  # its run or its job goes on with it, and the person only answers
        return told.needs_you and told.next.startswith("rekindle answer") and _do_next(simulation, told)
    return _do_next(simulation, told)


def _help_job(simulation: Simulation, oracle: Oracle, job: str) -> bool:
    """Do what the list of jobs says; whether a job has not ended yet."""
    if job not in oracle.jobs.jobs:
        return False
    told = oracle.jobs.shown(job, {one.id: one for one in oracle.sessions()})
    if told.status in ("done", "failed", "cancelled"):
        return False
    words = shlex.split(told.next)
    if told.needs_you and words[1:2] == ["answer"] and words[2].startswith("q"):
        _answer_named(simulation, words[2])
    elif told.needs_you and told.next.startswith("rekindle job retry"):
        simulation.tell(f"  {job} is {told.status} ({told.why}); the person types: {told.next}")
        simulation.retry_job(simulation.clients[0], job)
    return True


def _answer_named(simulation: Simulation, question: str) -> None:
    """Answer a question that a list names; it has to be on the screen first."""
    person = simulation.clients[0]
    asked = next((one for one in person.screen if one["id"] == question), None)
    if asked is None:
        simulation.look(person)
    else:
        _reply(simulation, asked.get("session"), asked)


def _reply(simulation: Simulation, session: str | None, asks: dict[str, Any]) -> None:
    """Answer a question: an agent may do what it asks for, work goes on, and an idle agent is done."""
    options = [str(one["id"]) for one in asks["options"]]
    wanted = ("yes", "done", "resume") if asks["kind"] == "idle" else ("yes", "resume", "raise", "go-on")
    answer = next((one for one in wanted if one in options), options[0])
    if answer == "done" and session:
        simulation.ended.add(session)
    simulation.tell(f"  {session or 'rekindle'} asks ({asks['title']}); the person answers {answer}")
    simulation.answer(simulation.clients[0], asks, answer)


def _do_next(simulation: Simulation, told: SessionView) -> bool:
    person = simulation.clients[0]
    if told.asks is not None:
        _reply(simulation, told.id, told.asks)
        return True
    if not told.needs_you and "on hold" in told.why:  # whoever has put it on hold knows
        simulation.tell(f"  {told.id} is {told.status} ({told.why}); the person types: {told.next}")
        simulation.resume(person, told.id)
        return True
    if not told.needs_you:
        return told.waits_until is not None or told.status in ("working", "starting", "queued")
    words = shlex.split(told.next)
    demand(words[:1] == ["rekindle"], f"{told.id} needs somebody ({told.why}) and says {told.next!r} to type")
    simulation.tell(f"  {told.id} is {told.status} ({told.why}); the person types: {told.next}")
    if words[1] == "answer" and words[2].startswith("q"):
        _answer_named(simulation, words[2])
    elif words[1] == "answer":
        simulation.look(person)
    elif words[1] == "resume":
        simulation.resume(person, told.id, limits=_limits(words))
    elif words[1] == "send":
        simulation.help_number += 1
        simulation.send(person, told.id, f"p{1000 + simulation.help_number}: say")
    return True


def _limits(words: list[str]) -> dict[str, Any] | None:
    """The higher limits that a list suggests."""
    if "--max-tokens" not in words:
        return None
    return {"tokens": int(words[words.index("--max-tokens") + 1])}
