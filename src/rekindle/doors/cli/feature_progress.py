"""A feature's run as it happens: a table that stays in place on a terminal, elsewhere a line for each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rekindle.core.quantities import duration
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.amounts import used
from rekindle.doors.cli.measure import counted
from rekindle.doors.cli.next_step import next_step

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

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


#: The columns, and the terminal width from which there is room for each.
_COLUMNS = {"wave": 32, "task": 0, "state": 0, "time": 44, "agent": 60, "session": 74, "what": 90}
_PADDING = 2
#: The minimum room for a task's name; a longer name is cut if it would squeeze the other columns.
_LEAST_NAME = 12
#: Lines of the screen that are not tasks: title, heading, what is left out, and the cursor's line.
_OTHER_LINES = 4
_AT_REST = ("merged", "unchanged", "pending", "skipped")


class Board:
    """Shows states of a run. Used as a context manager, so that the terminal is restored."""

    def __init__(self, on_terminal: bool, *, quiet: bool = False, console: Console | None = None) -> None:
        self._quiet = quiet
        self._live: Live | None = None
        self._before: dict[str, str] = {}
        self._asked: set[str] = set()
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

    def show(self, told: dict[str, Any], questions: Sequence[dict[str, Any]] = ()) -> None:
        """Show the run's current state, and what its agents ask."""
        if self._quiet or not told["tasks"]:
            return
        if self._live is not None:
            console = self._live.console
            if console.width < self._width:
                console.clear()  # the terminal has wrapped the old lines into more than we counted
            self._width = console.width
            self._live.update(self._table(told, questions, console.width, console.height))
            return
        waves = _wave_of(told)
        for task in told["tasks"]:
            said = task["problem"] or ""
            state = f"{task['state']}{f': {said}' if said else ''}"
            if self._before.get(task["id"]) != state and not (task["id"] not in self._before and state == "pending"):
                about = f" (session {task['session']})" if task["state"] in ("working", "asking") else ""
                about = f"{printable(task['id'])}: {printable(state)}{about}"
                print(f"{told['seconds']:6.1f}s  wave {waves[task['id']]}  {about}", flush=True)
            self._before[task["id"]] = state
        new = [one for one in questions if one["id"] not in self._asked]
        self._asked.update(one["id"] for one in new)
        for line in notes({**told, "tasks": [{**task, "problem": ""} for task in told["tasks"]]}, new):
            print(f"         {line}", flush=True)

    def _table(self, told: dict[str, Any], questions: Sequence[dict[str, Any]], width: int, height: int) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        title = Text(headline(told), style="bold")
        below, unsaid = _noted(notes(told, questions), max((height - _OTHER_LINES) // 2, 0))
        rows, left_out = fitting(told["tasks"], height - _OTHER_LINES - len(below) - bool(unsaid))
        captions = [Text(line) for line in (*below, unsaid, left_out) if line]
        for line in (title, *captions):
            line.truncate(width, overflow="ellipsis")
        table = Table(box=None)
        columns = [name for name, least in _COLUMNS.items() if width >= least]
        waves = _wave_of(told)
        table_rows = []
        for task in rows:
            cells = {
                "wave": Text(str(waves[task["id"]])),
                "task": _fitted(Text(printable(task["id"])), max(width // 3, _LEAST_NAME)),
                "state": Text(task["state"], style=_COLOURS.get(task["state"], "")),
                "time": Text(duration(task["seconds"]) if task["seconds"] else ""),
                "agent": Text(task["agent"] or ""),
                "session": Text(task["session"] or ""),
                "what": Text(printable(task["problem"] or task["summary"])),
            }
            table_rows.append(cells)
        columns = [name for name in columns if any(cells[name].plain for cells in table_rows)]
        for column in columns:
            table.add_column(column, no_wrap=True, overflow="ellipsis")
            widest = max(len(column), *(cells[column].cell_len for cells in table_rows)) + _PADDING
            width = max(width - widest, 0) if column != "what" else width
        for cells in table_rows:
            cells["what"].truncate(max(width - _PADDING, 1), overflow="ellipsis")
            table.add_row(*(cells[column] for column in columns))
        return Group(title, table, *captions)


def _fitted(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text


def _noted(lines: list[str], room: int) -> tuple[list[str], str]:
    """The notes that there is room for, and how many are left out: `rekindle show` and the end of the run have them."""
    if len(lines) <= room:
        return lines, ""
    return lines[: max(room - 1, 0)], f"and {len(lines) - max(room - 1, 0)} more lines: see rekindle inbox, rekindle ps"


def headline(told: dict[str, Any]) -> str:
    """How far a run has come, in one line, what matters most first."""
    tasks = told["tasks"]
    merged = sum(task["state"] == "merged" for task in tasks)
    amounts = [duration(told["seconds"]), *used(told["tokens"], told["cost"])]
    parts = [printable(told["feature"]), f"{merged} of {counted(len(tasks), 'task')} merged", *amounts]
    return " · ".join([*parts, f"run {told['sid']}, {told['mode']}"])


def notes(told: dict[str, Any], questions: Sequence[dict[str, Any]]) -> list[str]:
    """What a person has to know below the table: what is asked, with the answer to type, and why a task rests."""
    tasks = {task["session"]: printable(task["id"]) for task in told["tasks"] if task["session"]}
    found = []
    for one in questions:
        options = " or ".join(printable(option["id"]) for option in one["options"])
        found.append(f"{tasks.get(one['session'], one['session'])} asks: {printable(one['title'])} ({options})")
        found.append("  " + next_step(f"rekindle answer {one['id']}"))
    resting = [task for task in told["tasks"] if task["problem"] and task["state"] != "merged"]
    return [*found, *(f"{printable(one['id'])} {one['state']}: {printable(one['problem'])}" for one in resting)]


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
