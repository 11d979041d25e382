"""Whether a walk went by its milestones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.walks.milestones import Milestone, Walk

ADVICE = (
    "Change the lines of this walk in tests/walks/milestones.py (`python -m tests.walks --list {name}` prints all that "
    "it passes), then renew docs/architecture.md with `python -m tests.walks`."
)


def problems(milestones: Sequence[Milestone], trace: Sequence[str]) -> Iterator[str]:
    """What is not as the milestones say: those that were not passed, and those that were passed too early."""
    order: dict[str, int] = {}
    for number, line in enumerate(trace):
        order.setdefault(line, number)
    yield from (f"not passed: {one}" for one in milestones if str(one) not in order)
    passed = [one for one in milestones if str(one) in order]
    for before, after in pairwise(passed):
        if order[str(after)] <= order[str(before)]:
            yield f"out of order: {after} is passed before {before}"


def prove(walk: Walk, trace: Sequence[str]) -> None:
    """Fail with the names of what is wrong, and with what to do."""
    found = list(problems(walk.milestones, trace))
    if found:
        raise AssertionError("\n".join([f"{walk.title}:", *found, ADVICE.format(name=walk.name)]))
