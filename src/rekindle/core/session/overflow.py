"""What happens before a conversation no longer fits its model's context window: the agent is asked once for a summary,
and goes on in a new conversation that is told it. Pure.

The question is a prompt like any other, sent between two turns: nothing that the agent does is interrupted. It comes
before the next prompt, or at once in a skill session, which goes on by itself. However the turn ends (finished, failed,
cut off, too slow), the conversation is left, and never loaded again. Who makes the summary where the agent did not
manage one, and from what, is decided when the next attempt is prepared.

No loop: a conversation is not dehydrated again before a turn has ended well in it, and not more often than its rule
allows before there is visible work or a new prompt.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.choosing import chosen
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.state import OURS, TERMINAL, Prompt, Session
from rekindle.core.session.summary_marks import BEGIN, END, TITLE
from rekindle.core.session.values import ContextGauge

#: The budget of dehydrations. Visible work and people refill it, finished turns do not.
DEHYDRATIONS: Final = "dehydrations"
_WISHES: Final = (
    "summary: the goal, what is done, decisions with their reasons, what the user corrected, names and numbers",
    "lastAction: what you did last",
    "nextSteps: what comes next, in order (a list)",
    "requiredFiles: the files that are needed for it, 8 at most (a list of paths)",
    "handoverInstructions: what else whoever takes over must know (may be left out)",
    "userHistory: what the user said that still counts, word for word (may be left out)",
)


def is_question(prompt: Prompt) -> bool:
    """Whether a prompt asks the agent for a summary."""
    return prompt.by == OURS and prompt.text.startswith(TITLE)


def asks_for_summary(session: Session, prompt: str) -> bool:
    """The same, by the prompt's id."""
    return any(one.id == prompt and is_question(one) for one in session.prompts)


def question(gauge: ContextGauge, skill: str = "") -> str:
    """What the agent is asked."""
    lines = [
        TITLE,
        f"Its context window is {percent(gauge)} full. You go on with your work in a new conversation, which is told"
        " only what you write down now. Do nothing else in this turn.",
        "Write one JSON object with these keys:",
        *(f"- {wish}" for wish in _WISHES),
    ]
    if skill:
        lines += [
            f"Hand it over with this command, the object on standard input: rekindle session dehydrate {skill}",
            "If that is refused, put the object into your answer, between these two lines:",
        ]
    else:
        lines.append("Put it into your answer, between these two lines:")
    return "\n".join([*lines, BEGIN, END])


def percent(gauge: ContextGauge) -> str:
    """How full the window is, for people."""
    return f"{100 * gauge.share:.0f}%"


def is_full(session: Session) -> bool:
    """Whether the conversation has reached the share of its window from which on it is dehydrated."""
    most, gauge = session.limits.dehydrate_at, session.context
    return bool(most) and gauge is not None and gauge.share >= (most or 0.0)


def dehydration(session: Session, at: float) -> list[AnyFact]:
    """What to do about a conversation that is nearly full, if it is time."""
    gauge = session.context
    if gauge is None or not _is_time(session, gauge):
        return []
    what = "skill" if session.skill else "compacts" if session.compact is not None else ""
    held = chosen(session, "context", what)
    task = _task(session)
    match held.rule.action:
        case "dehydrate":
            told = f"its context window is {percent(gauge)} full: the agent is asked for a summary, and then goes on"
            name = _next_name(session, task, "y")
            text = question(gauge, session.skill)
        case "compact" if session.compact is not None:
            told = f"its context window is {percent(gauge)} full: the agent was told to shorten its conversation"
            name = _next_name(session, task, "k")
            text = session.compact
        case "escalate":
            told = f"its context window is full again, and it was dehydrated {held.spent} times without visible work:"
            return _once(session, at, f"{told} it goes on as it is")
        case _:
            return []
    return [
        f.Noticed(at=at, message=f"{told} in a new conversation" if held.rule.action == "dehydrate" else told),
        f.BudgetSpent(at=at, budget=held.budget),
        _before_the_next(session, f.PromptQueued(at=at, prompt=name, text=text, by=OURS, of=task.id, first=True)),
    ]


