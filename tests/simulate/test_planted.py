"""The simulator finds the faults that it was built for: each is put back, and has to be found within the CI budget.

Some faults take thousands of seeds. For them `make test` begins with a story that is known to show the fault, and `make
soak` searches from the first seed on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.simulate import planted, planted_governed
from tests.simulate.__main__ import FIXED
from tests.simulate.planted import Plant, Stories, remembered, search
from tests.simulate.shrink import shrunk
from tests.soaking import only_in_soak

PLANTED = {**planted.PLANTED, **planted_governed.PLANTED}
KNOWN: Stories = {**planted.KNOWN, **planted_governed.KNOWN}
#: Two minutes on two cores; one of them is enough.
BUDGET = 120.0


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("known", [KNOWN, *only_in_soak({})], ids=["known", "searched"])
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found_and_told_in_a_short_story(
    plant: Plant, known: Stories, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(monkeypatch)
    found = remembered(PLANTED[plant], *known[plant]) if plant in known else None
    found = found or search(PLANTED[plant], FIXED, BUDGET)
    with capsys.disabled():
        print(f"\n{plant.__name__}: {found.seeds} seeds, {found.steps} steps, {found.seconds:.1f} s")
    assert found.outcome is not None, f"not found in {found.seeds} seeds and {found.steps} steps"
    short = shrunk(found.outcome)
    assert PLANTED[plant] in short.problem
    assert len(short.actions) <= 8
