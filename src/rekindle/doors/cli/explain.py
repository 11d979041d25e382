"""`rekindle resume --explain`: what is known, what would be done, and why. Acts on nothing."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from rekindle.core.session.outstanding import outstanding
from rekindle.core.session.plan import is_cut, next_attempt
from rekindle.core.session.state import Session
from rekindle.core.terminal_text import printable
from rekindle.keeper import launch


def explain(told: dict[str, Any], sessions: str) -> dict[str, Any]:
    """Evidence, decision and reasons, as an object with a text for people."""
    session = msgspec.convert(told["session"], Session)
    attempt = session.attempt
    folder = os.path.join(sessions, session.id, str(attempt.number)) if attempt is not None else ""
    alive = bool(folder) and launch.is_alive(folder)
    coming = next_attempt(session)
    turn = session.turn
    evidence = [f"state {session.state}, {told['status']}"]
    evidence.extend(f"its archive: {line}" for line in session.imported)
    if attempt is not None:
        ended = f", {attempt.how_ended}" if attempt.how_ended else ""
        evidence.append(
            f"attempt {attempt.number}: {attempt.status}{ended}; its keeper {'lives' if alive else 'is gone'}"
        )
    evidence.append(
        f"resume token: {session.token or 'none'}"
        + (" (the agent cannot load it, or is not trusted to)" if session.token and coming.how == "new" else "")
    )
    evidence.extend(
        f"prompt {one.id}: {one.outcome if one.state == 'failed' and one.outcome else one.state}"
        for one in session.prompts
        if one.state not in ("done", "cancelled")
    )
    evidence.extend(outstanding(session, coming.attempt).lines(coming.attempt))
    reasons: list[str] = []
    if session.is_up and alive:
        decision = "nothing"
        reasons.append("its agent is alive")
    elif coming.how == "load":
        decision = f"start attempt {coming.attempt} and load the conversation"
        reasons.append("there is a token, and the agent can load")
    else:
        decision = f"start attempt {coming.attempt} with a new conversation"
        reasons.append("there is no usable token")
    if turn is not None and turn.state == "cut":
        reasons.append(
            "a turn was cut: the agent is told to continue if its record has the prompt, else the prompt is sent again"
        )
    elif is_cut(session):
        reasons.append("prompts that were never sent are delivered")
    text = ["Evidence:", *(f"  {printable(line)}" for line in evidence), f"Decision: {decision}", "Because:"]
    text += [f"  {printable(line)}" for line in reasons]
    return {"id": session.id, "evidence": evidence, "decision": decision, "reasons": reasons, "text": text}
