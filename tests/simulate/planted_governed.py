"""Faults in what sessions do by themselves, together, in jobs and in features: put in for the time of a test.

Each is a function that breaks one promise, in memory, where it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rekindle.app.questions import AnsweredQuestion, Questions
from rekindle.core.effects import Effect, Say
from rekindle.core.governor import admission
from rekindle.core.governor.admission import AutomaticStep
from rekindle.core.governor.queueing import LimitWait
from rekindle.core.job import orders
from rekindle.core.job.plan import TryAgain
from rekindle.core.reconcile import tasks
from rekindle.core.session import facts as f
from rekindle.core.session import limits as limits_of_sessions
from rekindle.core.session import react
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.state import OURS, Session
from rekindle.runtime import governing
from rekindle.runtime.clock_watch import ClockWatch
from rekindle.runtime.talk import Talk


def all_come_back_at_once(patched: pytest.MonkeyPatch) -> None:
    """Whoever has waited for a limit goes on when it ends, however many others do."""

    def schedule(_state: object, _rules: object, waiting: Sequence[LimitWait], now: float) -> dict[str, float]:
        return {one.session: max(now, one.due) for one in waiting}

    patched.setattr(admission, "schedule", schedule)


def hold_is_not_heard(patched: pytest.MonkeyPatch) -> None:
    """A session that is on hold goes on by itself."""
    patched.setattr(Session, "sendable", Session.queued)


def hurry_waits_its_turn(patched: pytest.MonkeyPatch) -> None:
    """What a person hurries waits in the queue of its limit."""
    real = admission.wanted

    def wanted(session: Session, effect: Effect) -> AutomaticStep | None:
        prompt = next((one for one in session.queued if one.hurried), None)
        if isinstance(effect, Say) and prompt is not None and prompt.id == effect.prompt:
            return AutomaticStep(session.id, effect.id, limit=prompt.limit, prompt=prompt.id)
        return real(session, effect)

    def admit(_state: object, _rules: object, step: AutomaticStep, *_rest: object) -> admission.Admission:
        return admission.Admission(not step.limit or step.is_restart, until=None)

    patched.setattr(governing, "wanted", wanted)
    patched.setattr(governing, "admission", admit)


def silence_counts_twice(patched: pytest.MonkeyPatch) -> None:
    """An agent is called silent long before it was."""
    real = Talk.silent_seconds
    patched.setattr(Talk, "silent_seconds", lambda talk: 4 * real(talk))


def tokens_count_twice(patched: pytest.MonkeyPatch) -> None:
    """A session is stopped at a limit that it has not reached."""
    real = limits_of_sessions.reached

    def reached(limits: f.Limits, usage: f.Usage) -> str | None:
        return real(limits, usage.plus(usage))

    patched.setattr(react, "reached", reached)


def answer_is_only_said_to_count(patched: pytest.MonkeyPatch) -> None:
    """A person is told that an answer counts, before it is recorded, and the daemon dies."""

    async def answer(_questions: Questions, question: str, option: str, **_rest: Any) -> AnsweredQuestion:
        return AnsweredQuestion(question, "", option)

    patched.setattr(Questions, "answer", answer)


def deadlines_follow_the_wall_clock(patched: pytest.MonkeyPatch) -> None:
    """A clock that is set back makes a wait longer by as much."""
    patched.setattr(ClockWatch, "set_by", lambda _watch, _subject, _newest: 0.0)


def explain_foretells_something_else(patched: pytest.MonkeyPatch) -> None:
    """Work that an agent has to go on with is foretold to be merged."""
    real = tasks.step
    to_work = ("start", "resume the work", "work on the issues")
    patched.setattr(tasks, "step", lambda sides: "merge" if real(sides) in to_work else real(sides))


def retry_tells_the_prompt_again(patched: pytest.MonkeyPatch) -> None:
    """A job that is tried again in the same conversation gives it the original prompt once more."""

    def resumed(session: Session, effect: TryAgain, at: float) -> list[AnyFact]:
        first = session.prompts[0]
        name = derived(first.id, f"j{effect.number}")
        return [f.PromptQueued(at=at, prompt=name, text=first.text, by=OURS, of=first.id, first=True)]

    patched.setattr(orders, "_resumed", resumed)


#: Each fault, and a word of what the simulator says when it has found it.
PLANTED: dict[Callable[[pytest.MonkeyPatch], None], str] = {
    all_come_back_at_once: "came back from a limit in a minute",
    hold_is_not_heard: "is on hold, and",
    hurry_waits_its_turn: "was hurried, and",
    silence_counts_twice: "is called silent after",
    tokens_count_twice: "is stopped at its limit",
    answer_is_only_said_to_count: "and it is not",
    deadlines_follow_the_wall_clock: "after its time",
    explain_foretells_something_else: "--explain foretells",
    retry_tells_the_prompt_again: "fresh starts were decided",
}
