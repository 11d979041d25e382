"""The simulator finds the faults that it was built for: each is put back, and has to be found within the CI budget.

The search begins with the first seed that is played before every change lands.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.simulate import planted, planted_breaker, planted_governed, planted_kills
from tests.simulate.__main__ import FIXED
from tests.simulate.planted import Plant, search
from tests.simulate.shrink import shrunk

PLANTED = {**planted.PLANTED, **planted_governed.PLANTED, **planted_breaker.PLANTED, **planted_kills.PLANTED}
#: Two minutes on two cores; one of them is enough.
BUDGET = 120.0


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_and_told_in_a_short_story(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(monkeypatch)
    found = search(PLANTED[plant], FIXED, BUDGET)
    with capsys.disabled():
        print(f"\n{plant.__name__}: {found.seeds} seeds, {found.steps} steps, {found.seconds:.1f} s")
    assert found.outcome is not None, f"not found in {found.seeds} seeds and {found.steps} steps"
    short = shrunk(found.outcome)
    assert PLANTED[plant] in short.problem
    assert len(short.actions) <= 8
