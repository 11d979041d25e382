"""Agents that write their own record a moment after they speak: no session is called settled before that was looked at.

The supervisor dies before and after every effect and every append, as in `test_schedules`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from rekindle.core.session import facts as f
from rekindle.core.session.activity import rests
from rekindle.core.session.react import take
from rekindle.core.session.state import Session
from rekindle.ports.records import Checked, RecordComparison
from tests.crash.test_schedules import KINDS, SESSION, Life, Schedule, begin
from tests.fakes.keepers import FakeWorld
from tests.fakes.records import FakeRecords
from tests.records import LineDialect

BY_RECORD = {"fake": replace(KINDS["fake"], proof="transcript")}


class LateRecords(FakeRecords):
    """What an agent was told is in its record only when it was looked for so many times."""

    def __init__(self, world: FakeWorld, looks: int) -> None:
        super().__init__(LineDialect())
        self._world = world
        self._looks = looks

    async def check(self, session: Session, token: str) -> Checked:
        self._write()
        return await super().check(session, token)

    async def compare(self, session: Session, token: str, before: Checked) -> RecordComparison:
        if self._looks == 0:
            self._write()
        self._looks = max(self._looks - 1, 0)
        return await super().compare(session, token, before)

    def _write(self) -> None:
        for token, one in self._world.conversations.items():
            self.lying[token] = b"".join(f"u:{text};\n".encode() for text in one.prompts)


class Onlooker(Schedule):
    """Sees the session after every commit, as anybody could who asks just then."""

    def __init__(self, *at: int) -> None:
        super().__init__(at)
        self.life: Life | None = None
        self.seen: list[Session] = []

    def point(self, name: str) -> None:
        session = self.life.store.session(SESSION) if self.life is not None else None
        if session is not None:
            self.seen.append(session)
        super().point(name)


def lived(schedule: Onlooker, looks: int) -> Life:
    """An agent that has worked is killed while it rests, and brought back for one more prompt."""
    life = schedule.life = Life(schedule, BY_RECORD)
    life.records = LateRecords(life.world, looks)
    life.live(begin(["one"]))
    life.world.kill(SESSION)
    life.live(begin(["one", "two"]))
    return life


def corrected(seen: list[Session]) -> list[str]:
    """The receipts that changed after their session had been seen at rest, and before anything else happened to it."""
    found: list[str] = []
    for before, now in pairwise(seen):
        then, attempt = before.attempt, now.attempt
        if then is None or then.receipt is None or attempt is None or not before.is_up or not rests(before):
            continue
        if (
            attempt.number == then.number
            and len(now.prompts) == len(before.prompts)
            and attempt.receipt != then.receipt
        ):
            found.append(f"{then.receipt.kind}, then {attempt.receipt.kind if attempt.receipt is not None else None}")
    return found


def check(schedule: Onlooker, life: Life, kind: str) -> None:
    session = life.store.session(SESSION)
    assert session is not None and session.attempt is not None and session.attempt.receipt is not None
    assert [prompt.state for prompt in session.prompts] == ["done", "done"]
    assert session.attempt.receipt.kind == kind
    assert rests(session)
    assert corrected(schedule.seen) == []


def points() -> int:
    schedule = Onlooker()
    check(schedule, lived(schedule, 3), "same")
    return schedule.passed


@pytest.mark.parametrize("at", range(points()))
def test_no_receipt_is_corrected_after_its_session_was_called_settled(at: int) -> None:
    schedule = Onlooker(at)
    check(schedule, lived(schedule, 3), "same")


def test_a_record_that_never_comes_is_waited_for_in_vain_and_not_for_ever() -> None:
    life = lived(Onlooker(), 1000)
    checked = life.store.session(SESSION)
    assert checked is not None and not rests(checked)
    session, _ = take(checked, f.Due(at=90.0, timer="proof", until=checked.timers["proof"]))
    assert rests(session)
    assert session.attempt is not None and session.attempt.receipt is not None
    assert session.attempt.receipt.kind == "unproven"
    assert "has not written its own record" in session.attempt.receipt.reason
