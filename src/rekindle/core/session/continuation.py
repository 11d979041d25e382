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
_MOST_OF_THE_TASK: Final = 4000
#: How many characters of its own text an agent gets back: an eighth of a context of 128,000 tokens, at four a token.
#: Several answers share them, so that the conversation has room to continue.
MOST_OF_ITS_WORDS: Final = 128_000 * 4 // 8


def continuation(
    prompt: str, cut: Cut, changed: Sequence[str] = (), *, same: bool = True, said: Sequence[str] = ()
) -> str:
    """The truth about the cut. `same` is False if the agent is in a new conversation that was told the old one.

    `prompt` is what a person asked for. `said` is what the agent said about it each time before it was cut off, oldest
    first and already shortened (`handed_back`); without it, the last text in `cut` has to do.
    """
    anew = "this is a new conversation, and what is above is all that it is told of the old"
    which = "this is the same conversation" if same else anew
    lines = [
        f"Your process was interrupted in the middle of your turn and was started again; {which}.",
        f"You were working on: {quoted(request_of(prompt), _MOST_OF_THE_TASK)}",
    ]
    words = [one for one in said if one.strip()] or [cut.said] * bool(cut.said)
    lines += [f"{_before(number)}: {quoted(one, len(one))}" for number, one in enumerate(words)]
    lines += [
        f"This was started, and its outcome is unknown (it was stopped with you): {quoted(tool, 500)}"
        for tool in cut.tools
    ]
    lines += [
        f"This came to its end, although your record of the conversation does not have that: {quoted(tool, 500)}"
        for tool in cut.done
    ]
    lines += [f"This waited for a permission, and was not started: {quoted(tool, 500)}" for tool in cut.asked_for]
    if cut.swept:
        lines.append(f"Processes that were still running and have been ended: {', '.join(cut.swept[:20])}")
    if changed:
        more = f" and {len(changed) - _MOST_FILES} more" if len(changed) > _MOST_FILES else ""
        names = ", ".join(quoted(name, 200) for name in changed[:_MOST_FILES])
        lines.append(f"Files that differ from how they were when your last turn ended: {names}{more}")
    lines.append("Check the state of the files before you repeat anything, then go on with your task.")
    return "\n".join(lines)


def handed_back(said: Sequence[str], room: int = MOST_OF_ITS_WORDS) -> list[str]:
    """Texts that share a maximum length: short ones stay whole, long ones lose their middle, with a count."""
    shares: dict[int, int] = {}
    by_length = sorted(range(len(said)), key=lambda index: len(said[index]))
    for rank, index in enumerate(by_length):
        shares[index] = min(len(said[index]), room // (len(said) - rank))
        room -= shares[index]
    return [_without_middle(one, shares[index]) for index, one in enumerate(said)]


def _before(number: int) -> str:
    if number == 0:
        return "What you had said before you were cut off was"
    return "What you said after that, before you were cut off again, was"


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = most // 4
    tail = most - head
    return f"{text[:head]}\n[{len(text) - most} characters are left out here]\n{text[len(text) - tail :]}"
