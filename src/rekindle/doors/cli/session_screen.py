"""Sessions on a screen: what needs a person first, with the reason and what to type, then what works, then the rest.

Pure, and light standard library only. Every row comes from `rekindle.app.session_list`; an agent is told less, so any
value may be empty.
"""

from __future__ import annotations

from rekindle.core.quantities import duration
from rekindle.core.session.words import BUSY, CUT, OVER, WITHOUT_AGENT
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.measure import (
    cells,
    counted,
    fitted,
    fitted_path,
    from_home,
    packed,
    short_number,
    short_span,
    wrapped,
)
from rekindle.doors.cli.next_step import MARK, next_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from rekindle.doors.cli.colours import Ink

    Row = dict[str, Any]

NEEDS_YOU, GONE, PAUSED, WORKING, AT_REST, FINISHED = (
    "Needs you",
    "Without an agent",
    "Paused",
    "Working",
    "At rest",
    "Finished",
)
GROUPS = (NEEDS_YOU, GONE, PAUSED, WORKING, AT_REST, FINISHED)
#: From this width on, everything about a session fits on one line.
_WIDE = 120
_GAP = "  "
_LONGEST_REASON = 400
_NARROWEST_TITLE = 16


class Surface:
    """The screen to print on: its width (None: no limit), colours, the time, and the user's home."""

    __slots__ = ("home", "ink", "now", "width")

    def __init__(self, width: int | None, ink: Ink, now: float, home: str = "") -> None:
        self.width = width
        self.ink = ink
        self.now = now
        self.home = home


def group_of(row: Row) -> str:
    """What a session needs from a person right now."""
    if row["needs_you"]:
        return NEEDS_YOU
    if row["status"] in OVER:
        return FINISHED
    if row["status"] in WITHOUT_AGENT:
        return GONE
    if row["why"] or row["waits_until"] is not None:
        return PAUSED
    return WORKING if row["status"] in BUSY else AT_REST


