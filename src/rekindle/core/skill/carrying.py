"""A summary for the next conversation: carried on with what came after it was told, and cut to what fits in a prompt.

A conversation that was told a summary may have to be left, too, before it has made one of its own. The next one is told
the older summary and what was said and done since. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from rekindle.core.session.history import TITLE, Turn, request_of
from rekindle.core.session.summary_marks import TITLE as QUESTION
from rekindle.core.skill import injection
from rekindle.core.skill.dehydration import DehydratedContext, lines, size, trimmed
from rekindle.core.skill.salvage import Remains, salvaged

#: What the words around the newer part may take.
_WORDS: Final = 300
_HEAD: Final = (
    "After that was told to the conversation before this one, so that its last action and next steps are older"
)
_NO_LIMIT: Final = 1 << 40


class Carried(msgspec.Struct, frozen=True):
    """An older summary with what came after it. `entries` are those that came after it; `is_whole`: word for word."""

    context: DehydratedContext
    entries: int
    characters: int
    is_whole: bool


def told_at(turns: Sequence[Turn]) -> int | None:
    """Which of these turns told the newest conversation its summary; None: none did."""
    places = (at for at in range(len(turns) - 1, -1, -1) if _tells(turns[at]))
    return next(places, None)


def _tells(turn: Turn) -> bool:
    return turn.role == "user" and turn.text.startswith(f"{TITLE}\n") and bool(injection.told_notes(turn.text))


def summary_told(text: str) -> DehydratedContext:
    """The summary in what a conversation was told, as far as it was told."""
    bare = injection.LEAD.rstrip()
    kept = ["" if line == bare else line.removeprefix(injection.LEAD) for line in injection.told_notes(text)]
    return DehydratedContext("\n".join(kept).strip().removeprefix("Summary:\n"), made_by="rekindle")


def since(turns: Sequence[Turn], at: int, waiting: Collection[str]) -> list[Turn]:
    """What was said and done after the summary was told. A prompt that `waiting` has is given again anyway."""
    request = request_of(turns[at].text)
    after = [one for one in turns[at + 1 :] if not (one.name and one.text.startswith(QUESTION))]
    if not after and request in waiting:
        return []
    return [Turn("user", request, turns[at].name), *after]


def carried(older: DehydratedContext, turns: Sequence[Turn], remains: Remains, most: int) -> Carried:
    """The older summary and what came after it, of at most so many characters, as it is told.

    What is newer has at least half of the room: word for word if it fits, else shortened without a model.
    """
    later = _word_for_word(turns, remains)
    characters, room = len(later), max(most // 2, most - size(older)) - _WORDS
    is_whole = len(later) <= room
    if not is_whole:
        later = "\n".join(lines(salvaged(turns, remains, room)))
    how = "word for word" if is_whole else f"shortened from {characters} characters without a model"
    kept = trimmed(older, max(0, most - len(later) - _WORDS))
    context = replace(kept, summary=f"{kept.summary.strip()}\n\n{_HEAD}, {how}:\n{later}".strip(), made_by="rekindle")
    return Carried(context, len(turns), characters, is_whole)


def _word_for_word(turns: Sequence[Turn], remains: Remains) -> str:
    """All that was said and done, what was still running, and the files that differ."""
    found = [line for one in turns if (line := _line(one))]
    found += [f"Was running when that conversation ended, its outcome is unknown: {one}" for one in remains.running]
    if remains.changed:
        found.append(f"Files that differ from how they were when the last turn ended: {', '.join(remains.changed)}")
    return "\n".join(found)


def _line(turn: Turn) -> str:
    match turn.role:
        case "user":
            return f"[USER]: {turn.text}" if not turn.name else f"[REKINDLE]: {turn.text}"
        case "assistant":
            return f"[ASSISTANT]: {turn.text}" if turn.text.strip() else ""
        case "tool_call":
            return f"[TOOL CALL: {turn.name}]"
        case "tool_result":
            return f"[TOOL RESULT: {turn.name}] {turn.text}".rstrip()


def fitted(context: DehydratedContext, room: int) -> DehydratedContext:
    """The context cut so that nothing more is cut where it is given, in a block with so much room for notes."""
    most = size(context)
    found = context
    while (over := injection.needed(msgspec.to_builtins(found)) - room) > 0 and most > 0:
        most = max(0, min(most, size(found)) - over)
        found = trimmed(context, most)
    return found


def told_size(context: DehydratedContext) -> int:
    """How many characters a context takes where nothing of it is cut, as an agent is given it."""
    return lines_size(injection.notes(msgspec.to_builtins(context), [], "\0", _NO_LIMIT))


def lines_size(told_lines: Sequence[str]) -> int:
    """How many characters lines have, with their ends."""
    return sum(map(injection.width, told_lines)) + len(told_lines)
