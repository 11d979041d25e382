"""What a row of the benchmark is, and how reference and candidate are timed in turn.

The machine's speed drifts, so no figure is a time: each round runs reference and candidate one after the other, and
a row's ratio is the median of the rounds' ratios. Nothing here knows what is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from bench.stage import Stage

Bound = Literal["at least", "at most"]
"""`at least`: how many times faster than the reference. `at most`: how many times the reference's time."""

#: A machine with more load than this for each core, before a run begins, is busy with something else.
FREE = 0.5


class Skipped(Exception):
    """The reference does not exist on this machine."""


class Disagreement(Exception):
    """Reference and candidate gave different answers, so that their times cannot be compared."""


@dataclass(frozen=True)
class Measured:
    """Seconds of each round, in pairs, and what else a reader wants to know."""

    reference: list[float]
    candidate: list[float]
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One promise: what is compared with what, how far apart they have to be, and why if they are not."""

    name: str
    reference: str
    bound: Bound
    target: float
    measure: Callable[[Stage], Measured]
    what: str
    reason: str
    #: How many seconds it may take: a row that hangs must not use up the time of all others.
    seconds: float = 420.0

    @property
    def is_long(self) -> bool:
        """It takes more than half of a run's time, so it is measured only when somebody names it."""
        return self.seconds > 420.0


@dataclass(frozen=True)
class Result:
    """A row as it came out. `ratio` is None where it was skipped or failed; `met` also where nobody judged it."""

    name: str
    reference: str
    ratio: float | None
    target: float
    met: bool | None
    details: dict[str, Any]

    @property
    def bound(self) -> Bound:
        """Which side of the target is the good one."""
        return "at least" if self.details["bound"] == "at least" else "at most"


def in_turn(rounds: int, reference: Callable[[], float], candidate: Callable[[], float]) -> Measured:
    """Time both in every round, and change who goes first from round to round."""
    first: list[float] = []
    second: list[float] = []
    for number in range(rounds):
        if number % 2:
            second.append(candidate())
            first.append(reference())
        else:
            first.append(reference())
            second.append(candidate())
    return Measured(first, second)


def judge(row: Row, measured: Measured, *, judged: bool) -> Result:
    """Turn the rounds of a row into its ratio and, if that is wanted, hold it against the target."""
    pairs = list(zip(measured.reference, measured.candidate, strict=True))
    ratios = [old / new if row.bound == "at least" else new / old for old, new in pairs]
    ratio = median(ratios)
    met = ratio >= row.target if row.bound == "at least" else ratio <= row.target
    details = {
        "bound": row.bound,
        "rounds": len(ratios),
        "lowest": rounded(min(ratios)),
        "highest": rounded(max(ratios)),
        "reference_ms": rounded(median(measured.reference) * 1000),
        "candidate_ms": rounded(median(measured.candidate) * 1000),
        **measured.facts,
    }
    return Result(row.name, row.reference, rounded(ratio), row.target, met if judged else None, details)


def without_figure(row: Row, why: str, message: str) -> Result:
    """A row that was skipped, or that failed."""
    return Result(
        row.name,
        row.reference,
        None,
        row.target,
        False if why == "failed" else None,
        {"bound": row.bound, why: message},
    )


def rounded(value: float) -> float:
    """Three significant digits: more would be noise."""
    return float(f"{value:.3g}")
