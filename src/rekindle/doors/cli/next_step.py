"""The line that says what to type next. Every screen and every error says it in this form, so that eyes find it.

Light standard library only: every command uses this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.doors.cli.colours import Ink

MARK = "next: "


def next_step(command: str, ink: Ink | None = None) -> str:
    """What to type (or to do) next."""
    return MARK + (command if ink is None else ink.cyan(command))