def _before_the_next(session: Session, prompt: f.PromptQueued) -> f.PromptQueued:
    """What comes before a prompt that has to wait, for the end of a limit or after an error, waits as long."""
    waits = next(iter(session.sendable), None)
    return prompt if waits is None else replace(prompt, after=waits.after, limit=waits.limit)


def _once(session: Session, at: float, told: str) -> list[AnyFact]:
    return [] if told in session.notices else [f.Noticed(at=at, message=told)]


def _is_time(session: Session, gauge: ContextGauge) -> bool:
    attempt = session.attempt
    if attempt is None or attempt.status != "ready" or attempt.given_up or not is_full(session):
        return False
    if session.token is None or session.token != gauge.token or session.terminal or session.state in TERMINAL:
        return False
    if session.turn is not None or session.stop_asked is not None or session.gate is not None or session.over:
        return False
    if session.on_hold or session.held or not any(one.state == "done" for one in session.prompts):
        return False
    if session.spent.get("renewals", 0) or any(is_question(one) for one in session.queued):
        return False  # no second one before a turn has ended well, and one at a time
    if session.compact is not None and any(one.text == session.compact for one in session.queued):
        return False
    return bool(session.skill or session.sendable)


def _task(session: Session) -> Prompt:
    """What a person asked for last: rekindle's own prompts are named after it."""
    asked = [one for one in session.prompts if one.by != OURS and one.attempt]
    return max(asked, key=lambda one: (one.attempt, one.message), default=session.prompts[-1])


def _next_name(session: Session, task: Prompt, letter: str) -> str:
    taken = {one.id for one in session.prompts}
    names = (derived(task.id, f"{letter}{number}") for number in range(len(taken) + 1))
    return next(name for name in names if name not in taken)


def after_summary(before: Session, prompt: str, at: float, after: Session) -> list[AnyFact]:
    """The turn of a question has ended, well or not: the conversation is left, and its agent ended."""
    return left(after, at, _why(before), _goes_on(before, after, prompt, at))


def after_question_cut(session: Session, at: float) -> list[AnyFact]:
    """The agent is gone in the middle of its summary: that turn is not continued, nor its conversation."""
    turn = session.turn
    if turn is None or turn.state != "cut" or not is_question(turn):
        return []
    outcome = "cut off before the summary was finished"
    settled = f.TurnSettled(at=at, prompt=turn.id, to="failed", outcome=outcome, cut="lost")
    if session.token is None:
        return [settled]
    gone = f.ConversationLeft(at=at, token=session.token, why=_why(session), dehydrated=True)
    return [settled, gone, *_goes_on(session, session, turn.id, at)]


def after_slow_summary(session: Session, at: float) -> list[AnyFact]:
    """The agent takes too long over its summary."""
    turn = session.turn
    if turn is None or not is_question(turn):
        return []
    return left(session, at, _why(session), _goes_on(session, session, turn.id, at))


def left(session: Session, at: float, why: str, goes_on: list[AnyFact]) -> list[AnyFact]:
    """Abandon the conversation for a new one that is told a summary."""
    if session.token is None or session.attempt is None:
        return []
    return [
        *goes_on,
        f.GivenUp(at=at, attempt=session.attempt.number, why=why, purpose="renew"),
        f.ConversationLeft(at=at, token=session.token, why=why, dehydrated=True),
    ]


def _why(session: Session) -> str:
    gauge = session.context
    full = f"its context window was {percent(gauge)} full" if gauge is not None else "its context window was full"
    return f"{full}, so the conversation was dehydrated"


def _goes_on(before: Session, after: Session, prompt: str, at: float) -> list[AnyFact]:
    """A skill session goes on by itself; elsewhere the prompt goes on that waited for this."""
    if not before.skill or after.queued:
        return []
    task = _task(before)
    text = f"Go on with the skill session in {before.skill} at its saved phase."
    return [f.PromptQueued(at=at, prompt=derived(prompt, "h"), text=text, by=OURS, of=task.id, first=True)]
