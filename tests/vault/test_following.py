"""Following: what an agent writes to its record is in the vault a moment later, whatever becomes of the file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.adapters.vault import follower
from rekindle.adapters.vault.vault import editions
from rekindle.core.session.state import Session
from tests.records import LineDialect
from tests.sessions import created, folded

PATIENCE = 20.0


def a_session(name: str) -> Session:
    return folded([created(name)])


class Place:
    def __init__(self, folder: Path, *, rescan_seconds: float = 60.0) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.records = VaultRecords(
            str(folder / "sessions"),
            lambda session: {"AGENT_HOME": str(self.home / session.id)},
            {"scripted": LineDialect()},
            rescan_seconds=rescan_seconds,
        )

    def file(self, session: str) -> Path:
        return self.home / session / "tok.txt"

    def kept(self, session: str) -> list[bytes]:
        return [one.read().data for one in editions(self.records.folder(session))]

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        work = asyncio.ensure_future(self.records.run())
        try:
            yield
        finally:
            work.cancel()
            await asyncio.wait([work])
            self.records.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def test_what_is_written_is_copied_and_so_is_what_was_there_before(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def scene() -> None:
        place.file("a").parent.mkdir()
        place.file("a").write_bytes(b"before")
        async with place.following():
            place.records.follow(a_session("a"), "tok")
            await until(lambda: place.kept("a") == [b"before"])
            with place.file("a").open("ab") as file:
                file.write(b", after")
            await until(lambda: place.kept("a") == [b"before, after"])

    asyncio.run(scene())


def test_a_record_whose_folder_is_made_later_is_followed_from_its_first_byte(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def scene() -> None:
        async with place.following():
            for name in ("a", "b"):
                place.records.follow(a_session(name), "tok")
                await asyncio.sleep(0.05)
                place.file(name).parent.mkdir()
                place.file(name).write_bytes(name.encode())
                await until(lambda name=name: place.kept(name) == [name.encode()])  # type: ignore[misc]

    asyncio.run(scene())


def test_rotation_truncation_and_removal_are_noticed(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def scene() -> None:
        file = place.file("a")
        file.parent.mkdir()
        async with place.following():
            place.records.follow(a_session("a"), "tok")
            file.write_bytes(b"the first")
            await until(lambda: place.kept("a") == [b"the first"])
            other = file.with_name("other")
            other.write_bytes(b"rotated, and longer")
            other.replace(file)
            await until(lambda: place.kept("a") == [b"the first", b"rotated, and longer"])
            os.truncate(file, 3)
            await until(lambda: place.kept("a")[2:] == [b"rot"])
            shutil.rmtree(file.parent)
            await asyncio.sleep(0.1)
            file.parent.mkdir()
            file.write_bytes(b"made again")
            await until(lambda: place.kept("a")[3:] == [b"made again"])

    asyncio.run(scene())


def test_what_is_followed_no_more_is_copied_no_more(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def scene() -> None:
        for name in ("a", "b"):
            place.file(name).parent.mkdir()
        async with place.following():
            place.records.follow(a_session("a"), "tok")
            place.records.follow(a_session("b"), "tok")
            for name in ("a", "b"):
                place.file(name).write_bytes(b"1")
                await until(lambda name=name: place.kept(name) == [b"1"])  # type: ignore[misc]
            place.records.unfollow("a")
            place.file("a").write_bytes(b"12")
            place.file("b").write_bytes(b"12")
            await until(lambda: place.kept("b") == [b"12"])
            assert place.kept("a") == [b"1"]
            await place.records.copy(folded([created("a")]))

    asyncio.run(scene())


def test_where_nothing_can_be_watched_the_slow_look_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, rescan_seconds=0.05)

    async def refuse(*_: object, **__: object) -> AsyncIterator[set[tuple[int, str]]]:
        raise OSError(24, "inotify watch limit reached")
        yield set()

    monkeypatch.setattr(follower, "awatch", refuse)

    async def scene() -> None:
        place.file("a").parent.mkdir()
        async with place.following():
            place.records.follow(a_session("a"), "tok")
            place.file("a").write_bytes(b"seen")
            await until(lambda: place.kept("a") == [b"seen"])

    asyncio.run(scene())
