"""What becomes of a turn that was cut, once the agent has opened a conversation again. Pure."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.continuation import continuation
from rekindle.core.session.marks import mark
from rekindle.core.session.outstanding import last_worked, untold_tools
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.state import (
    OURS,
    Attempt,
    Prompt,
    Session,
    cut_of,
    prompts_in,
    queued_first,
    task_of,
    with_prompt,
)

#: So much stays of the last words of an attempt that is long over.
_SAID_BEFORE: Final = 200


def settled(session: Session, fact: f.Opened) -> Session:
    """Decide, now that the agent's own record is known, what becomes of a prompt whose turn was cut.

    The record has it: the agent is told to go on (a prompt of our own, queued first). The record lacks it and nothing
    was said or started: it is sent again. Anything else cannot be decided from here, so a person is asked.
    """
    turn = session.turn
    if turn is None or turn.state != "cut":
        return session
    cut, attempt = cut_of(session, turn), session.attempts[-1]
    known = fact.known if fact.known is not None else attempt.known or []
    same = fact.how == "load" and turn.id in prompts_in(session, known)
    if same or (attempt.history and (cut.said or cut.tools) and not session.queued):
        task = task_of(session, turn)
        every = [tool.words for tool in untold_tools(session, fact.attempt)]
        text = continuation(task.text, replace(cut, tools=every), attempt.changed, same=same, said=attempt.said)
        told = Prompt(derived(task.id, str(fact.attempt)), text, fact.at, by=OURS, of=task.id)
        outcome = "cut off; the agent was told to go on"
        over = with_prompt(session, turn.id, state="failed", outcome=outcome, cut="known" if same else "lost")
        return queued_first(let_go(over, turn.id), told)
    if not cut.said and not cut.tools:
        return with_prompt(session, turn.id, state="queued")
    outcome = "cut off; the agent's record does not have it"
    lost = let_go(with_prompt(session, turn.id, state="failed", outcome=outcome, cut="lost"), turn.id)
    return replace(lost, message="the last prompt was cut off, and the agent does not remember it: say how to go on")


def cut_attempts(session: Session) -> list[int]:
    """The attempts in which the turn that is to go on, or one that it goes on with, was cut off; oldest first.

    Only those since a turn last ended well: what was said before that, the agent has answered for.
    """
    turn = session.turn
    if turn is None or turn.state != "cut":
        return []
    task = task_of(session, turn)
    since = last_worked(session, session.attempts[-1].number + 1)
    same = (one for one in session.prompts if task.id in (one.id, one.of) and one.cut != "no")
    return sorted({one.attempt for one in same if one.attempt >= since})


def let_go(session: Session, prompt: str) -> Session:
    """Keep no more of a prompt of our own that is over than it takes to find it in a record: it may quote very much."""
    one = next(one for one in session.prompts if one.id == prompt)
    return with_prompt(session, prompt, text=mark(one.text)) if one.by == OURS else session


def shortened(session: Session) -> list[Attempt]:
    """The attempts so far. Of those before the last only a turn that is still cut needs all that was said in it."""
    turn = session.turn
    needed = {turn.attempt if turn is not None else 0, session.attempts[-1].number if session.attempts else 0}
    return [
        replace(one, cut=replace(one.cut, said=one.cut.said[-_SAID_BEFORE:]))
        if one.cut is not None and one.number not in needed
        else one
        for one in session.attempts
    ]
