"""Dehydrated context: what a conversation leaves for the one that takes over, how large it may be, and how it is cut
to a size. Pure.

Whether an agent wrote it or rekindle made it (`salvage`), it has the same shape and the same limits. Where it is
injected, and under which heading, is up to `injection`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from rekindle.core.session.summary_marks import BEGIN, END

#: How many files may be named, how many bytes of each are handed over, and how much of the window all of them may take.
MOST_FILES: Final = 8
FILE_BYTES: Final = 50_000
WINDOW_SHARE: Final = 0.25
#: What a first prompt may carry besides the files: a summary leaves room for work.
PROMPT_CHARACTERS: Final = 24_000
#: No summary that an agent gives may be longer.
LONGEST: Final = 200_000
#: A rough measure, the same for every model: nobody counts tokens without the model's own vocabulary.
CHARACTERS_PER_TOKEN: Final = 4
#: Who made a summary: the agent itself, or rekindle from the conversation, without a model.
Maker = Literal["agent", "rekindle"]
TAKES: Final = "it takes {summary, lastAction, nextSteps, requiredFiles, handoverInstructions, userHistory}"
_FENCE: Final = "```"


class BadContext(ValueError):
    """A dehydrated context that cannot be used."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class DehydratedContext(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a conversation leaves for the one that takes over.

    `user_history` is what the user said, as far as it still counts. `made_by` says who wrote it.
    """

    summary: str
    last_action: str = ""
    next_steps: list[str] = []
    required_files: list[str] = []
    handover_instructions: str = ""
    user_history: str = ""
    made_by: Maker = "agent"


def context_of(given: object) -> DehydratedContext:
    """Dehydrated context as an agent gives it. Raises BadContext that says what it takes."""
    try:
        found = msgspec.convert(given, DehydratedContext)
    except msgspec.ValidationError as error:
        raise BadContext(f"the dehydrated context cannot be used: {error}", TAKES) from error
    if not found.summary.strip():
        raise BadContext("the dehydrated context has no summary", TAKES)
    if len(found.required_files) > MOST_FILES:
        count = len(found.required_files)
        raise BadContext(f"the dehydrated context names {count} files", f"name the {MOST_FILES} most important ones")
    if size(found) > LONGEST:
        raise BadContext(f"the dehydrated context has {size(found)} characters", f"keep it below {LONGEST}")
    return replace(found, made_by="agent")


def context_in(answer: str) -> DehydratedContext | None:
    """The summary in a marked block of an agent's answer, the last one that says anything; None: there is none.

    JSON is read as such, anything else is the summary itself: an agent that cannot write JSON has still summed up.
    Nobody can ask it again, so what is too long or too much is cut here.
    """
    found = (_context_in_block(block) for block in reversed(_blocks(answer)))
    return next((one for one in found if one is not None), None)


def _context_in_block(block: str) -> DehydratedContext | None:
    text = _unfenced(block.strip()).strip()
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return _said(text)
    try:
        found = msgspec.convert(given, DehydratedContext)
    except msgspec.ValidationError:
        return _said(text) if _has_words(given) else None
    if not found.summary.strip():
        return _said(text) if _has_words(given) else None
    few = replace(found, required_files=found.required_files[:MOST_FILES], made_by="agent")
    return trimmed(few, LONGEST)


def _said(text: str) -> DehydratedContext | None:
    """A text that is itself the summary."""
    return trimmed(DehydratedContext(text), LONGEST) if text else None


def _has_words(given: object) -> bool:
    """Whether there is any text in what an agent has given, however deep it is."""
    waiting = [given]
    while waiting:
        match waiting.pop():
            case str() as text if text.strip():
                return True
            case list() as some:
                waiting += some
            case dict() as named:
                waiting += named.values()
    return False


def _blocks(answer: str) -> list[str]:
    """What stands between marked lines, in order. Found in one pass: an answer may be very long."""
    blocks, at = [], 0
    while (begin := answer.find(BEGIN, at)) >= 0:
        start = answer.find("\n", begin + len(BEGIN)) + 1
        at = answer.find(END, start) if start else -1
        if at < 0:
            break
        blocks.append(answer[start:at])
        at += len(END)
    return blocks


def _unfenced(text: str) -> str:
    """A text without the fence around all of it."""
    first, _, rest = text.partition("\n")
    word = first.removeprefix(_FENCE)
    is_fenced = word != first and (not word or (word.isascii() and word.isalpha() and word.islower()))
    return rest.removesuffix(_FENCE) if is_fenced and rest.endswith(_FENCE) else text


def size(context: DehydratedContext) -> int:
    """How many characters it takes, as it is told."""
    return len("\n".join(lines(context)))


def lines(context: DehydratedContext) -> list[str]:
    """The context as it is told to an agent, without a heading."""
    found: list[str] = []
    for title, text in (
        ("Summary", context.summary),
        ("Last action", context.last_action),
        ("Handover instructions", context.handover_instructions),
        ("What the user said", context.user_history),
    ):
        found += ["", f"### {title}", text.strip()] if text.strip() else []
    if context.next_steps:
        found += ["", "### Next steps", *(f"{number}. {one}" for number, one in enumerate(context.next_steps, 1))]
    if context.required_files:
        found += ["", "### Required files", *(f"- {one}" for one in context.required_files)]
    return found[1:]


def trimmed(context: DehydratedContext, most: int) -> DehydratedContext:
    """The context cut to so many characters, as it is told; what is left out is said where it was.

    What the user said is cut first, then the summary: each keeps its beginning and its end. Steps, instructions and the
    last action are short as a rule, and go last.
    """
    for field, least in (("user_history", 0), ("summary", 400), ("handover_instructions", 200), ("last_action", 200)):
        over = size(context) - most
        if over <= 0:
            return context
        text: str = getattr(context, field).strip()
        context = replace(context, **{field: without_middle(text, max(least, len(text) - over))})
    while size(context) > most and context.next_steps:
        context = replace(context, next_steps=context.next_steps[:-1])
    while size(context) > most and context.required_files:
        context = replace(context, required_files=context.required_files[:-1])
    if size(context) > most:
        context = replace(context, handover_instructions="", last_action="", user_history="")
        over = size(context) - most
        context = replace(context, summary=context.summary.strip()[: max(0, len(context.summary.strip()) - over)])
    return context


def without_middle(text: str, most: int) -> str:
    """A text of at most so many characters: its beginning and its end, and how much was left out between them."""
    if len(text) <= most:
        return text
    note = f"\n[{len(text)} characters, the middle is left out]\n"
    room = most - len(note)
    if room < 40:
        return text[:most]
    return text[: room // 2] + note + text[len(text) - (room - room // 2) :]


def room_for_files(window: int | None) -> int:
    """How many bytes of files go with the first prompt, by the size of the context window in tokens; None: unknown."""
    most = MOST_FILES * FILE_BYTES
    return most if window is None else min(most, int(window * WINDOW_SHARE) * CHARACTERS_PER_TOKEN)


def shares(sizes: Sequence[int], window: int | None) -> list[int]:
    """How many bytes of each file are handed over, in their order: the first ones are the most important."""
    left, found = room_for_files(window), []
    for one in list(sizes)[:MOST_FILES]:
        found.append(min(one, FILE_BYTES, left))
        left -= found[-1]
    return found
