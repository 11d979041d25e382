"""How users and agents meddle with a feature that is being worked: one entry each, with what it may change, as data.

An entry happens at a moment of a small fixed plan, where everything was killed or while everything works:

- `held`: task a is in the middle of its turn; b has passed its checks and waits for a; nothing is merged.
- `late`: a and b are merged; c, which needs both, is in the middle of its turn with one commit and uncommitted work.
- `conflict`: b's merge conflicts with a's, nobody has resolved it, and the run has ended.

An entry of the kind `Habit` is what an agent, a check or a reviewer does by itself in that plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from tests.crash.feature_verdict import Allows
from tests.crash.feature_yard import Yard

Moment = Literal["held", "late", "conflict"]
Act = Callable[[Yard, str], None]
SAME: Final = Allows()


class NotNow(Exception):
    """There is nothing to meddle with at this moment."""


@dataclass(frozen=True)
class Meddling:
    """Somebody does something, with a task's branch or worktree where it needs one. `down`: while nothing runs."""

    name: str
    act: Act
    moment: Moment = "late"
    down: bool = True
    allows: Allows = SAME
    #: What it is once `undo` has been called.
    undo: Act | None = None
    undone: Allows = SAME
    #: What the person answers to questions, one after another.
    answers: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Habit:
    """What task b's agent does in its turn, or what its check, its reviewer or the wave's check does."""

    name: str
    lines: Callable[[Yard], tuple[str, ...]] = lambda _: ()
    check: Callable[[Yard], str] | None = None
    wave: Callable[[Yard], str] | None = None
    #: What the reviewer is told; without it nobody reviews.
    review: Callable[[Yard], tuple[str, ...]] | None = None
    allows: Allows = SAME
    answers: tuple[tuple[str, ...], ...] = ()


#: The task that an entry is about in the fixed plan.
TARGETS: Final[dict[Moment, str]] = {"held": "b", "late": "c", "conflict": "b"}
