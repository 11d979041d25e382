"""Makes a story that fails as short as it can be, and still fail in the same way: delta debugging over its actions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.simulate.actions import Action
from tests.simulate.plans import fewer_tasks
from tests.simulate.play import Outcome, play

#: So many stories are tried at most.
_TRIES = 600
#: So much of the processor's time is spent at most.
_SECONDS = 20.0
_NUMBERS = re.compile(r"\d+")
_PROMPT = re.compile(r"(.*p\d+:) ([a-z ]+)\Z")


def sort_of(problem: str) -> str:
    """A problem without what is different in each story."""
    return _NUMBERS.sub("#", problem).partition("(")[0][:40]


def shrunk(outcome: Outcome, play_it: Callable[[int, Sequence[Action]], Outcome] = play) -> Outcome:
    """The shortest story found with the same sort of problem."""
    return _Shrinking(outcome, play_it).done()


class _Shrinking:
    def __init__(self, outcome: Outcome, play_it: Callable[[int, Sequence[Action]], Outcome]) -> None:
        self._best = outcome
        self._play = play_it
        self._left = _TRIES
        self._until = time.process_time() + _SECONDS

    def done(self) -> Outcome:
        before = None
        while before != self._best.actions and self._left > 0:
            before = self._best.actions
            self._without_pieces()
            self._each_simpler()
        return self._best

    def _try(self, actions: Sequence[Action]) -> bool:
        if self._left <= 0 or time.process_time() > self._until or tuple(actions) == self._best.actions:
            return False
        self._left -= 1
        found = self._play(self._best.seed, actions)
        if not found.has_failed or sort_of(found.problem) != sort_of(self._best.problem):
            return False
        self._best = found
        return True

    def _without_pieces(self) -> None:
        size = max(1, len(self._best.actions) // 2)
        while size:
            start = 0
            while start < len(self._best.actions):
                now = self._best.actions
                if not self._try(now[:start] + now[start + size :]):
                    start += size
            size //= 2

    def _each_simpler(self) -> None:
        for number in range(len(self._best.actions)):
            for simpler in _simpler(self._best.actions[number]):
                now = self._best.actions
                self._try((*now[:number], simpler, *now[number + 1 :]))


def _simpler(action: Action) -> list[Action]:
    """The same action with less in it."""
    found = [replace(action, pause=pause) for pause in (0.0, 0.1, 3.0) if pause < action.pause]
    if action.who:
        found.append(replace(action, who=0))
    if (script := _PROMPT.match(action.arg)) is not None:
        pieces = script[2].split()
        for number in range(len(pieces) if len(pieces) > 1 else 0):
            fewer = " ".join(pieces[:number] + pieces[number + 1 :])
            found.append(replace(action, arg=f"{script[1]} {fewer}"))
    if action.kind == "plan":
        found += [replace(action, arg=fewer) for fewer in fewer_tasks(action.arg)]
    return found
