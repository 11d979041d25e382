"""Faults that were in rekindle once, put back for the time of a test: the simulator has to find each of them.

Each is a function that takes the repair back, in memory, where the repair is.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import pytest

from rekindle.app import service
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.session import facts as f
from rekindle.core.session import outstanding
from rekindle.core.session.asking import MARK
from rekindle.core.session.booking import questions
from rekindle.core.session.state import ACTIVE, State
from rekindle.core.session.tables import TRANSITIONS
from tests.fakes.store import FakeStore
from tests.fakes.workspace import FakeWorkspace, Held
from tests.simulate.play import Outcome, play

Plant = Callable[[pytest.MonkeyPatch], None]


def failed_start_ends_the_session(patched: pytest.MonkeyPatch) -> None:
    """A start that fails ends the session for good: lists leave it out, and nobody brings it back."""
    for state in ACTIVE:
        patched.setitem(TRANSITIONS, (state, f.LaunchFailed), State.FAILED)  # type: ignore[misc]


def receipt_looks_back_one_attempt(patched: pytest.MonkeyPatch) -> None:
    """A receipt names what was cut in the attempt before, and forgets what was cut earlier."""
    patched.setattr(outstanding, "_is_told", lambda _session, _attempt: True)


def prompt_without_an_id(patched: pytest.MonkeyPatch) -> None:
    """Whoever asks again with the same prompt has sent another one."""
    real, numbers = service.prompt_of, itertools.count(1)
    given_before = WeakKeyDictionary[asyncio.AbstractEventLoop, set[str]]()  # in each story: it has a loop of its own

    def anew(text: str, given: str, at: float) -> f.PromptQueued:
        known = given_before.setdefault(asyncio.get_running_loop(), set())
        name = f"{given}-{next(numbers)}" if given in known else given
        known.add(given)
        return real(text, name, at)

    patched.setattr(service, "prompt_of", anew)


def answer_goes_to_the_session(patched: pytest.MonkeyPatch) -> None:
    """An answer names a session, not a question: it settles whatever is asked there by then."""
    patched.setattr(
        questions, "question_id", lambda session, _fact: MARK + hashlib.sha256(session.encode()).hexdigest()[:10]
    )


def no_fence(patched: pytest.MonkeyPatch) -> None:
    """A daemon that was overtaken may still write to the store."""
    patched.setattr(FakeStore, "is_stale", lambda _store, _generation, _stored: False)


def no_lock_of_a_feature(patched: pytest.MonkeyPatch) -> None:
    """Whoever resumes a feature drives it, also while somebody else does."""

    def hold(here: FakeWorkspace, feature: str, sid: str) -> Held:
        return Held(here.shelf, feature, here.pid, sid)

    patched.setattr(FakeWorkspace, "hold", hold)


def rules_are_never_used_up(patched: pytest.MonkeyPatch) -> None:
    """A rule of a runbook is applied again, however often it was."""
    patched.setattr(Reaction, "is_left", lambda _rule, _spent: True)


#: Each fault, and a word of what the simulator says when it has found it.
PLANTED: dict[Plant, str] = {
    failed_start_ends_the_session: "has failed for good",
    receipt_looks_back_one_attempt: "does not name what was cut",
    prompt_without_an_id: "was told 2 times",
    answer_goes_to_the_session: "nobody answered",
    no_fence: "folding its facts",
    rules_are_never_used_up: "is all",
    no_lock_of_a_feature: "was called complete twice",
}


@dataclass(frozen=True)
class Found:
    """The first story in which a fault shows, and what it took to come to it."""

    outcome: Outcome | None
    seeds: int
    steps: int
    seconds: float


def search(words: str, first: int, seconds: float) -> Found:
    """Play one seed after the other until one fails in this way, or for so much of the processor's time."""
    began, steps = time.process_time(), 0
    for number in itertools.count(1):
        outcome = play(first + number)
        steps += outcome.steps
        took = time.process_time() - began
        is_it = words in outcome.problem
        if is_it or took > seconds:
            return Found(outcome if is_it else None, number, steps, took)
    raise AssertionError
