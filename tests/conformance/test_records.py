"""One suite for the records port: the vault and the fake keep the same promises."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.transcript import Record
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.records import Checked, Records
from tests.fakes.records import FakeRecords
from tests.records import LineDialect
from tests.sessions import created, folded

T = TypeVar("T")
TOKEN = "tok"
ONE, TWO = b"u:one;\na:first;\n", b"u:two;\na:second;\n"
SESSION = folded(
    [
        created(),
        f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
        f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
        f.Opened(at=5.0, attempt=1, how="new", token=TOKEN),
    ]
)


class Telling(LineDialect):
    """An agent that tells us each line of its record when it writes it."""

    def read(self, data: bytes) -> Record:
        return replace(super().read(data), turns=_turns(data))

    def acknowledged(self, attempts: Iterable[Iterable[bytes]]) -> tuple[Spoken, ...]:
        return tuple(one for lines in attempts for one in _turns(b"\n".join(lines)))


def _turns(data: bytes) -> tuple[Spoken, ...]:
    whole = [line.decode() for line in data.splitlines() if line.endswith(b";")]
    return tuple(Spoken("user" if line[0] == "u" else "assistant", line[2:-1]) for line in whole)


class World:
    """The records, and the agent's hand on them."""

    def __init__(self, records: VaultRecords | FakeRecords, root: Path) -> None:
        self.records: Records = records
        self._made = records
        self._lying = records.lying if isinstance(records, FakeRecords) else None
        self._root = root
        self.path = root / "home" / f"{TOKEN}.txt"

    def tell(self, attempt: int, data: bytes) -> None:
        """What the agent of an attempt has told us."""
        if isinstance(self._made, FakeRecords):
            self._made.told[attempt] = data
        else:
            spool = self._root / "sessions" / SESSION.id / str(attempt) / "out"
            spool.parent.mkdir(parents=True)
            spool.write_bytes(data)

    async def grow(self, data: bytes) -> None:
        """The agent writes, and somebody who follows has had the time to see it."""
        self.write(data)
        if isinstance(self._made, FakeRecords):
            self._made.grow()
            return
        following = asyncio.ensure_future(self._made.run())
        deadline = asyncio.get_running_loop().time() + 60
        while self._made.copied(str(self.path)) < len(data):
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.01)
        following.cancel()
        await asyncio.wait([following])

    def write(self, data: bytes | None) -> None:
        if self._lying is not None:
            self._lying.pop(TOKEN, None)
            if data is not None:
                self._lying[TOKEN] = data
        elif data is None:
            self.path.unlink(missing_ok=True)
        else:
            self.path.write_bytes(data)

    def read(self) -> bytes | None:
        if self._lying is not None:
            return self._lying.get(TOKEN)
        return self.path.read_bytes() if self.path.exists() else None


