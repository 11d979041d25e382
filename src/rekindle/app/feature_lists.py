"""The features of a repository: all of them at a glance, what happened by date, and one followed live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import Decoded, decode_line
from rekindle.core.journal.event import Event
from rekindle.core.journal.overview import RunLine, by_date, run_lines
from rekindle.ports.errors import JournalError
from rekindle.ports.journal_files import JournalFiles
from rekindle.ports.workspace import FeatureTail, Workspace


class FeatureRow(msgspec.Struct, frozen=True):
    """A feature at a glance. The state is that of the run that wrote last; `end_reason` says how it ended."""

    feature: str
    state: str
    sid: str | None
    last_ts: str | None
    bytes: int
    end_reason: str | None


class FeatureList(msgspec.Struct, frozen=True):
    """The features below one progress folder."""

    progress: str
    features: tuple[FeatureRow, ...]


class History(msgspec.Struct, frozen=True):
    """Runs by date, the newest date first. `problems` lists journals that cannot be read."""

    dates: dict[str, list[RunLine]]
    problems: tuple[str, ...] = ()


class FeatureLists:
    """Reads only."""

    def __init__(self, open_here: Callable[[], Workspace], files: JournalFiles) -> None:
        self._open_here = open_here
        self._files = files

    def names(self) -> list[str]:
        """The features that have a folder."""
        return [item.name for item in self._open_here().features()]

    def listed(self) -> FeatureList:
        """All features, read from the end of each journal."""
        here = self._open_here()
        rows = []
        for item in here.features():
            last, sid, end = (item.tail.ts, item.tail.sid, item.tail.reason) if item.tail is not None else (None,) * 3
            rows.append(FeatureRow(item.name, _state(here, item), sid, last, item.size, end))
        return FeatureList(here.progress, tuple(rows))

    def history(self, feature: str | None, limit: int | None) -> History:
        """What happened in one feature or in all, on the newest dates."""
        here = self._open_here()
        if feature is not None:
            names = [here.existing(feature).path.parent.name]
        else:
            names = [item.name for item in here.features() if item.size]
        lines: list[RunLine] = []
        problems: list[str] = []
        for name in names:
            try:
                analysis, _ = here.analysis(name)
            except JournalError as error:
                problems.append(error.message)
                continue
            lines.extend(run_lines(name, analysis))
        return History(dict(list(by_date(lines).items())[:limit]), tuple(problems))

    def lines(self, feature: str, start: int, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """Lines of a feature's journal from `start` on, as they were written, and whether there are more.

        A line that cannot be read is an empty object, so that each keeps its number.
        """
        found: list[dict[str, Any]] = []
        with open(self._open_here().existing(feature).path, "rb") as file:
            for number, line in enumerate(file):
                if number < start:
                    continue
                if len(found) == limit:
                    return found, True
                found.append(_as_object(line))
        return found, False

    def follow(self, feature: str, lines: int, *, until_end: bool) -> Iterator[tuple[bytes, Decoded]]:
        """The last lines of a feature's journal, then each new one; `until_end`: until the newest run ends."""
        found = self._open_here().existing(feature)
        runs = found.state().runs if until_end else []
        newest, ended = (runs[-1].sid, runs[-1].ended) if runs else (None, False)
        for line in self._files.grow(found.path, lines, once=ended):
            event = decode_line(line)
            yield line, event
            if isinstance(event, Event) and until_end and not ended:
                newest = event.sid if event.type == ev.SESSION_START else newest
                if event.type == ev.SESSION_END and event.sid in (newest, None):
                    return


def _as_object(line: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _state(here: Workspace, item: FeatureTail) -> str:
    if item.error is not None:
        return "unreadable"
    if item.tail is None:
        return "empty"
    if item.tail.ended:
        return "ended"
    return "running" if here.owner(item.name) is not None else "open"
