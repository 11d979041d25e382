"""Questions that rekindle asks about a session: when, with which options, and what an answer leads to. Pure.

A person is asked once about each trigger until there is progress. The task of a feature is left to the feature's run,
which decides about it itself.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.runbook.triggers import Trigger
from rekindle.core.session import facts as f
from rekindle.core.session.choosing import newest_turn
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.history import request_of
from rekindle.core.session.limits import raised
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.quoting import quoted
from rekindle.core.session.state import OURS, Escalation, Session, nothing_ever_ran, task_of

#: What an agent is told to make it continue, if nobody has said anything else.
GO_ON: Final = "Go on with your task. If it is finished, say so."
_RESUME: Final = ("resume", "Start the agent again in the same conversation", "go")
_ANEW: Final = "Start the agent again in a new conversation, which is told the history"
_RETRY: Final = ("resume", "Try again in the same conversation", "go")
_NUDGE: Final = ("nudge", "Tell the agent to go on", "go")
_RAISE: Final = ("raise", "Double the limit and go on", "go")
_DONE: Final = ("done", "The task is finished", "done")
_FAIL: Final = ("fail", "Give the task up", "fail")
_LEAVE: Final = ("leave", "Leave it as it is", "leave")
_OPTIONS: Final[dict[Trigger, tuple[tuple[str, str, str], ...]]] = {
    "idle": (_NUDGE, _DONE, _FAIL, ("leave", "Put the agent to sleep", "leave")),
    "dead": (_RESUME, _DONE, _FAIL, _LEAVE),
    "error": (_RETRY, _FAIL, _LEAVE),
    "stall": (("resume", "End the turn and tell the agent to go on", "go"), _FAIL, ("leave", "Wait on", "leave")),
    "ask": (_LEAVE,),
    "limit": (_RAISE, _FAIL, _LEAVE),
    "context": (_LEAVE,),
}
_OTHERWISE: Final[dict[Trigger, str]] = {
    "idle": "the agent stays up and idle",
    "dead": "the session stays interrupted; a prompt or `rekindle resume` brings it back",
    "error": "the session waits for a prompt",
    "stall": "the agent is left alone",
    "ask": "the agent waits",
    "limit": "the session stays stopped",
    "context": "the agent goes on in its conversation",
}


def escalation(
    session: Session, trigger: Trigger, title: str, at: float, *, what: str = "", detail: str = "", gate: bool = False
) -> list[AnyFact]:
    """The question whether and how the session continues, unless it has been asked. `gate`: a command said no."""
    budget = ":".join(one for one in (trigger, what, "escalate") if one)
    if session.escalation is not None or session.spent.get(budget, 0) or session.of_run:
        return []
    if session.is_left_to_job and (trigger == "dead" or what == "session_lost"):
        return []
    options = _OPTIONS[trigger]
    is_lost = session.token is None or what == "session_lost"
    if is_lost and trigger in ("dead", "error") and not nothing_ever_ran(session):
        options = (("resume", _ANEW, "go"), *options[1:])
    if gate:
        leave = _OPTIONS[trigger][-1]
        options = (("resume", "Tell the agent what the command said, and go on", "go"), _DONE, _FAIL, leave)
    turn = session.turn
    return [
        f.BudgetSpent(at=at, budget=budget),
        f.Escalated(
            at=at,
            trigger=trigger,
            attempt=session.attempt.number if session.attempt is not None else 0,
            title=title,
            detail=detail,
            prompt=turn.id if turn is not None else "",
            options=list(options),
            recommended=options[0][0],
            otherwise=_OTHERWISE[trigger],
        ),
    ]


def after_answer(before: Session, fact: f.EscalationAnswered, after: Session) -> list[AnyFact]:
    """What an answer to such a question leads to."""
    asked = before.escalation
    if asked is None or asked.id != fact.question:
        return []
    match fact.option:
        case "resume" | "nudge":
            return _go_on(asked, fact, after)
        case "raise":
            higher = raised(after.limits, after.usage)
            return [*_said(fact, fact.text, after), f.ResumeAsked(at=fact.at, by=fact.by, limits=higher)]
        case "done":
            return [f.StopAsked(at=fact.at, by=fact.by, to="completed")]
        case "fail":
            return [f.StopAsked(at=fact.at, by=fact.by, to="failed", why=f"given up: {asked.title}")]
        case "leave" if asked.trigger == "idle":
            return [f.StopAsked(at=fact.at, by=fact.by, to="asleep")]
        case _:
            return []


def _go_on(asked: Escalation, fact: f.EscalationAnswered, after: Session) -> list[AnyFact]:
    told = fact.text or (f"{asked.title}\n{asked.detail}\n{GO_ON}" if asked.detail else "")
    if asked.trigger == "dead" or not after.is_up:
        waits = asked.trigger == "error" and not told  # nothing was cut: it has to be told something
        return [*_said(fact, _again(asked, after) if waits else told, after), f.ResumeAsked(at=fact.at, by=fact.by)]
    turn = after.turn
    stop = [f.CancelAsked(at=fact.at, prompt=turn.id)] if asked.trigger == "stall" and turn is not None else []
    return [*stop, *_said(fact, told or (_again(asked, after) if asked.trigger == "error" else GO_ON), after)]


def _again(asked: Escalation, session: Session) -> str:
    """What an agent is told whose turn failed, so that it knows its task also where it has forgotten the turn."""
    newest = newest_turn(session)
    task = request_of(task_of(session, newest).text) if newest is not None else ""
    lines = [f"Your last turn ended early: {asked.title}. Try again."]
    lines += [f"What you were asked: {quoted(task, 4000)}"] if task else []
    return "\n".join([*lines, "Check the state of the files before you repeat anything."])


def _said(fact: f.EscalationAnswered, text: str, session: Session) -> list[AnyFact]:
    if not text:
        return []
    newest = newest_turn(session)
    of = "" if fact.text or newest is None else newest.of or newest.id
    return [f.PromptQueued(at=fact.at, prompt=derived(fact.question, "a"), text=text, by=fact.by, of=of)]


def conclusion(at: float, to: str, why: str) -> list[AnyFact]:
    """The task is finished, or has failed, according to a rule."""
    return [f.StopAsked(at=at, by=OURS, to="completed" if to == "done" else "failed", why=why)]
