"""Lines on standard output, each broken between words if the terminal is too narrow for it."""

from __future__ import annotations

import os
import sys

from rekindle.doors.cli.measure import columns, hung

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def print_lines(lines: Iterable[str], indent: int | None = None) -> None:
    """Print them. `indent`: for the second and later lines of each; by default two more than the first."""
    width = columns(sys.stdout.isatty(), os.environ)
    for line in lines:
        for part in hung(line, width, indent):
            print(part)
