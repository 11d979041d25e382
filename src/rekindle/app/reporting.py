"""Makes reports: what happened in some time, with evidence, and without secrets. Needs no daemon, and starts none."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from rekindle.app.report_sources import ReportPorts, ReportReader
from rekindle.core.masking import Masker
from rekindle.core.report.contents import MorningReport
from rekindle.core.report.making import report
from rekindle.core.report.masking import masked
from rekindle.core.report.sources import Window
from rekindle.core.report.windows import EXAMPLES, moment
from rekindle.ports.errors import UsageError


class Reporting:
    """`masker` makes the masker for a session's texts; for no session, if the name is empty."""

    def __init__(self, ports: ReportPorts, masker: Callable[[str], Masker], clock: Callable[[], float]) -> None:
        self._ports = ports
        self._masker = masker
        self._clock = clock

    def asked_for(self, since: str, until: str | None) -> MorningReport:
        """The report about the time that somebody has named. Raises UsageError for what is not a time."""
        now = self._clock()
        begin, end = _moment("--since", since, now), now if until is None else _moment("--until", until, now)
        if begin >= end:
            raise UsageError("--since is not before --until", f"give an earlier time: {EXAMPLES}")
        return self.about(Window(begin, min(end, now)))

    def about(self, window: Window) -> MorningReport:
        """The report about some time."""
        now = self._clock()
        found = report(ReportReader(self._ports, window, now).sources(), window, now)
        maskers: dict[str, Masker] = {}

        def mask(session: str, text: str) -> str:
            if session not in maskers:
                maskers[session] = self._masker(session)
            return maskers[session].text(text)

        told = {one.session for one in found.stories}
        hosts = {name: host for name, host in self._ports.kept.hosts().items() if name in told}
        return replace(masked(found, mask), hosts=hosts)


def _moment(option: str, text: str, now: float) -> float:
    found = moment(text, now)
    if found is None:
        raise UsageError(f"{option}: {text!r} is not a valid time", f"use {EXAMPLES}")
    return found
