"""A feature's run as it goes: a table that stays in place on a terminal, elsewhere a line for each change."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rekindle.core.terminal_text import printable

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live

_COLOURS = {
    "merged": "green",
    "unchanged": "green",
    "checked": "green",
    "working": "yellow",
    "checking": "cyan",
    "failed": "red",
    "stuck": "red",
    "asking": "bright_yellow",
}


#: The columns, and from which width of the terminal on there is room for each.
_COLUMNS = {"wave": 32, "task": 0, "state": 0, "time": 44, "agent": 60, "session": 74, "what": 90}
_PADDING = 2
#: Lines of the screen that are no task: title, heading, what is left out, and the one that the cursor stands on.
_OTHER_LINES = 4
_AT_REST = ("merged", "unchanged", "waiting", "skipped")


class Board:
    """Shows states of a run. Used as a context, so that the terminal is left in order."""

    def __init__(self, on_terminal: bool, *, quiet: bool = False, console: Console | None = None) -> None:
        self._quiet = quiet
        self._live: Live | None = None
        self._before: dict[str, str] = {}
        self._began = time.monotonic()
        self._width = 0
        if on_terminal:
            from rich.console import Console
            from rich.live import Live

            console = console or Console()
            if not console.is_dumb_terminal:
                self._live = Live(console=console, refresh_per_second=8)

    def __enter__(self) -> Board:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def show(self, told: dict[str, Any]) -> None:
        """Show how the run stands now."""
        if self._quiet or not told["tasks"]:
            return
        if self._live is not None:
            console = self._live.console
            if console.width < self._width:
                console.clear()  # the terminal has broken the old lines into more than we know of
            self._width = console.width
            self._live.update(self._table(told, console.width, console.height))
            return
        waves = _wave_of(told)
        for task in told["tasks"]:
            said = task["problem"] or ""
            state = f"{task['state']}{f': {said}' if said else ''}"
            if self._before.get(task["id"]) != state and not (task["id"] not in self._before and state == "waiting"):
                seconds = time.monotonic() - self._began
                about = f" (session {task['session']})" if task["state"] in ("working", "asking") else ""
                print(
                    f"{seconds:6.1f}s  wave {waves[task['id']]}  {printable(task['id'])}: {printable(state)}{about}",
                    flush=True,
                )
            self._before[task["id"]] = state

    def _table(self, told: dict[str, Any], width: int, height: int) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        spent = duration(time.monotonic() - self._began)
        title = Text(f"{printable(told['feature'])}, run {told['sid']}, {told['mode']}, {spent}")
        rows, left_out = fitting(told["tasks"], height - _OTHER_LINES)
        caption = Text(left_out)
        for line in (title, caption):
            line.truncate(width, overflow="ellipsis")
        table = Table(box=None)
        columns = [name for name, least in _COLUMNS.items() if width >= least]
        for column in columns:
            table.add_column(column, no_wrap=True, overflow="ellipsis")
        waves = _wave_of(told)
        table_rows = []
        for task in rows:
            cells = {
                "wave": Text(str(waves[task["id"]])),
                "task": Text(printable(task["id"])),
                "state": Text(task["state"], style=_COLOURS.get(task["state"], "")),
                "time": Text(duration(task["seconds"]) if task["seconds"] else ""),
                "agent": Text(task["agent"] or ""),
                "session": Text(task["session"] or ""),
                "what": Text(printable(task["problem"] or task["summary"])),
            }
            table_rows.append(cells)
        for column in columns:
            widest = max(len(column), *(cells[column].cell_len for cells in table_rows)) + _PADDING
            width = max(width - widest, 0) if column != "what" else width
        for cells in table_rows:
            cells["what"].truncate(max(width - _PADDING, 1), overflow="ellipsis")
            table.add_row(*(cells[column] for column in columns))
        return Group(title, table, *([caption] if left_out else []))


def duration(seconds: float) -> str:
    """`8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def fitting(tasks: Sequence[dict[str, Any]], room: int) -> tuple[list[dict[str, Any]], str]:
    """The tasks that there is room for, those that something happens to first, and how many of which are left out."""
    if len(tasks) <= room:
        return list(tasks), ""
    by_interest = sorted(range(len(tasks)), key=lambda number: tasks[number]["state"] in _AT_REST)
    shown = set(by_interest[: max(room, 1)])
    hidden = Counter(task["state"] for number, task in enumerate(tasks) if number not in shown)
    told = ", ".join(f"{count} {state}" for state, count in hidden.items())
    return [tasks[number] for number in sorted(shown)], f"not shown: {told}"


def _wave_of(told: dict[str, Any]) -> dict[str, int]:
    return {name: number for number, wave in enumerate(told["waves"], start=1) for name in wave}
