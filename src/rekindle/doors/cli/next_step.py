"""The line that says what to type next. Every screen and every error says it in this form, so that eyes find it.

What follows the mark can be typed as it stands. Any other advice is a sentence of its own.

Light standard library only: every command uses this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.doors.cli.colours import Ink

MARK = "next: "
_PROGRAMS = ("rekindle", "git", "pip", "kill", "crontab", "systemctl")
_PROSE = (", ", " or ", " then ", "…")


def next_step(command: str, ink: Ink | None = None) -> str:
    """What to type next."""
    return MARK + (command if ink is None else ink.cyan(command))


def advice(hint: str) -> list[str]:
    """What an error advises, line by line: commands as the next step, everything else as sentences."""
    return [next_step(part) if _is_command(part) else _sentence(part) for part in hint.split("; ") if part]


def _is_command(text: str) -> bool:
    """Whether a text can be typed as it stands: one command, without prose and without a word to replace."""
    words = text.split()
    if words[0] not in _PROGRAMS or any(mark in text for mark in _PROSE):
        return False
    return not any(len(word) > 1 and word.isalpha() and word.isupper() for word in words)


def _sentence(text: str) -> str:
    first = text.split()[0]
    return text if first in _PROGRAMS or not first.strip(",.:").isalpha() else text[0].upper() + text[1:]
