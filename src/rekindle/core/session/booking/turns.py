"""What a fact about a prompt, or about the turn that it began, changes in a session. Pure."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.booking import questions
from rekindle.core.session.booking.spending import spent, taken_by, used
from rekindle.core.session.facts import Usage
from rekindle.core.session.shortening import let_go
from rekindle.core.session.staleness import progress
from rekindle.core.session.state import OURS, Prompt, Session, queued_first, reordered, with_attempt, with_prompt


def booked(session: Session, fact: f.TurnFact) -> Session:
    """The session with one more fact of a prompt or its turn."""
    match fact:
        case f.PromptQueued():
            if any(prompt.id == fact.prompt for prompt in session.prompts):
                return session
            prompt = Prompt(fact.prompt, fact.text, fact.at, by=fact.by, of=fact.of, after=fact.after, limit=fact.limit)
            told = session if fact.by == OURS else replace(questions.told_more(session, fact.at), gate=None)
            wanted = replace(told, is_foreign=session.is_foreign and fact.by == OURS)
            return queued_first(wanted, prompt) if fact.first else replace(wanted, prompts=[*session.prompts, prompt])
        case f.PromptSent():
            once = replace(questions.decided_otherwise(session, fact.at), gate=None)
            once = with_attempt(once, lambda a: replace(a, history=""))
            sent = with_prompt(
                once, fact.prompt, state="sent", attempt=fact.attempt, message=fact.message, text=fact.text
            )
            # It has waited long enough: if it has to be sent again, a clock that was set back makes it wait no more.
            return with_prompt(sent, fact.prompt, sent_at=fact.at, usage=None, cut="no", after=None)
        case f.TurnBegan():
            return with_prompt(session, fact.prompt, state="began")
        case f.Spent():
            is_news = fact.usage.tokens > (spent(session, fact.prompt) or Usage()).tokens
            return with_prompt(session, fact.prompt, usage=fact.usage) if is_news else session
        case f.CancelAsked():
            if fact.prompt in {prompt.id for prompt in session.queued}:
                return with_prompt(session, fact.prompt, state="cancelled")
            running = progress(session, fact.prompt) in ("sent", "began")
            return replace(session, cancel_asked=fact.prompt) if running else session
        case f.PromptEdited():
            mine = {prompt.id for prompt in session.queued if prompt.by != OURS}
            return with_prompt(session, fact.prompt, text=fact.text) if fact.prompt in mine else session
        case f.PromptsReordered():
            return reordered(session, fact.prompts)
        case f.TurnFinished() | f.TurnFailed():
            return _over(session, fact)
        case f.Stalled():
            return session
        case f.FilesChanged():
            return replace(session, changed_snapshot=fact.snapshot)
        case _:
            assert_never(fact)


def _over(session: Session, fact: f.TurnFinished | f.TurnFailed) -> Session:
    """Book how a turn ended, and what it used."""
    usage = taken_by(session, fact)
    if isinstance(fact, f.TurnFinished):
        done = with_prompt(session, fact.prompt, state="done", outcome=fact.stop_reason, usage=usage)
        over = replace(questions.turn_over(done, fact.at), message="", retry_at=None, dehydrated=False)
    else:
        told = f"{fact.error}: {fact.message}"
        failed = with_prompt(session, fact.prompt, state="failed", outcome=told, usage=usage)
        over = replace(questions.turn_over(failed, fact.at), message=told, retry_at=fact.retry_at)
    return used(let_go(replace(over, cancel_asked=None), fact.prompt), usage)