@pytest.fixture(params=["vault", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    home = tmp_path / "home"
    home.mkdir()
    if request.param == "fake":
        yield World(FakeRecords(Telling()), tmp_path)
        return
    records = VaultRecords(str(tmp_path / "sessions"), lambda _: {"AGENT_HOME": str(home)}, {"scripted": Telling()})
    yield World(records, tmp_path)
    records.close()


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def session(**changes: Any) -> Session:
    return folded([created(**changes)])


def checked(world: World, session: Session) -> Checked:
    """What a check finds, which has to be what was foreseen."""
    foreseen = run(world.records.foresee(session, TOKEN))
    assert run(world.records.foresee(session, TOKEN)) == foreseen, "a look changes nothing"
    found = run(world.records.check(session, TOKEN))
    assert (foreseen.state, foreseen.prompts, foreseen.entries, foreseen.lacks, foreseen.compactions) == (
        found.state,
        found.prompts,
        found.entries,
        found.lacks,
        found.compactions,
    )
    return found


def test_a_record_that_is_well_stays_as_it_is(world: World) -> None:
    world.write(ONE)
    found = checked(world, SESSION)
    assert (found.state, found.prompts, found.entries, found.kept) == ("intact", ("one",), 2, None)
    assert world.read() == ONE


def test_a_record_that_never_was_is_missing(world: World) -> None:
    found = checked(world, SESSION)
    assert (found.state, found.prompts, found.entries) == ("missing", (), 0)
    assert found.notes
    assert world.read() is None


@pytest.mark.parametrize("bad", [b"u:tor", b"u:toru:two;", b"\0\0\0\0", b"u:torn"])
def test_a_damaged_end_is_repaired_and_the_original_kept(world: World, bad: bytes) -> None:
    world.write(ONE + bad)
    found = checked(world, SESSION)
    assert found.state == "repaired"
    assert found.notes
    assert found.kept is not None
    lies = world.read()
    assert lies is not None
    assert lies.startswith(ONE)
    assert LineDialect().repair(lies).changes == ()


@pytest.mark.parametrize("left", [None, b"", b"\0\0\0\0", b"u:o", ONE, ONE + b"u:tw", ONE + b"a:second;\n"])
def test_what_was_copied_before_is_put_back(world: World, left: bytes | None) -> None:
    world.write(ONE + TWO)
    run(world.records.copy(SESSION))
    world.write(left)
    found = checked(world, SESSION)
    assert (found.state, found.prompts, found.entries) == ("restored", ("one", "two"), 4)
    assert world.read() == ONE + TWO
    assert (found.kept is None) == (left is None)


def test_a_hole_is_filled_and_what_came_after_it_stays(world: World) -> None:
    world.write(ONE + TWO)
    run(world.records.copy(SESSION))
    world.write(ONE[:7] + bytes(9) + TWO + b"u:three;\n")
    found = checked(world, SESSION)
    assert found.state == "restored"
    assert world.read() == ONE + TWO + b"u:three;\n"


def test_a_conversation_that_went_another_way_is_left_alone(world: World) -> None:
    world.write(ONE + TWO)
    run(world.records.copy(SESSION))
    world.write(ONE + b"u:other;\n")
    found = checked(world, SESSION)
    assert (found.state, found.prompts) == ("intact", ("one", "other"))
    assert any("another story" in note for note in found.notes)
    assert world.read() == ONE + b"u:other;\n"


def test_checking_twice_changes_nothing(world: World) -> None:
    world.write(ONE + b"u:tor")
    assert checked(world, SESSION).state == "repaired"
    lies = world.read()
    again = checked(world, SESSION)
    assert (again.state, world.read()) == ("intact", lies)
    assert world.records.checked(SESSION, TOKEN) == again
    assert world.records.checked(SESSION, "other") is None


def test_a_record_that_goes_on_is_the_same_conversation(world: World) -> None:
    world.write(ONE)
    before = checked(world, SESSION)
    assert run(world.records.compare(SESSION, TOKEN, before)).extends is None
    world.write(ONE + TWO)
    found = run(world.records.compare(SESSION, TOKEN, before))
    assert (found.extends, found.prompts) == (True, ("one", "two"))


def test_a_record_that_begins_anew_is_not(world: World) -> None:
    world.write(ONE)
    before = checked(world, SESSION)
    world.write(TWO)
    assert run(world.records.compare(SESSION, TOKEN, before)).extends is False
    world.write(None)
    assert run(world.records.compare(SESSION, TOKEN, before)).extends is False


def test_of_a_record_that_was_missing_nothing_can_be_said(world: World) -> None:
    before = checked(world, SESSION)
    world.write(ONE)
    assert run(world.records.compare(SESSION, TOKEN, before)).extends is None


AGAIN = folded(
    [
        created(),
        f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
        f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
        f.Opened(at=5.0, attempt=1, how="new", token=TOKEN),
        f.Exited(at=6.0, attempt=1, how_ended="killed", by_us=False),
        f.LaunchIntended(at=7.0, attempt=2, generation=2, how="load", token=TOKEN),
        f.Launched(at=8.0, attempt=2, folder="/keep/2", pid=43),
        f.Opened(at=9.0, attempt=2, how="load", token=TOKEN),
    ]
)


def test_what_the_agent_told_and_its_record_does_not_have_is_lacking(world: World) -> None:
    world.write(ONE + TWO)
    assert not run(world.records.lacking(AGAIN, TOKEN)).any, "it has told nothing"
    world.tell(1, ONE + TWO)
    assert not run(world.records.lacking(AGAIN, TOKEN)).any
    world.write(ONE + b"u:two;\na:other words;\n")
    found = run(world.records.lacking(AGAIN, TOKEN))
    assert (found.prompts, found.of_prompts, found.answers, found.of_answers) == (0, 2, 1, 2)
    world.write(TWO)
    assert run(world.records.lacking(AGAIN, TOKEN)).prompts == 1
    assert not run(world.records.lacking(AGAIN, "another")).any


def test_a_check_says_what_a_resume_would_go_on_without(world: World) -> None:
    world.tell(1, ONE + TWO)
    world.write(ONE)
    found = checked(world, AGAIN)
    assert (found.state, found.prompts) == ("intact", ("one",))
    assert "1 of 2 earlier prompts" in found.lacks
    world.write(ONE + TWO)
    assert checked(world, AGAIN).lacks == ""


def test_a_comparison_asks_for_what_was_told_before_the_resume(world: World) -> None:
    world.tell(1, ONE + TWO)
    world.tell(2, b"u:three;\n")
    world.write(ONE)
    before = checked(world, AGAIN)
    world.write(ONE + b"u:three;\n")
    found = run(world.records.compare(AGAIN, TOKEN, before))
    assert (found.extends, found.prompts) == (True, ("one", "three"))
    assert "1 of 2 earlier prompts" in found.lacks


def test_a_record_is_read_as_it_lies_there(world: World) -> None:
    world.write(ONE + b"u:tor")
    found = run(world.records.read(SESSION, TOKEN))
    assert found is not None
    assert (found.prompts, len(found.entries), len(found.problems)) == (("one",), 2, 1)
    assert world.read() == ONE + b"u:tor"
    world.write(None)
    nothing = run(world.records.read(SESSION, TOKEN))
    assert nothing is None or nothing.entries == ()


def test_a_record_that_is_followed_is_copied_as_it_grows(world: World) -> None:
    async def story() -> None:
        world.write(ONE)
        world.records.follow(SESSION, TOKEN)
        await world.grow(ONE + TWO)
        world.write(None)
        found = await world.records.check(SESSION, TOKEN)
        assert (found.state, found.prompts) == ("restored", ("one", "two"))

    run(story())


def test_copying_and_following_nothing_is_harmless(world: World) -> None:
    world.records.follow(SESSION, TOKEN)
    world.records.follow(SESSION, TOKEN)
    run(world.records.copy(SESSION))
    run(world.records.copy(session()))
    world.records.unfollow(SESSION.id)
    world.records.unfollow(SESSION.id)
    world.records.unfollow("nobody")


def test_an_agent_whose_record_nobody_understands_is_unsupported(tmp_path: Path) -> None:
    for records in (FakeRecords(), VaultRecords(str(tmp_path), lambda _: dict(os.environ), {"scripted": None})):
        found = run(records.check(SESSION, TOKEN))
        assert found.state == "unsupported"
        assert run(records.compare(SESSION, TOKEN, found)).extends is None
        run(records.copy(SESSION))
