"""What happens to a turn that was cut off, once the agent has opened a conversation again. Pure."""

from __future__ import annotations

from math import inf
from typing import Literal

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.continuation import continuation
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.outstanding import last_worked, untold_tools
from rekindle.core.session.overflow import is_question
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.state import OURS, Prompt, Session, cut_of, prompts_in, task_of


def after_opening(before: Session, fact: f.Opened) -> list[AnyFact]:
    """Decide, now that the agent's own record is known, what happens to a prompt whose turn was cut off.

    If the record has it, the agent is told to continue (a prompt of our own, queued first). If the record lacks it and
    nothing was said or started, it is sent again. Anything else cannot be decided from here, so a person is asked.
    """
    turn = before.turn
    if turn is None or turn.state != "cut":
        return []
    if is_question(turn):  # somebody has stopped the agent in it; where it is still due, it is asked again
        outcome = "cut off; nobody waits for the summary any more"
        return [f.TurnSettled(at=fact.at, prompt=turn.id, to="failed", outcome=outcome, cut="lost")]
    cut, attempt = cut_of(before, turn), before.attempts[-1]
    known = fact.known if fact.known is not None else attempt.known or []
    same = fact.how == "load" and turn.id in prompts_in(before, known)
    if same or (attempt.history and cut.had_begun and not _was_told_how(before, turn)):
        task = task_of(before, turn)
        every = [tool.words for tool in untold_tools(before, fact.attempt)]
        text = continuation(task.text, replace(cut, tools=every), attempt.changed, same=same, said=attempt.said)
        told = before.rules.of("dead")[0]
        if told.action == "resume" and told.append and told.message:
            text = f"{text}\n{told.message}"
        outcome = "cut off; the agent was told to go on"
        cut_as: Literal["known", "lost"] = "known" if same else "lost"
        return [
            f.TurnSettled(at=fact.at, prompt=turn.id, to="failed", outcome=outcome, cut=cut_as),
            f.PromptQueued(
                at=fact.at, prompt=derived(task.id, str(fact.attempt)), text=text, by=OURS, of=task.id, first=True
            ),
        ]
    if not cut.had_begun:
        return [f.TurnSettled(at=fact.at, prompt=turn.id, to="queued")]
    outcome = "cut off; the agent's record does not have it"
    why = "the last prompt was cut off, and the agent does not remember it: say how to go on"
    return [f.TurnSettled(at=fact.at, prompt=turn.id, to="failed", outcome=outcome, cut="lost", why=why)]


def _was_told_how(session: Session, turn: Prompt) -> bool:
    """Whether somebody has said how to continue since an agent refused to: that stands in for the turn.

    What was queued before that was meant to come after the turn, and does.
    """
    refused = [one.opened_at for one in session.attempts if one.number > turn.attempt and one.refused]
    return any(one.by != OURS and one.at >= min(refused, default=inf) for one in session.queued)


def cut_attempts(session: Session) -> list[int]:
    """The attempts in which the turn to continue, or one that it continues, was cut off; oldest first.

    Only those since a turn last ended well: the agent has answered for what was said before that.
    """
    turn = session.turn
    if turn is None or turn.state != "cut":
        return []
    task = task_of(session, turn)
    since = last_worked(session, session.attempts[-1].number + 1)
    same = (one for one in session.prompts if task.id in (one.id, one.of) and one.cut != "no")
    return sorted({one.attempt for one in same if one.attempt >= since})
