"""What a resume still has to report: everything since the last proved receipt after which a turn ended well.

An agent may die again before anybody has read the receipt, or before the model has answered what it was told. What was
open then stays open, across as many attempts as it takes. Pure.
"""

from __future__ import annotations

import msgspec

from rekindle.core.session.recovery import is_compaction
from rekindle.core.session.state import Attempt, Prompt, Session


class Tool(msgspec.Struct, frozen=True):
    """A tool that was running when its attempt ended: nobody knows how it ended."""

    words: str
    attempt: int


class Outstanding(msgspec.Struct, frozen=True):
    """What the next receipt has to name. `notes` are sentences: what was done to the agent's record, what was lost."""

    tools: list[Tool]
    notes: list[str]
    repeated: list[str]
    since: int

    def lines(self, attempt: int) -> list[str]:
        """All that is not known, in words, for the receipt of an attempt."""
        return [*(_in_words(tool, attempt) for tool in self.tools), *self.notes]


def outstanding(session: Session, attempt: int) -> Outstanding:
    """What the receipt of this attempt has to name: its own notes count, what runs in it does not."""
    since = max((one.number for one in session.attempts if one.number < attempt and _is_told(session, one)), default=0)
    before = [one for one in session.attempts if since <= one.number < attempt]
    later = [one for one in session.attempts if since < one.number <= attempt]
    lost = [_truncated(one) for one in before if one.truncated]
    notes = [*(note for one in later for note in one.notes), *lost]
    repeated = [line for one in later if one.receipt is not None for line in one.receipt.repeated]
    return Outstanding(_open_tools(before), list(dict.fromkeys(notes)), list(dict.fromkeys(repeated)), since)


def is_host_told(session: Session, until: int) -> bool:
    """Whether a receipt before this attempt has told of the last change of hosts, in the same conversation."""
    lost = session.host_change.lost if session.host_change is not None else 0
    between = [one for one in session.attempts if lost < one.number < until]
    return any(one.receipt is not None and one.receipt.kind == "same" for one in between)


def untold_tools(session: Session, attempt: int) -> list[Tool]:
    """The tools that the model has to be told about when this attempt continues: since a turn last ended well."""
    since = last_worked(session, attempt)
    return _open_tools([one for one in session.attempts if since <= one.number < attempt])


def last_worked(session: Session, attempt: int) -> int:
    """The last attempt before this one in which a turn ended well; 0: none."""
    return max(
        (one.number for one in session.attempts if one.number < attempt and _has_worked(session, one)), default=0
    )


def not_in(session: Session, there: set[str], begun: int, attempt: int) -> list[Prompt]:
    """The prompts that were cut off since then, and that a record with the prompts in `there` lacks."""
    first = max(begun, outstanding(session, attempt).since)
    return [
        one
        for one in session.prompts
        if one.by == "user" and first <= one.attempt < attempt and one.cut in ("open", "lost") and one.id not in there
    ]


def _open_tools(attempts: list[Attempt]) -> list[Tool]:
    cuts = [(one.number, one.cut) for one in attempts if one.cut is not None]
    return [Tool(words, number) for number, cut in cuts for words in (*cut.background, *cut.tools)]


def _is_told(session: Session, attempt: Attempt) -> bool:
    """Whether this attempt's receipt was proved, and the model has answered what it was told in it."""
    proved = attempt.receipt is not None and attempt.receipt.kind != "unproven"
    return proved and _has_worked(session, attempt)


def _has_worked(session: Session, attempt: Attempt) -> bool:
    """Whether a turn ended well in an attempt. One that only shortened the conversation answers nothing."""
    return any(
        one.attempt == attempt.number and one.state == "done" and not is_compaction(session, one.id)
        for one in session.prompts
    )


def _in_words(tool: Tool, attempt: int) -> str:
    earlier = f" (in attempt {tool.attempt})" if tool.attempt < attempt - 1 else ""
    return f"was started, outcome unknown: {tool.words}{earlier}"


def _truncated(attempt: Attempt) -> str:
    return f"attempt {attempt.number}: the agent's output was truncated, {attempt.truncated} bytes may be lost"