def grouped(rows: list[Row]) -> dict[str, list[Row]]:
    """The sessions by group, the most urgent group first; those without any are left out."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(group_of(row), []).append(row)
    return {name: found[name] for name in GROUPS if name in found}


def table(groups: dict[str, list[Row]], surface: Surface) -> Iterator[str]:
    """A heading, and below it the sessions of each group."""
    rows = [row for some in groups.values() for row in some]
    if not rows:
        return
    layout = _Layout(rows, surface)
    yield surface.ink.bold(layout.heading())
    for name, some in groups.items():
        yield f"{_paint(surface.ink, name)(name)} ({len(some)})"
        for row in some:
            yield from layout.lines(row)


def _paint(ink: Ink, group: str) -> Callable[[str], str]:
    return {NEEDS_YOU: ink.yellow, GONE: ink.red, WORKING: ink.green, FINISHED: ink.faint}.get(group, ink.bold)


def needs(row: Row, now: float) -> Iterator[str]:
    """Why a session is in its state, and what to type. The first line may be long."""
    until = row["waits_until"]
    when = f"; continues by itself in {duration(until - now)}" if until is not None and until > now else ""
    if row["why"] or when:
        yield f"{fitted(printable(row['why'] or ''), _LONGEST_REASON)}{when}".removeprefix("; ")
    if row["next"] and (row["needs_you"] or until is None):
        yield next_step(row["next"])


class _Layout:
    """The columns that there is room for. What has no column gets its own line below."""

    def __init__(self, rows: list[Row], surface: Surface) -> None:
        self._surface = surface
        self._is_wide = surface.width is None or surface.width >= _WIDE
        hosts = ["HOST"] if any(row.get("host") for row in rows) else []
        names = ["SESSION", *hosts, "STATUS", "AGENT", "AGE"]
        context = ["CONTEXT"] if any(row.get("context") for row in rows) else []
        names += ["TURN", "TOKENS", *context, "COST", "FOLDER", "BRANCH"] if self._is_wide else []
        self._made = {row["id"]: self._cells(row) for row in rows}  # very many rows are not made twice
        made = self._made.values()
        self._widths = {name: max(cells(name), *(cells(one[name]) for one in made)) for name in names}
        if self._is_wide and surface.width is not None:
            self._give_room_to_titles(surface.width)

    def heading(self) -> str:
        """The names of the columns."""
        return self._joined({name: name for name in (*self._widths, "TITLE")}).rstrip()

    def lines(self, row: Row) -> Iterator[str]:
        """A session: its columns, where it works, why it is in its state, and what to type."""
        surface, ink = self._surface, self._surface.ink
        yield self._joined(self._made[row["id"]], _status_colour(ink, row)).rstrip()
        indent = " " * (self._widths["SESSION"] + len(_GAP))
        if not self._is_wide:
            yield from (ink.faint(line) for line in packed(self._about(row), surface.width, indent))
        for line in needs(row, surface.now):
            if line.startswith(MARK):
                yield indent + next_step(line.removeprefix(MARK), ink)
            else:
                yield from wrapped(line, surface.width, indent)

    def _about(self, row: Row) -> list[str]:
        surface = self._surface
        room = surface.width and surface.width - self._widths["SESSION"] - len(_GAP)
        turn = _turn(row, surface.now)
        used = row.get("usage") or {}
        return [
            fitted_path(from_home(printable(row["cwd"] or ""), surface.home), room),
            fitted(f"on {printable(row['branch'])}", room) if row.get("branch") else "",
            f"turn {short_span(turn)}" if turn is not None else "",
            f"{short_number(used['tokens'])} tokens" if used.get("tokens") else "",
            f"context {_context(row)}" if _context(row) else "",
            _cost(row),
        ]

    def _cells(self, row: Row) -> dict[str, str]:
        turn = _turn(row, self._surface.now)
        used = row.get("usage") or {}
        return {
            "SESSION": row["id"],
            "HOST": printable(row.get("host") or ""),
            "STATUS": row["status"],
            "AGENT": printable(row["agent"]),
            "AGE": short_span(self._surface.now - row["changed_at"]),
            "TURN": short_span(turn) if turn is not None else "",
            "TOKENS": short_number(used["tokens"]) if used.get("tokens") else "",
            "CONTEXT": _context(row),
            "COST": _cost(row),
            "FOLDER": from_home(printable(row["cwd"] or ""), self._surface.home),
            "BRANCH": printable(row.get("branch") or ""),
            "TITLE": printable(row["title"] or ""),
        }

    def _joined(self, texts: dict[str, str], paint: Callable[[str], str] | None = None) -> str:
        parts = []
        for name, width in self._widths.items():
            text = texts[name]
            if (taken := cells(text)) > width:
                text = (fitted_path if name == "FOLDER" else fitted)(text, width)
                taken = cells(text)
            blank = " " * (width - taken)
            painted = paint(text) if name == "STATUS" and paint is not None else text
            parts.append(blank + painted if name in ("AGE", "TURN", "TOKENS", "CONTEXT", "COST") else painted + blank)
        front = _GAP.join(parts) + _GAP
        taken = sum(self._widths.values()) + len(_GAP) * len(self._widths)
        whole = self._surface.width
        return front + fitted(texts["TITLE"], whole and max(whole - taken, 0))

    def _give_room_to_titles(self, width: int) -> None:
        """Folders and branches are shortened first: a title says what a session is about."""
        for name in ("FOLDER", "BRANCH"):
            taken = sum(self._widths.values()) + len(_GAP) * len(self._widths)
            spare = width - taken - max(_NARROWEST_TITLE, width // 4)
            if spare < 0:
                self._widths[name] = max(self._widths[name] + spare, 12)


def _turn(row: Row, now: float) -> float | None:
    since = row.get("turn_since") if row["is_running"] else None
    return max(now - since, 0.0) if since is not None else None


def _context(row: Row) -> str:
    """How full the context window is, as far as it is known."""
    return f"{row['context']['percent']}%" if row.get("context") else ""


def _cost(row: Row) -> str:
    cost = (row.get("usage") or {}).get("cost")
    return f"${cost:.2f}" if cost is not None else ""


def _status_colour(ink: Ink, row: Row) -> Callable[[str], str]:
    if row["status"] in CUT | {"failed"}:
        return ink.red
    if row["needs_you"]:
        return ink.yellow
    return {WORKING: ink.green, FINISHED: ink.faint}.get(group_of(row), str)


def rest_lines(groups: dict[str, list[Row]]) -> Iterator[str]:
    """What is only counted: sessions at rest, by their word."""
    at_rest = groups.get(AT_REST, [])
    words = sorted({row["status"] for row in at_rest})
    told = [f"{sum(row['status'] == word for row in at_rest)} {word}" for word in words]
    if told:
        yield f"{counted(len(at_rest), 'session')} at rest: {', '.join(told)} (rekindle ps lists them)."
