"""What an agent that cannot load a conversation is told about it: its history before the first prompt, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rekindle.core.session.quoting import quoted

TITLE = "RESUME CONTEXT FOR CONTINUING TASK"
_HISTORY, _REQUEST, _INSTRUCTIONS = "=== EXECUTION HISTORY ===", "=== CURRENT REQUEST ===", "=== INSTRUCTIONS ==="
MOST_OF_A_MESSAGE = 2000
MOST_OF_A_RESULT = 500
#: A long conversation must leave room for work: then only the first message and the newest ones are told.
MOST_OF_ALL = 60_000


@dataclass(frozen=True)
class Turn:
    """One thing that was said or done. `name` is the tool's, or says who asked if it was not a person."""

    role: Literal["user", "assistant", "tool_call", "tool_result"]
    text: str = ""
    name: str = ""


def with_history(turns: Sequence[Turn], prompt: str) -> str:
    """The prompt with the history before it; unchanged if there is none. The same turns give the same bytes."""
    told = [line for turn in turns if (line := _told(turn))]
    if not told:
        return prompt
    return "\n".join(
        [
            TITLE,
            "",
            _HISTORY,
            *_bounded(told),
            "",
            _REQUEST,
            prompt,
            "",
            _INSTRUCTIONS,
            "You do not remember it, but the work above is yours, and you go on with it now.",
            "Do not repeat work that was already completed; look at the files before you rely on what is said here.",
        ]
    )


def with_summary(summary: str, prompt: str) -> str:
    """The prompt with a summary of an earlier conversation before it, which says itself what it is."""
    closing = "Your answer is to the request above; the notes before it are what you know of the work so far."
    return "\n".join([TITLE, "", summary, "", _REQUEST, prompt, "", _INSTRUCTIONS, closing])


def request_of(prompt: str) -> str:
    """What was asked for in a prompt that may begin with a history."""
    if not prompt.startswith(f"{TITLE}\n"):
        return prompt
    _, found, rest = prompt.partition(f"\n{_REQUEST}\n")
    return rest.rpartition(f"\n\n{_INSTRUCTIONS}\n")[0] if found else prompt


def _told(turn: Turn) -> str:
    match turn.role:
        case "user" if turn.name:
            return "[USER]: (you were told to go on here)"  # what that quoted is in the history anyway
        case "user":
            text = quoted(request_of(turn.text), MOST_OF_A_MESSAGE)
            return f"[USER]: {text}" if text else ""
        case "assistant":
            text = quoted(turn.text, MOST_OF_A_MESSAGE)
            return f"[ASSISTANT]: {text}" if text else ""
        case "tool_call":
            return f"[TOOL CALL: {quoted(turn.name, MOST_OF_A_RESULT)}]"
        case "tool_result":
            name, text = quoted(turn.name, MOST_OF_A_RESULT), quoted(turn.text, MOST_OF_A_RESULT)
            return f"[TOOL RESULT: {name}] {text}".rstrip()


def _bounded(told: list[str]) -> list[str]:
    room = MOST_OF_ALL - len(told[0])
    kept: list[str] = []
    for line in reversed(told[1:]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    left_out = len(told) - 1 - len(kept)
    note = [f"({left_out} older entries are left out here)"] if left_out else []
    return [told[0], *note, *reversed(kept)]
