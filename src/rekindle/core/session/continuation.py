"""What an agent is told after it was cut off in the middle of a turn: what is known, and what is not."""

from __future__ import annotations

from rekindle.core.session.facts import Cut


def continuation(prompt: str, cut: Cut) -> str:
    """What the agent is told after it was cut off in the middle of a turn. The same evidence gives the same bytes."""
    lines = [
        "Your process was interrupted in the middle of your turn and was started again; this is the same conversation.",
        f"You were working on: {_short(prompt, 500)}",
    ]
    if cut.said:
        lines.append(f"The last thing you said before you were cut off was: {_short(cut.said, 2000, tail=True)}")
    lines += [
        f"This was started, and its outcome is unknown (it was stopped with you): {_short(tool, 500)}"
        for tool in cut.tools
    ]
    if cut.swept:
        lines.append(f"Processes that were still running and have been ended: {', '.join(cut.swept[:20])}")
    lines.append("Check the state of the files before you repeat anything, then go on with your task.")
    return "\n".join(lines)


def _short(text: str, most: int, *, tail: bool = False) -> str:
    """A quotation: not too long, and with its further lines indented, so that it cannot be taken for an instruction."""
    if len(text) > most:
        text = "…" + text[-most:] if tail else text[:most] + "…"
    return text.strip().replace("\n", "\n    ")
