"""Counts what became of interruptions: how often agents were cut off and came back, what was proved, how long it took.

Facts are folded once: each time only those are read that are new.
"""

from __future__ import annotations

import msgspec

from rekindle.core.session import facts as f
from rekindle.core.streams import SESSION
from rekindle.ports.store import Recorded, StoreAccess

_KINDS = (
    *("exited", "opened", "receipt_written", "budget_spent"),
    *("permission_asked", "permission_answered", "escalated", "escalation_answered"),
)
#: A session has one question of rekindle's at a time: a new one takes the place of the last.
_ESCALATION = "escalation"
_PAGE = 5000
#: How many durations are kept for the histograms.
_MOST = 10_000


class Recoveries(msgspec.Struct):
    """Since the store began. `seconds`: from an agent's end to its conversation being open again.

    `waited`: how long questions waited for an answer.
    """

    verdicts: dict[str, int] = {}
    interruptions: int = 0
    restarts: int = 0
    seconds: list[float] = []
    waited: list[float] = []


class CountedRecoveries:
    """Belongs to one loop."""

    def __init__(self, store: StoreAccess) -> None:
        self._store = store
        self._after = 0
        self._counted = Recoveries()
        self._gone: dict[str, float] = {}
        self._verdict: dict[tuple[str, int], str] = {}
        self._asked: dict[tuple[str, str], float] = {}

    async def counted(self) -> Recoveries:
        """The figures as they are now."""
        while True:
            after = self._after
            page = await self._store.ask(
                lambda store: store.facts(SESSION.kind, kinds=_KINDS, after=after, limit=_PAGE)  # noqa: B023
            )
            for one in page:
                self._count(one)
                self._after = one.seq
            if len(page) < _PAGE:
                return self._counted

    def _count(self, one: Recorded) -> None:
        counted, session = self._counted, one.subject
        match one.fact:
            case f.Exited() as exited:
                if not exited.by_us:
                    counted.interruptions += 1
                    self._gone[session] = exited.at
                else:
                    self._gone.pop(session, None)
            case f.Opened() as opened:
                gone = self._gone.pop(session, None)
                if gone is not None:
                    counted.seconds = [*counted.seconds[-_MOST:], max(opened.at - gone, 0.0)]
            case f.ReceiptWritten() as written:
                self._proved((session, written.attempt), written.receipt.kind)
            case f.BudgetSpent() as spent if spent.budget == "restarts":
                counted.restarts += 1
            case f.PermissionAsked() as asked:
                self._asked[session, asked.request] = asked.at
            case f.PermissionAnswered() as answered:
                self._answered((session, answered.request), answered.at)
            case f.Escalated() as escalated:
                self._asked[session, _ESCALATION] = escalated.at
            case f.EscalationAnswered() as decided:
                self._answered((session, _ESCALATION), decided.at)

    def _proved(self, attempt: tuple[str, int], verdict: str) -> None:
        """A later receipt of the same attempt replaces the earlier one."""
        before = self._verdict.get(attempt)
        if before is not None:
            self._counted.verdicts[before] -= 1
        self._verdict[attempt] = verdict
        self._counted.verdicts[verdict] = self._counted.verdicts.get(verdict, 0) + 1

    def _answered(self, question: tuple[str, str], at: float) -> None:
        asked = self._asked.pop(question, None)
        if asked is not None:
            self._counted.waited = [*self._counted.waited[-_MOST:], max(at - asked, 0.0)]
