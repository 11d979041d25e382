"""What a report says about a session besides its single facts: returns, waits, its bill, and what is open. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from rekindle.core.report.contents import Phase, ReportLine, Span, Standing, Story
from rekindle.core.report.evidence import Cited
from rekindle.core.report.walking import WalkedSession
from rekindle.core.report.words import counted, in_words, span
from rekindle.core.session.facts import Receipt
from rekindle.core.session.listing import Listing, listing
from rekindle.core.session.state import Session, State
from rekindle.core.terminal_text import quoted

_RECEIPTS: Final = {
    "same": "back in the same conversation",
    "rebuilt": "back in a new conversation that was told the history",
    "fresh": "a fresh start, without the history",
    "unproven": "back; not proved to be the same conversation",
}
_WAITED: Final[dict[Phase, str]] = {
    "asking": "for an answer",
    "limit": "for a limit of its service",
    "cut": "to be brought back",
    "held": "on hold",
    "queued": "for its agent",
}
#: The words of a list that mean that a session is not finished.
_OPEN: Final = ("starting", "working", "checking", "asking", "paused", "queued", "interrupted")


def story(walked: WalkedSession, now: Listing | None) -> Story:
    """The session over time."""
    session = walked.session
    assert session is not None
    return Story(
        session.id,
        walked.title,
        session.agent,
        session.job,
        session.feature or "",
        session.task or "",
        now.status if now is not None else "",
        tuple(walked.spans.within(walked.window)),
        tuple(walked.cuts),
        tuple(at for _, at, _ in walked.opened),
    )


def returned(walked: WalkedSession) -> Iterator[ReportLine]:
    """Each time the agent was back, with what that proved."""
    name = walked.source.id
    for attempt, at, seq in walked.opened:
        place, receipt = walked.receipts.get(attempt, (0, None))
        if receipt is None:
            ref = Cited("exit", "session", name, f"attempt {attempt}", seq)
            yield walked.line("resumed", at, "started again; there was nothing to prove yet", ref)
            continue
        ref = Cited("receipt", "session", name, f"of attempt {attempt}", place)
        standing: Standing = "unknown" if receipt.kind == "unproven" else "proved"
        text = f"{_RECEIPTS[receipt.kind]}: {in_words(receipt.reason)}{_unknown(receipt)}"
        yield walked.line("resumed", at, text, ref, standing=standing, receipt=receipt.kind)


def _unknown(receipt: Receipt) -> str:
    number = len(receipt.unknown) + len(receipt.repeated)
    return f" ({counted(number, 'thing')} of unknown outcome)" if number else ""


def waited(walked: WalkedSession) -> Iterator[ReportLine]:
    """Each stretch of time in which the session waited for something."""
    session = walked.session
    assert session is not None
    for one in walked.spans.within(walked.window):
        if one.phase in _WAITED and one.until - one.since >= 1.0:
            ref = Cited("record", "session", session.id, f"fact {one.seq}", one.seq)
            asked = _question(session, one) if one.phase == "asking" else None
            text = f"{span(one.until - one.since)} {_WAITED[one.phase]}"
            if asked is not None:
                ref = Cited("question", "session", session.id, asked[0], one.seq)
                text = f"{text}: {in_words(asked[1])}"
            yield walked.line("waited", one.since, text, ref, seconds=one.until - one.since)


def _question(session: Session, one: Span) -> tuple[str, str] | None:
    """The question that was open in a stretch of time: its id, and how it went."""
    for settled in session.settled:
        if one.since < settled.at <= one.until + 1.0:
            how = f"answered {settled.option} by {settled.by}" if settled.how == "answered" else "nobody answered"
            return settled.id, f"{settled.title} ({how})"
    if session.escalation is not None:
        return session.escalation.id, session.escalation.title
    asked = next((each for each in session.permissions if not each.answered), None)
    return (asked.id or asked.request, asked.title) if asked is not None else None


def spent(walked: WalkedSession) -> Iterator[ReportLine]:
    """What the session has used in the window."""
    if not walked.paid and not walked.unpriced:
        return
    cost, tokens = round(sum(one.cost for one in walked.paid), 9), sum(one.tokens for one in walked.paid)
    last = next((one for one in reversed(walked.turns.found) if one.sent_at < walked.window.until), None)
    name = walked.source.id
    ref = walked.evidence_of(last) if last is not None else Cited("record", "session", name, "its usage")
    unpriced = len(walked.unpriced)
    text = f"{tokens:,} tokens" if tokens or not unpriced else "tokens unknown"
    if unpriced:
        text += f"; the cost of {counted(unpriced, 'turn')} is unknown: the agent does not report it"
    at = max((one.at for one in walked.paid), default=last.sent_at if last is not None else walked.window.since)
    line = walked.line("spent", at, text, ref, standing="unknown" if unpriced else "proved")
    known = None if unpriced and not cost else cost
    yield replace(line, cost=known, tokens=tokens)


def now_of(walked: WalkedSession) -> Listing | None:
    """The session as a list shows it at the end of the window."""
    session = walked.session
    if session is None:
        return None
    alive = session.is_up if walked.source.alive is None else walked.source.alive
    return listing(session, walked.window.until, alive=alive)


def still_open(walked: WalkedSession, now: Listing) -> Iterator[ReportLine]:
    """That the session is not finished, and why. One that failed is told of when it fails, and not for ever."""
    session = walked.session
    assert session is not None
    is_old_failure = session.state is State.FAILED and not walked.is_concerned
    if is_old_failure or not (now.needs_you or now.status in _OPEN):
        return
    ref = Cited("record", "session", session.id, f"fact {walked.last_seq}", walked.last_seq)
    asked = session.escalation or next((one for one in session.permissions if not one.answered), None)
    if asked is not None and asked.id:
        ref = Cited("question", "session", session.id, asked.id, walked.last_seq)
    why = in_words(now.why)
    text = why if why and now.status == "asking" else f"{now.status}: {why}" if why else now.status
    line = walked.line("open", session.changed_at, text, ref)
    yield replace(line, needs_you=now.needs_you, next=now.next)


def to_merge(walked: WalkedSession, now: Listing) -> Iterator[ReportLine]:
    """The command that merges what the session has committed on a branch of its own."""
    session, states = walked.session, walked.source.states
    assert session is not None
    heads = [one.head for one in states if one.head]
    is_at_rest = now.status not in _OPEN
    if not (walked.is_concerned and session.branch and is_at_rest and not session.of_run and len(set(heads)) > 1):
        return
    ref = Cited("commit", "session", session.id, heads[-1])
    place = session.repository or session.cwd
    where = f"{session.branch} has commits that you can merge (in {in_words(place)})"
    line = walked.line("next", session.changed_at, where, ref)
    yield replace(line, next=f"git merge {quoted(session.branch)}")
