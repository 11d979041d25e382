"""A feature's run as it goes: a table that stays in place on a terminal, elsewhere a line for each change."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rekindle.cli.outcome import printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

_COLOURS = {
    "merged": "green",
    "checked": "green",
    "working": "yellow",
    "checking": "cyan",
    "failed": "red",
    "stuck": "red",
    "asking": "bright_yellow",
}


class Board:
    """Shows states of a run. Used as a context, so that the terminal is left in order."""

    def __init__(self, on_terminal: bool, *, quiet: bool = False) -> None:
        self._on_terminal = on_terminal
        self._quiet = quiet
        self._live: Live | None = None
        self._before: dict[str, str] = {}
        self._began = time.monotonic()

    def __enter__(self) -> Board:
        if self._on_terminal:
            from rich.live import Live

            self._live = Live(refresh_per_second=8)
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
            self._live.update(self._table(told))
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

    def _table(self, told: dict[str, Any]) -> Table:
        from rich.table import Table
        from rich.text import Text

        seconds = time.monotonic() - self._began
        table = Table(
            title=f"{printable(told['feature'])}, run {told['sid']}, {told['mode']}, {seconds:.0f} s", box=None
        )
        for column in ("wave", "task", "state", "agent", "session", "time", "what"):
            table.add_column(column)
        waves = _wave_of(told)
        for task in told["tasks"]:
            state = Text(task["state"], style=_COLOURS.get(task["state"], ""))
            spent = f"{task['seconds']:.0f} s" if task["seconds"] else ""
            what = printable(task["problem"] or task["summary"])[:60]
            table.add_row(
                str(waves[task["id"]]),
                Text(printable(task["id"])),
                state,
                task["agent"] or "",
                task["session"] or "",
                spent,
                Text(what),
            )
        return table


def _wave_of(told: dict[str, Any]) -> dict[str, int]:
    return {name: number for number, wave in enumerate(told["waves"], start=1) for name in wave}
