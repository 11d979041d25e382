"""A conversation as a typed stream of entries, and what can be told from it: turns, the agent's text, the last turn.

Logs, search, histories, reviewers' verdicts and archives all see the entries that are made here. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rekindle.agents.base import observation as o
from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.exchange import Exchanged, Prompted
from rekindle.core.session.history import Turn
from rekindle.core.session.prompt_ids import task_in
from rekindle.core.session.state import OURS

Kind = Literal[
    "prompt", "told", "said", "thought", "tool", "tool_done", "plan", "question", "end", "error", "attempt", "note"
]


_CUT_OFF: Final = "the agent was cut off in the middle of its turn"
_STOPPED: Final = "the agent was stopped in the middle of its turn"


@dataclass(frozen=True)
class ConversationEntry:
    """One thing that was said or done. `call` tells which tool call a result belongs to."""

    kind: Kind
    text: str
    attempt: int
    call: str = ""


def entries(exchanged: Exchanged, attempt: int) -> list[ConversationEntry]:
    """What one step of an exchange shows; `told` is one of rekindle's own prompts."""
    if isinstance(exchanged, Prompted):
        return [ConversationEntry("told" if task_in(exchanged.prompt) else "prompt", exchanged.text, attempt)]
    return [entry for seen in exchanged.seen if (entry := _entry(seen, attempt)) is not None]


def beginning(attempt: int) -> list[ConversationEntry]:
    """The note before an attempt; the first attempt has none."""
    return [ConversationEntry("attempt", f"attempt {attempt}", attempt)] if attempt > 1 else []


def cut_off(attempt: int, how: str) -> ConversationEntry:
    """The note after an attempt that ended in the middle of a turn."""
    return ConversationEntry("note", f"{_CUT_OFF} ({how})", attempt)


def stopped(attempt: int) -> ConversationEntry:
    """The note after an attempt that somebody ended in the middle of a turn: nothing went wrong."""
    return ConversationEntry("note", _STOPPED, attempt)


def unreadable(attempt: int, problem: str) -> ConversationEntry:
    """The note for a part of an attempt that exists but cannot be read."""
    return ConversationEntry("note", f"attempt {attempt}: {problem}", attempt)


def with_record(shown: Sequence[ConversationEntry], turns: Iterable[Spoken]) -> list[ConversationEntry]:
    """The entries of an agent in a terminal: its spools hold keys, and its own record has what was said.

    Our prompts are found in the record by their text; any other prompt was typed by a person. What the record lacks
    goes where it was typed. No key shows that a turn is over, so a turn with an answer is not called cut off.
    """
    waiting = deque(shown)
    found: list[ConversationEntry] = []
    attempt = shown[0].attempt if shown else 1
    for turn in turns:
        match turn.role:
            case "user":
                there = next((at for at, one in enumerate(waiting) if _is_prompt(one, turn.text)), None)
                if there is None:
                    found.append(ConversationEntry("prompt", turn.text, attempt))
                    continue
                for _ in range(there + 1):
                    _put(found, waiting.popleft())
                attempt = found[-1].attempt
            case "assistant":
                apart = "\n\n" if found and found[-1].kind == "said" else ""
                found.append(ConversationEntry("said", apart + turn.text, attempt))
            case "boundary":
                found.append(ConversationEntry("note", "the agent has compacted its conversation", attempt))
            case "summary":
                continue
    for one in waiting:
        _put(found, one)
    return found


def as_turns(shown: Iterable[ConversationEntry]) -> list[Turn]:
    """What was said and done, without thoughts and notes."""
    found: list[Turn] = []
    names: dict[tuple[int, str], str] = {}
    speaking = 0  # the attempt whose text is arriving in pieces right now
    for entry in shown:
        if entry.kind == "said" and speaking == entry.attempt:
            found[-1] = Turn("assistant", found[-1].text + entry.text)
            continue
        speaking = entry.attempt if entry.kind == "said" else 0
        match entry.kind:
            case "prompt":
                found.append(Turn("user", entry.text))
            case "told":
                found.append(Turn("user", entry.text, OURS))
            case "said":
                found.append(Turn("assistant", entry.text))
            case "tool":
                names[entry.attempt, entry.call] = entry.text
                found.append(Turn("tool_call", name=entry.text))
            case "tool_done":
                found.append(Turn("tool_result", entry.text, names.get((entry.attempt, entry.call), "")))
    return found


def said(shown: Iterable[ConversationEntry]) -> str:
    """All of the agent's text."""
    return "".join(entry.text for entry in shown if entry.kind == "said")


def last_turns(shown: Iterable[ConversationEntry]) -> dict[int, str]:
    """What the agent said in the last turn of each attempt."""
    found: dict[int, str] = {}
    for entry in shown:
        if entry.kind in ("prompt", "told"):
            found[entry.attempt] = ""
        elif entry.kind == "said":
            found[entry.attempt] = found.get(entry.attempt, "") + entry.text
    return found


def _put(found: list[ConversationEntry], entry: ConversationEntry) -> None:
    is_answered = bool(found) and (found[-1].kind, found[-1].attempt) == ("said", entry.attempt)
    if not (is_answered and entry.kind == "note" and entry.text.startswith((_CUT_OFF, _STOPPED))):
        found.append(entry)


def _is_prompt(entry: ConversationEntry, text: str) -> bool:
    return entry.kind in ("prompt", "told") and entry.text.strip() == text.strip()


def _entry(seen: o.Observation, attempt: int) -> ConversationEntry | None:
    match seen:
        case o.Said(replay=False):
            return ConversationEntry("thought" if seen.thought else "said", seen.text, attempt)
        case o.ToolStarted(replay=False):
            return ConversationEntry("tool", seen.title, attempt, seen.tool_id)
        case o.ToolChanged(replay=False) if seen.status in ("completed", "failed"):
            output = f": {seen.output}" if seen.output else ""
            return ConversationEntry("tool_done", f"{seen.status}{output}", attempt, seen.tool_id)
        case o.PlanShown(replay=False):
            return ConversationEntry(
                "plan", "\n".join(f"[{one.status}] {one.content}" for one in seen.entries), attempt
            )
        case o.AgentAskedPermission():
            return ConversationEntry("question", seen.title, attempt)
        case o.AgentFinishedTurn():
            return ConversationEntry("end", seen.stop_reason, attempt)
        case o.AgentFailedTurn():
            return ConversationEntry("error", f"{seen.error_class}: {seen.message}", attempt)
        case o.AgentRefusedToOpen():
            return ConversationEntry("error", f"the conversation was not opened: {seen.message}", attempt)
        case o.Retrying():
            told = f"{seen.why}: the agent tries again in {seen.seconds:g} s ({seen.attempt} of {seen.of})"
            return ConversationEntry("note", told, attempt)
        case o.AgentCompacted():
            return ConversationEntry(
                "note", f"the agent has compacted its conversation ({seen.why or 'by itself'})", attempt
            )
        case o.Noise():
            return ConversationEntry("note", f"{seen.reason}: {seen.excerpt}", attempt)
        case _:
            return None
