"""Copies that are behind what they copy: they say so, and whoever takes over from them claims nothing that they lack.

A takeover whose host dies is taken over in turn: what one host has left is not lost with the next.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from rekindle.adapters.off_host.off_host import OffHost
from rekindle.adapters.vault.edition import About, Edition, EditionCalls
from rekindle.adapters.vault.vault import transcript
from rekindle.agents.registry import record_place
from rekindle.app.takeovers import Takeovers
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.state import Session
from rekindle.ports.blobs import Piece
from rekindle.ports.off_host import OffHostCopies
from tests.conformance.test_off_host import NAME, TOKEN
from tests.fakes.blobs import FakeBlobs
from tests.fakes.placements import FakePlacements, Fleet
from tests.fleet.test_damaged_copies import Copies
from tests.sessions import created

USER = b'{"type":"user"}\n'


@pytest.fixture
def stage(tmp_path: Path) -> Copies:
    return Copies(tmp_path)


def place_of(stage: Copies, host: str, cwd: str) -> Path:
    return Path(str(record_place("claude", stage.home(host), cwd, TOKEN)))


def test_a_copy_that_was_only_begun_is_no_copy_of_the_record(stage: Copies) -> None:
    """The vault makes its file, and waits for the disk, before it writes a byte of the record: a host died then."""
    a, session = stage.host("a"), stage.session()
    place = place_of(stage, "a", str(stage.work))
    place.parent.mkdir(parents=True)
    place.write_bytes(USER)
    source, vault = transcript(os.path.realpath(place)), stage.folder("a") / "vault"
    vault.mkdir()
    about = About(NAME, source.name, source.path, 1, 1, 0.0)
    Edition.begin(str(vault / f"{source.name}.1"), about, EditionCalls())
    told = a.ship(session, 5.0)
    assert (told.lags, told.at) == (True, session.created_at), "nothing of the record is off the host"
    found = stage.host("b").bring(session, 2, stage.home("b"), 9.0)
    assert not place_of(stage, "b", found.cwd).exists(), "an empty record would pass for one that was emptied"
    assert any("record of the conversation: it was not copied" in one for one in found.missing), found.missing


def test_a_successor_that_has_copied_nothing_of_the_record_does_not_hide_what_there_was(stage: Copies) -> None:
    session = stage.session()
    stage.record(USER)
    stage.host("a").ship(session, 5.0)
    b = stage.host("b")
    brought = b.bring(session, 2, stage.home("b"), 9.0)
    second = replace(session, cwd=brought.cwd, attempts=[*session.attempts, replace(session.attempts[-1], number=2)])
    b.ship(second, 10.0)  # its vault has no room, say: it has nothing of the record as it is here
    found = stage.host("c").bring(second, 3, stage.home("c"), 12.0)
    assert place_of(stage, "c", found.cwd).read_bytes() == USER
    assert found.state.host == "b"


def test_an_attempt_of_which_nothing_was_copied_is_named(stage: Copies) -> None:
    """Host b has taken it over, its agent has worked, and b was lost before its first copy."""
    session = stage.session()
    stage.host("a").ship(session, 5.0)
    later = replace(session.attempts[-1], number=2, opened=True)
    found = stage.host("c").bring(replace(session, attempts=[*session.attempts, later]), 3, stage.home("c"), 12.0)
    assert "all that its agent said and did in attempt 2: nothing of it was copied" in found.missing


def test_a_session_is_copied_by_one_at_a_time(stage: Copies, tmp_path: Path) -> None:
    """The look every second and the end of a drive meet; they would share what they know of the copies."""
    inside, together = threading.Semaphore(1), threading.Event()

    class Slow(FakeBlobs):
        def add(self, session: str, piece: Piece, data: bytes) -> None:
            if not inside.acquire(blocking=False):
                together.set()
                return
            together.wait(0.02)
            super().add(session, piece, data)
            inside.release()

    session = stage.session()
    stage.record(USER)
    state = tmp_path / "a" / "state"
    copies = OffHost(Slow(stage.shelf), str(state), "a", [])
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(copies.ship, session, 5.0), pool.submit(copies.ship, session, 6.0)]
        assert [one.result().at for one in both] == [5.0, 6.0]
    assert not together.is_set()


class HeldCopies:
    """Copies that are put in place only when the test lets them be."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()
        self.now, self.most = 0, 0

    def bring(self, *_: Any) -> Any:
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.release()
        self.may_end.wait(30)
        self.now -= 1
        raise OSError("enough")


def test_a_takeover_that_was_given_up_is_not_met_by_the_next_one_on_the_same_host() -> None:
    """A worker that loses the engine leaves its drive, and gets the job again. A thread still puts files in place."""
    fleet, copies = Fleet(), HeldCopies()
    session = Session(id="s", agent="fake", cwd="/", created_at=1.0)
    fleet.begin(session, "c")
    nothing: Any = None
    held: OffHostCopies = copies  # type: ignore[assignment]
    service: Any = SimpleNamespace(shown=lambda session: session)
    takeovers = Takeovers(service, nothing, FakePlacements(fleet, "a"), held, nothing, {}, lambda: 2.0)

    async def story() -> None:
        first = asyncio.ensure_future(takeovers.taken("s", host_is_gone=True, before="c"))
        assert await asyncio.to_thread(copies.begun.acquire, timeout=10)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        second = asyncio.ensure_future(takeovers.taken("s", host_is_gone=True, before="a"))
        another = await asyncio.to_thread(copies.begun.acquire, timeout=0.3)
        assert not another, "the first still puts its files in place"
        copies.may_end.set()
        with pytest.raises(OSError, match="enough"):
            await second
        assert copies.most == 1

    asyncio.run(story())


def taken_over(session: Session, host: str, before: str, missing: str) -> Session:
    lost = session.attempts[-1].number
    fact = f.TakenOver(at=5.0, generation=lost + 1, host=host, before=before, lost=lost, cwd="/", missing=[missing])
    return evolve(session, fact)


def attempted(session: Session, kind: str) -> Session:
    """One more attempt, with a receipt."""
    number = len(session.attempts) + 1
    for fact in (
        f.LaunchIntended(at=3.0, attempt=number, generation=number, how="load", token="tok"),
        f.Launched(at=3.0, attempt=number, folder="", pid=1),
        f.Opened(at=3.0, attempt=number, how="load", token="tok"),
        f.ReceiptWritten(at=4.0, attempt=number, receipt=f.Receipt(kind=kind, reason="")),  # type: ignore[arg-type]
        f.Exited(at=4.5, attempt=number, how_ended="gone", by_us=False),
    ):
        session = evolve(session, fact)
    return session


@pytest.mark.parametrize(("kind", "still"), [("unproven", ["what b had", "what a had"]), ("same", ["what b had"])])
def test_what_the_first_host_took_with_it_is_named_until_a_receipt_has_told_it(kind: str, still: list[str]) -> None:
    begun = attempted(evolve(None, created("s")), "same")
    on_b = attempted(taken_over(begun, "b", "a", "what a had"), kind)
    on_c = taken_over(on_b, "c", "b", "what b had")
    assert on_c.host_change is not None and on_c.host_change.missing == still
    assert on_c.host_change.before == "b"
