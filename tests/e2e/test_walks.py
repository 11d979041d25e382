"""The walks that docs/architecture.md shows are the ways that commands really take."""

from __future__ import annotations

import pytest

from tests.walks.milestones import WALKS, Walk
from tests.walks.proof import prove
from tests.walks.taking import taken

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.name)
def test_a_walk_passes_its_milestones_in_their_order(walk: Walk) -> None:
    prove(walk, taken(walk))
