"""What a resume proved: judged from the agent's own record, and never better than it."""

from __future__ import annotations

from rekindle.core.session.facts import Opened, Receipt
from rekindle.core.session.machine import Session, cut_of, has_prompt


def receipt(before: Session, opened: Opened) -> Receipt | None:
    """The receipt of the attempt that has just opened its conversation; None for a first start.

    `before` is the session as it was when the agent said that it was ready.
    """
    earlier = [prompt for prompt in before.prompts if prompt.attempt and prompt.by == "user"]
    if not earlier:
        return None
    turn = before.turn
    cut = cut_of(before, turn) if turn is not None and turn.state == "cut" else None
    unknown = [f"was started, outcome unknown: {tool}" for tool in cut.tools] if cut is not None else []
    if opened.how == "new":
        why = "the agent cannot load a conversation" if not before.can_load else "the agent has lost the conversation"
        return Receipt(kind="fresh", reason=f"a new conversation, without the history: {why}", unknown=unknown)
    if not opened.known:
        return Receipt(
            kind="unproven", reason="the agent showed nothing of its record of the conversation", unknown=unknown
        )
    finished = [prompt for prompt in earlier if prompt is not turn]
    missing = [prompt for prompt in finished if not has_prompt(before, prompt, opened.known)]
    if missing:
        return Receipt(
            kind="unproven",
            reason=f"the agent's record lacks {len(missing)} of {len(finished)} earlier prompts",
            unknown=unknown,
        )
    again = turn is not None and turn.state == "cut" and not has_prompt(before, turn, opened.known)
    repeated = [f"not in the agent's record: {turn.text[:200]}"] if again and turn is not None else []
    return Receipt(
        kind="same", reason="the agent's own record has every earlier prompt", unknown=unknown, repeated=repeated
    )
