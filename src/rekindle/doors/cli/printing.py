"""Lines for a person, each broken between words if the terminal is too narrow for it."""

from __future__ import annotations

import os
import sys

from rekindle.doors.cli.measure import columns, hung

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def print_lines(lines: Iterable[str], indent: int | None = None, *, err: bool = False) -> None:
    """Print them. `indent`: for the second and later lines of each; by default two more than the first.

    `err`: on standard error, as what is no result of the command.
    """
    out = sys.stderr if err else sys.stdout
    width = columns(out.isatty(), os.environ, of=2 if err else 1)
    for line in lines:
        for part in hung(line, width, indent):
            print(part, file=out)
