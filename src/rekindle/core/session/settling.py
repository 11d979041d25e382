"""What becomes of a turn that was cut, once the agent has opened a conversation again. Pure."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.continuation import continuation
from rekindle.core.session.outstanding import untold_tools
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
        text = continuation(task.text, replace(cut, tools=every), attempt.changed, same=same)
        told = Prompt(derived(task.id, str(fact.attempt)), text, fact.at, by=OURS, of=task.id)
        outcome = "cut off; the agent was told to go on"
        return queued_first(
            with_prompt(session, turn.id, state="failed", outcome=outcome, cut="known" if same else "lost"), told
        )
    if not cut.said and not cut.tools:
        return with_prompt(session, turn.id, state="queued")
    outcome = "cut off; the agent's record does not have it"
    lost = with_prompt(session, turn.id, state="failed", outcome=outcome, cut="lost")
    return replace(lost, message="the last prompt was cut off, and the agent does not remember it: say how to go on")


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
