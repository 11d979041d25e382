"""Faults that show when a daemon is killed at a bad moment, or an agent hangs. Put in for the time of a test.

Each is a function that breaks one promise, in memory, where it is kept.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rekindle.agents.base.dialect import Outgoing
from rekindle.app import questions
from rekindle.core.effects import Effect, RunGate
from rekindle.core.session import facts as f
from rekindle.core.session.plan import plan
from rekindle.core.session.state import Session
from rekindle.runtime.attendant import Attendant
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from rekindle.runtime.talk import Talk
from tests.simulate.edges import SimulatedPlace
from tests.simulate.planted import Plant


def cooldown_ends_with_the_daemon(patched: pytest.MonkeyPatch) -> None:
    """What has to wait is done as soon as another daemon starts."""
    real_open, real_due = Engine.open, Engine.due
    taken_up: dict[Engine, set[str]] = {}

    async def open_(engine: Engine) -> None:
        await real_open(engine)
        taken_up[engine] = {one.id for one in engine.at_hand()}

    def due(engine: Engine, session: str) -> list[Effect]:
        is_new = session not in taken_up.get(engine, ())
        return real_due(engine, session) if is_new else plan(engine.session(session), engine.clock() + 1e6)

    patched.setattr(Engine, "open", open_)
    patched.setattr(Engine, "due", due)


def start_in_doubt_is_given_up(patched: pytest.MonkeyPatch) -> None:
    """A start that a dead daemon had begun is called failed, and nobody looks whether its agent lives."""
    real = Supervisor._take_up

    async def take_up(supervisor: Supervisor, session: Session, limit: asyncio.Semaphore) -> None:
        attempt = session.attempt
        if attempt is not None and attempt.status == "launching":
            failed = f.LaunchFailed(at=supervisor.engine.clock(), attempt=attempt.number, message="the daemon died")
            await supervisor.engine.record(session.id, failed)
        await real(supervisor, session, limit)

    patched.setattr(Supervisor, "_take_up", take_up)


def gate_ends_with_the_daemon(patched: pytest.MonkeyPatch) -> None:
    """A gate whose daemon died while its command ran is never decided."""
    real = Attendant._run_gate

    async def run_gate(attendant: Attendant, effect: RunGate) -> None:
        place = attendant._house.workplace
        assert isinstance(place, SimulatedPlace)
        if (effect.session, effect.gate) not in place._world.gates:
            await real(attendant, effect)

    patched.setattr(Attendant, "_run_gate", run_gate)


def gate_runs_twice(patched: pytest.MonkeyPatch) -> None:
    """The command of a gate is run, and run again to make sure."""
    real = SimulatedPlace.run_gate

    async def run_gate(place: SimulatedPlace, *asked: Any) -> Any:
        await real(place, *asked)
        return await real(place, *asked)

    patched.setattr(SimulatedPlace, "run_gate", run_gate)


def second_answer_is_said_to_count(patched: pytest.MonkeyPatch) -> None:
    """Who answers a question that is answered already is told that it worked."""
    patched.setattr(questions, "_again", lambda _over, option, _by: option)


def silence_is_never_noticed(patched: pytest.MonkeyPatch) -> None:
    """An agent that hangs is left alone."""
    patched.setattr(Talk, "silent_seconds", lambda _talk: 0.0)


def rest_is_taken_for_silence(patched: pytest.MonkeyPatch) -> None:
    """An agent's silence counts from its last words, even if it was only just told something."""

    def sent(talk: Talk, message: Outgoing) -> None:
        talk.wire.sent(message.message_id, message.line)

    patched.setattr(Talk, "sent", sent)


#: Each fault, and a word of what the simulator says when it has found it.
PLANTED: dict[Plant, str] = {
    cooldown_ends_with_the_daemon: "before its time",
    start_in_doubt_is_given_up: "a second agent of one session",
    gate_ends_with_the_daemon: "is not decided after",
    gate_runs_twice: "ran twice, and no daemon died",
    second_answer_is_said_to_count: "and it is not",
    silence_is_never_noticed: "is silent for",
    rest_is_taken_for_silence: "is called silent after",
}
