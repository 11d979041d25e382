"""The clock is set while the disk does not work: the governor knows by how much, and moves what it counts once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from rekindle.core.governor import facts as g
from rekindle.ports.store import Recorded, StaleGeneration, StoreChange, StoreError
from rekindle.runtime.governing import Governing
from tests.fakes.store import FakeStore, InlineAccess


class SickStore(FakeStore):
    """A disk that complains; what it was told to write is there afterwards, or is not."""

    is_sick, is_written = False, False

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        if self.is_sick and self.is_written:
            super().commit(changes)
        if self.is_sick:
            raise StoreError("the disk is full", "make room")
        return super().commit(changes)


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("by", [7200.0, -7200.0])
def test_a_clock_that_is_set_while_the_disk_does_not_work_moves_what_counts_by_as_much_and_once(
    by: float, is_written: bool
) -> None:
    store, clocks = SickStore(), {"wall": 1000.0, "steady": 50.0}

    async def story() -> None:
        governing = Governing(InlineAccess(store), lambda: clocks["wall"], list, steady=lambda: clocks["steady"])
        returned = g.Returned(at=clocks["wall"], session="s1", prompt="p", limit="a:")
        await governing.tell(lambda _state: [returned])
        clocks["wall"] += by
        store.is_sick, store.is_written = True, is_written
        with pytest.raises(StoreError):
            await governing.look()
        store.is_sick = False
        await governing.look()
        await governing.look()
        state = await governing.state()
        assert state.returns == {"a:": 1000.0 + by}
        assert state.clock_sets == 1

    asyncio.run(story())
