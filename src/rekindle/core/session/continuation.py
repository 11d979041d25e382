"""What an agent is told after it was cut off in the middle of a turn: what is known, and what is not.

The same evidence gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rekindle.core.session.facts import Cut
from rekindle.core.session.history import request_of
from rekindle.core.session.quoting import quoted

_MOST_FILES: Final = 50


def continuation(prompt: str, cut: Cut, changed: Sequence[str] = (), *, same: bool = True) -> str:
    """The truth about the cut. `same` is False where the agent is in a new conversation that was told the old one."""
    which = (
        "this is the same conversation" if same else "this is a new conversation, and what is above is all of the old"
    )
    lines = [
        f"Your process was interrupted in the middle of your turn and was started again; {which}.",
        f"You were working on: {quoted(request_of(prompt), 500)}",
    ]
    if cut.said:
        lines.append(f"The last thing you said before you were cut off was: {quoted(cut.said, 2000, tail=True)}")
    lines += [
        f"This was started, and its outcome is unknown (it was stopped with you): {quoted(tool, 500)}"
        for tool in cut.tools
    ]
    if cut.swept:
        lines.append(f"Processes that were still running and have been ended: {', '.join(cut.swept[:20])}")
    if changed:
        more = f" and {len(changed) - _MOST_FILES} more" if len(changed) > _MOST_FILES else ""
        names = ", ".join(quoted(name, 200) for name in changed[:_MOST_FILES])
        lines.append(f"Files that differ from how they were when your last turn ended: {names}{more}")
    lines.append("Check the state of the files before you repeat anything, then go on with your task.")
    return "\n".join(lines)
