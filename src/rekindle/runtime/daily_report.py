"""The daily report, told at a time of day. Nothing is set that a killed daemon could lose.

Whoever serves looks which time of day was last, and whether that day's report was told: that is a fact of the telling
stream. So a daemon that was down at the time tells it when it is back, once, however many days have passed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rekindle.core.inbox.news import News
from rekindle.core.report.windows import last_time, written
from rekindle.runtime.telling import Teller, TellingTerms

log = logging.getLogger(__name__)
#: How often to look whether it is time.
LOOK_SECONDS = 5.0
_SOURCE = "report"


class DailyReport:
    """`make` makes the news about the day that ends at a time, under a key; it may take long and raise anything."""

    def __init__(
        self,
        teller: Teller,
        terms: Callable[[], TellingTerms],
        clock: Callable[[], float],
        make: Callable[[float, str], News],
    ) -> None:
        self._teller = teller
        self._terms = terms
        self._clock = clock
        self._make = make
        self._made = ""
        self.is_wanted = False

    async def run(self) -> None:
        """Tell it every day, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Have the report told if it is time, and was not told yet."""
        terms = self._terms()
        self.is_wanted = terms.report_at is not None and bool(terms.receivers)
        if terms.report_at is None or not self.is_wanted:
            self._made = ""
            self._teller.put(_SOURCE, ())
            return
        due = last_time(terms.report_at, self._clock())
        key = key_of(due)
        if key == self._made or not self._teller.wants(key, due):
            return
        try:
            news = await asyncio.to_thread(self._make, due, key)
        except Exception as error:  # whatever is wrong with a report, agents must not suffer
            log.warning("the report could not be made: %s", error, exc_info=True)
            news = News(key, "report", "the daily report could not be made", "rekindle report", due)
        self._made = key
        self._teller.put(_SOURCE, (news,))


def key_of(due: float) -> str:
    """The name of a day's report: a day has one, even if its time is set anew."""
    return f"report-{written(due)[:10]}"
