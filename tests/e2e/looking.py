"""Commands of a test that are run in the test's own process, because it looks again and again until something happens.

A new interpreter for each look would take the processor away from what is waited for. It is the same command line
with the same use cases, but it starts no daemon. Only a success counts: whoever gets None runs the real command.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from rekindle.adapters.daemon_socket.client import DaemonClient
from rekindle.doors.cli import start, use_cases
from rekindle.wiring import Wired


class _OnlyAsks(DaemonClient):
    """A line to a daemon that runs."""

    def ask(self, op: str, *, start: bool = True, **values: Any) -> dict[str, Any]:
        return super().ask(op, start=False, **values)


class _Looks(Wired):
    """The use cases of somebody who hangs up when they have seen it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment)
        self._lines: list[_OnlyAsks] = []

    def daemon(self) -> _OnlyAsks:
        self._lines.append(_OnlyAsks(self._places()))
        return self._lines[-1]

    def hang_up(self) -> None:
        for line in self._lines:
            line.close()


def look(environment: Mapping[str, str], folder: Path, *words: str) -> str | None:
    """What the command prints there, or None if it did not end well."""
    looks, said = _Looks(environment), io.StringIO()
    with _as_if_typed(environment, folder, words), contextlib.redirect_stdout(said):
        use_cases.provide(looks)
        try:
            ended_well = start.run(list(words)) == 0
        finally:
            looks.hang_up()
    return said.getvalue() if ended_well else None


@contextlib.contextmanager
def _as_if_typed(environment: Mapping[str, str], folder: Path, words: tuple[str, ...]) -> Iterator[None]:
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", ["rekindle", *words]),
        contextlib.chdir(folder),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        yield
