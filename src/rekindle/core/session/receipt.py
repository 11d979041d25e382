"""What a resume proved: judged by the agent's own record, and never better than that.

A receipt is cumulative: it names everything since the last one that was proved and acted on (`outstanding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from rekindle.core.session.facts import AnyFact, Compared, Due, Named, Opened, Receipt
from rekindle.core.session.history import TITLE
from rekindle.core.session.outstanding import is_host_told, not_in, outstanding
from rekindle.core.session.prompt_marks import in_both
from rekindle.core.session.state import Attempt, Prompt, Session, conversation_begun, prompts_in


def receipt(before: Session, fact: AnyFact) -> Receipt | None:
    """The receipt that a fact leads to; None: the fact says nothing about a resume.

    `before` is the session as it was before the fact. A receipt may be followed by a better one.
    """
    attempt = before.attempt
    if attempt is None or not _earlier(before, attempt):
        return None
    found = _judged(before, attempt, fact)
    return found if found is None else _with_host(before, attempt, found)


def _with_host(session: Session, attempt: Attempt, found: Receipt) -> Receipt:
    """Which host it was on, and what of it may be missing, until a receipt has said so of the same conversation."""
    change = session.host_change
    if change is None or attempt.number <= change.lost:
        return found
    if is_host_told(session, attempt.number):
        return found
    reason = f"{found.reason}; it was on host {change.before} and is on {change.host} now"
    unknown = [*found.unknown, *(f"may be missing: {one}" for one in change.missing)]
    return replace(found, reason=reason, unknown=unknown)


def _judged(before: Session, attempt: Attempt, fact: AnyFact) -> Receipt | None:
    match fact:
        case Opened(how="new"):
            return _new(before, attempt)
        case Opened() if fact.lacks:
            reason = f"what the agent has loaded is not proved to be whole: {fact.lacks}"
            return _not_same(before, attempt, "unproven", reason)
        case Opened(proof="replay"):
            known = in_both(fact.known or [], attempt.known)
            return _shown(before, attempt, known, "the agent's own record has every earlier prompt")
        case Opened():
            return _not_yet(before, attempt)
        case Named() if attempt.how == "load" and fact.token != attempt.token:
            why = f"the agent was asked for {attempt.token} and is in {fact.token}"
            return _not_same(before, attempt, "fresh", f"another conversation, without the history: {why}")
        case Compared() if attempt.how == "load" and attempt.named in (None, attempt.token):
            return _compared(before, attempt, fact)
        case Due(timer="proof"):
            reason = "the agent has not written its own record of the last turn yet"
            return _not_same(before, attempt, "unproven", reason)
        case _:
            return None


def _earlier(session: Session, attempt: Attempt) -> list[Prompt]:
    """What a person had said before this attempt."""
    return [one for one in session.prompts if one.by == "user" and 0 < one.attempt < attempt.number]


def _histories(session: Session, attempt: Attempt, begun: int) -> list[Prompt]:
    """What this conversation was told of an earlier one, in turns that ended: it is a part of what it knows."""
    told = [one for one in session.prompts if one.by != "user" and one.text.startswith(TITLE)]
    here = [one for one in told if begun <= one.attempt < attempt.number]
    return [one for one in here if one.cut in ("no", "known") and one.state != "queued"]


def _open_lines(session: Session, attempt: Attempt) -> list[str]:
    """Everything that is not known since the last receipt that was proved and acted on."""
    return outstanding(session, attempt.number).lines(attempt.number)


def _repeated(session: Session, attempt: Attempt, there: set[str]) -> list[str]:
    """The prompts that a record with those in `there` lacks, plus those that earlier receipts had to name."""
    lacking = not_in(session, there, conversation_begun(session, attempt), attempt.number)
    before = outstanding(session, attempt.number).repeated
    return list(dict.fromkeys([*before, *(f"not in the agent's record: {one.text[:200]}" for one in lacking)]))


def _new(session: Session, attempt: Attempt) -> Receipt:
    why = attempt.why or (
        "the agent cannot load a conversation" if not session.can_load else "the agent has lost the conversation"
    )
    if attempt.given:
        behind = f"; left behind: {attempt.behind}" if attempt.behind else ""
        return _not_same(session, attempt, "rebuilt", f"a new conversation, told {attempt.given}: {why}{behind}")
    if attempt.history:
        return _not_same(session, attempt, "rebuilt", f"a new conversation, told the history of the old: {why}")
    return _not_same(session, attempt, "fresh", f"a new conversation, without the history: {why}")


def _not_same(
    session: Session, attempt: Attempt, kind: Literal["rebuilt", "fresh", "unproven"], reason: str
) -> Receipt:
    found = outstanding(session, attempt.number)
    return Receipt(kind=kind, reason=reason, unknown=found.lines(attempt.number), repeated=found.repeated)


def _not_yet(session: Session, attempt: Attempt) -> Receipt:
    """The agent is there, and only its next turn can show that it remembers."""
    if attempt.known is None:
        reason = "the agent's own record could not be read; the next turn may show more"
        return _not_same(session, attempt, "unproven", reason)
    reason = f"the agent's own record has {len(attempt.known)} prompts; the next turn will show that it goes on"
    lacking = _repeated(session, attempt, prompts_in(session, attempt.known))
    return Receipt(kind="unproven", reason=reason, unknown=_open_lines(session, attempt), repeated=lacking)


def _compared(session: Session, attempt: Attempt, fact: Compared) -> Receipt:
    if fact.extends is None:
        reason = f"the agent's own record could not be compared: {fact.why}"
        return _not_same(session, attempt, "unproven", reason)
    if not fact.extends:
        reason = f"the agent's own record does not go on from what it was: {fact.why}"
        return _not_same(session, attempt, "unproven", reason)
    if fact.lacks:
        return _not_same(session, attempt, "unproven", f"the agent has gone on without {fact.lacks}")
    return _shown(
        session, attempt, fact.known, "the agent's own record goes on from what it was, with every earlier prompt"
    )


def _shown(session: Session, attempt: Attempt, known: Sequence[str], proved: str) -> Receipt:
    """What a record that shows `known` proves.

    A prompt whose turn was cut off may be missing: it is named, and either sent again or a person is asked. One that is
    queued (again) cannot be there. Every other one has to be.
    """
    if not known:
        return _not_same(session, attempt, "unproven", "the agent showed nothing of its record of the conversation")
    begun = conversation_begun(session, attempt)
    said = [one for one in _earlier(session, attempt) if one.attempt >= begun]
    due = [one for one in said if one.cut in ("no", "known") and one.state != "queued"]
    there = prompts_in(session, known)
    if any(one.id not in there for one in _histories(session, attempt, begun)):
        return _not_same(session, attempt, "unproven", "the agent's record lacks the history that it was told")
    missing = [one for one in due if one.id not in there]
    if missing:
        reason = f"the agent's record lacks {len(missing)} of {len(due)} earlier prompts"
        return _not_same(session, attempt, "unproven", reason)
    if not there:
        return _not_same(session, attempt, "unproven", "the agent's record has nothing of what was said here")
    lost = sum(one.cut == "lost" and one.id not in there for one in said)
    reason = f"{proved} but for {lost} that were cut off and lost" if lost else proved
    unknown, repeated = _open_lines(session, attempt), _repeated(session, attempt, there)
    return Receipt(kind="same", reason=reason + _compacted(attempt), unknown=unknown, repeated=repeated)


def _compacted(attempt: Attempt) -> str:
    """What the same conversation lacks nevertheless, as the end of a sentence."""
    if not attempt.compacted_before:
        return ""
    return "; the agent had compacted the conversation, so its model gets a summary of what came before, or nothing"
