"""A file that grows is noticed at once, and without looking at it again and again."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from rekindle.adapters.machine import file_growth
from rekindle.adapters.machine.file_growth import GrowthAwaited, GrowthInLoop


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("more\n")


def test_everybody_who_watches_a_file_is_told_that_it_grows_and_nobody_else(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.touch()
    other.touch()

    async def watched() -> None:
        growth = GrowthInLoop()
        first, second, elsewhere = asyncio.Event(), asyncio.Event(), asyncio.Event()
        with (
            growth.watched(str(one), first.set) as is_told,
            growth.watched(str(other), elsewhere.set),
        ):
            assert is_told
            with growth.watched(str(one), second.set):
                grow(one)
                await first.wait()
                await second.wait()
            first.clear()
            second.clear()
            grow(one)
            await first.wait()
            assert not second.is_set(), "whoever has left is told nothing"
            assert not elsewhere.is_set()
        with growth.watched(str(other), elsewhere.set):  # the queue was given back, and is made again
            grow(other)
            await elsewhere.wait()

    asyncio.run(asyncio.wait_for(watched(), 30))


def test_where_nothing_can_be_watched_that_is_said(tmp_path: Path) -> None:
    async def watched() -> bool:
        with GrowthInLoop().watched(str(tmp_path / "missing"), lambda: None) as is_told:
            return is_told

    assert not asyncio.run(watched())


def test_a_program_waits_until_something_in_a_folder_grows(tmp_path: Path) -> None:
    growth = GrowthAwaited()
    assert growth.add(str(tmp_path))
    assert not growth.add(str(tmp_path)), "it is watched already"
    (tmp_path / "new").touch()
    growth.wait(3600, otherwise=3600)
    growing = threading.Thread(target=grow, args=(tmp_path / "new",))
    growing.start()
    growth.wait(3600, otherwise=3600)
    growing.join()


def test_without_a_watch_one_waits_no_longer_than_one_has_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_self: object) -> None:
        raise OSError("no watch is left")

    monkeypatch.setattr(file_growth._Notices, "__init__", refused)
    growth = GrowthAwaited()
    assert not growth.add(str(tmp_path))
    growth.wait(3600, otherwise=0.01)
