"""Faults in what concerns all sessions together: the breaker, and the queue of a limit. Put in for the time of a test.

Each is a function that breaks one promise, in memory, where it is kept.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rekindle.core.effects import Effect, Launch, Say
from rekindle.core.governor import admission, asking, machine
from rekindle.core.governor import facts as g
from rekindle.core.governor.admission import Admission, AutomaticStep
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.governor.state import Governor
from rekindle.core.session.state import Session
from rekindle.ports.store import Store
from rekindle.runtime import governing
from tests.simulate.planted import Plant


def restarts_go_on_although_they_are_stopped(patched: pytest.MonkeyPatch) -> None:
    """Whoever asks is allowed to restart, also after too many restarts in vain."""
    real = admission.admission

    def admit(state: Governor, *rest: Any) -> Admission:
        return real(replace(state, stopped=None), *rest)

    patched.setattr(governing, "admission", admit)


def restarts_ask_nobody(patched: pytest.MonkeyPatch) -> None:
    """An automatic restart is counted afterwards, and nobody asks before it."""
    real = admission.wanted

    def wanted(session: Session, effect: Effect) -> AutomaticStep | None:
        return None if isinstance(effect, Launch) else real(session, effect)

    patched.setattr(governing, "wanted", wanted)


def one_word_allows_all_restarts(patched: pytest.MonkeyPatch) -> None:
    """A person who asks for one thing while restarts are stopped gets one restart after the other."""
    patched.setattr(admission, "_is_asked_for", lambda _state, step, stopped_at: step.asked_at > stopped_at)


def stop_ends_with_the_daemon(patched: pytest.MonkeyPatch) -> None:
    """The next daemon knows nothing of restarts that were stopped."""
    real = governing._folded

    def folded(store: Store) -> tuple[Governor, int]:
        state, count = real(store)
        return replace(state, stopped=None), count

    patched.setattr(governing, "_folded", folded)


def breaker_asks_again_and_again(patched: pytest.MonkeyPatch) -> None:
    """A person is asked whether restarts go on, although that question is open."""
    real = asking._breaker

    def breaker(state: Governor, rules: GovernorRules, now: float) -> list[g.GovernorFact]:
        return real(replace(state, stopped=None, questions=[]), rules, now)

    patched.setattr(asking, "_breaker", breaker)


def place_in_the_queue_is_forgotten(patched: pytest.MonkeyPatch) -> None:
    """A session that has got its place after a limit has to wait for another one."""
    real = machine._booked

    def booked(state: Governor, fact: g.GovernorFact) -> Governor:
        after = real(state, fact)
        return replace(after, returned={}) if isinstance(fact, g.Returned) else after

    patched.setattr(machine, "_booked", booked)


def nobody_queues_for_a_limit(patched: pytest.MonkeyPatch) -> None:
    """A live agent that waited for a limit goes on without its place."""
    real = admission.wanted

    def wanted(session: Session, effect: Effect) -> AutomaticStep | None:
        step = real(session, effect)
        return replace(step, limit="") if step is not None and isinstance(effect, Say) else step

    patched.setattr(governing, "wanted", wanted)


#: Each fault, and a word of what the simulator says when it has found it.
PLANTED: dict[Plant, str] = {
    restarts_go_on_although_they_are_stopped: "restarts in vain in a short time",
    restarts_ask_nobody: "although restarts are stopped",
    one_word_allows_all_restarts: "restarts in vain in a short time",
    stop_ends_with_the_daemon: "restarts in vain in a short time",
    breaker_asks_again_and_again: "is asked twice whether restarts go on",
    place_in_the_queue_is_forgotten: "has got its place after a limit twice",
    nobody_queues_for_a_limit: "before its turn had come",
}
