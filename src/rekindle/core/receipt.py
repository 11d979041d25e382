"""What a resume proved: judged from the agent's own record, and never better than it."""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.core.session.facts import AnyFact, Compared, Cut, Named, Opened, Receipt
from rekindle.core.session.marks import in_both
from rekindle.core.session.state import Attempt, Prompt, Session, conversation_begun, cut_of, prompts_in


def receipt(before: Session, fact: AnyFact) -> Receipt | None:
    """The receipt that a fact gives rise to; None: it says nothing about a resume.

    `before` is the session as it was before the fact. A receipt may be followed by a better founded one.
    """
    attempt = before.attempt
    if attempt is None or not _earlier(before, attempt):
        return None
    match fact:
        case Opened(how="new"):
            return _new(before, attempt)
        case Opened(proof="replay"):
            known = in_both(fact.known or [], attempt.known)
            return _shown(before, attempt, known, "the agent's own record has every earlier prompt")
        case Opened():
            return _not_yet(before, attempt)
        case Named() if attempt.how == "load" and fact.token != attempt.token:
            why = f"the agent was asked for {attempt.token} and is in {fact.token}"
            return Receipt(kind="fresh", reason=f"another conversation, without the history: {why}")
        case Compared() if attempt.how == "load" and attempt.named in (None, attempt.token):
            return _compared(before, attempt, fact)
        case _:
            return None


def _earlier(session: Session, attempt: Attempt) -> list[Prompt]:
    """What a person had said before this attempt."""
    return [one for one in session.prompts if one.by == "user" and 0 < one.attempt < attempt.number]


def _cut(session: Session, attempt: Attempt) -> tuple[Prompt | None, Cut | None]:
    """The turn that was cut off in the attempt before, whatever has become of it since."""
    before = next((one for one in reversed(session.attempts) if one.number < attempt.number), None)
    if before is None or before.cut is None:
        return None, None
    turn = session.turn
    if turn is None or turn.state != "cut":
        turn = next((one for one in session.prompts if one.attempt == before.number and "cut off" in one.outcome), None)
    return turn, before.cut if turn is None else cut_of(session, turn)


def _unknown(session: Session, attempt: Attempt) -> list[str]:
    _, cut = _cut(session, attempt)
    tools = [f"was started, outcome unknown: {tool}" for tool in cut.tools] if cut is not None else []
    return [*tools, *attempt.notes]


def _new(session: Session, attempt: Attempt) -> Receipt:
    why = attempt.why or (
        "the agent cannot load a conversation" if not session.can_load else "the agent has lost the conversation"
    )
    unknown = _unknown(session, attempt)
    if attempt.history:
        return Receipt(
            kind="rebuilt", reason=f"a new conversation, told the history of the old: {why}", unknown=unknown
        )
    return Receipt(kind="fresh", reason=f"a new conversation, without the history: {why}", unknown=unknown)


def _not_yet(session: Session, attempt: Attempt) -> Receipt:
    """The agent is there, and only its next turn can show that it remembers."""
    if attempt.known is None:
        reason = "the agent's own record could not be read; the next turn may show more"
    else:
        reason = f"the agent's own record has {len(attempt.known)} prompts; the next turn will show that it goes on"
    return Receipt(kind="unproven", reason=reason, unknown=_unknown(session, attempt))


def _compared(session: Session, attempt: Attempt, fact: Compared) -> Receipt:
    if fact.extends is None:
        reason = f"the agent's own record could not be compared: {fact.why}"
        return Receipt(kind="unproven", reason=reason, unknown=_unknown(session, attempt))
    if not fact.extends:
        reason = f"the agent's own record does not go on from what it was: {fact.why}"
        return Receipt(kind="unproven", reason=reason, unknown=_unknown(session, attempt))
    return _shown(
        session, attempt, fact.known, "the agent's own record goes on from what it was, with every earlier prompt"
    )


def _shown(session: Session, attempt: Attempt, known: Sequence[str], proved: str) -> Receipt:
    """What a record that shows `known` proves."""
    unknown = _unknown(session, attempt)
    if not known:
        return Receipt(
            kind="unproven", reason="the agent showed nothing of its record of the conversation", unknown=unknown
        )
    turn, _ = _cut(session, attempt)
    begun = conversation_begun(session, attempt)
    finished = [
        one for one in _earlier(session, attempt) if one.attempt >= begun and (turn is None or one.id != turn.id)
    ]
    there = prompts_in(session, known)
    missing = [one for one in finished if one.id not in there]
    if missing:
        reason = f"the agent's record lacks {len(missing)} of {len(finished)} earlier prompts"
        return Receipt(kind="unproven", reason=reason, unknown=unknown)
    if not there:
        reason = "the agent's record has nothing of what was said here"
        return Receipt(kind="unproven", reason=reason, unknown=unknown)
    again = turn is not None and turn.attempt < attempt.number and turn.id not in there
    repeated = [f"not in the agent's record: {turn.text[:200]}"] if again and turn is not None else []
    return Receipt(kind="same", reason=proved, unknown=unknown, repeated=repeated)
