"""What happens to a session whose agent could not be started, or would not open the conversation. Pure.

A failed start is not an end: the session is interrupted, and says why. It is tried again within its budget, after
growing pauses.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.session import facts as f
from rekindle.core.session.escalating import escalation
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session, State, nothing_ever_ran

#: If a start failed this many seconds ago and was not tried again since, somebody who waits should be told.
_SOON: Final = 5.0
#: How often to check whether what was missing is there: seconds, growing with the time that it has been missing.
_FIRST_LOOK: Final = 2.0
_LATEST_LOOK: Final = 60.0


def has_failed_to_start(session: Session) -> bool:
    """Whether the newest attempt ended before it had opened a conversation, and nobody had asked it to end."""
    attempt = session.attempt
    return session.state is State.STARTING and attempt is not None and attempt.status == "gone" and not attempt.by_us


def has_stalled(session: Session, now: float) -> bool:
    """Whether a start has failed and nobody should wait for the next: something is missing, or it will not be soon."""
    attempt = session.attempt
    if attempt is None or not has_failed_to_start(session) or session.resume_asked is not None:
        return False
    return attempt.blocked or now - session.changed_at > _SOON


def next_look(session: Session, now: float) -> float:
    """How many seconds to wait before checking again for what a start needs."""
    return min(max(_FIRST_LOOK, (now - session.changed_at) / 4), _LATEST_LOOK)


def pause(session: Session) -> float:
    """How many seconds after its end the newest attempt may be followed by an automatic one."""
    attempt, spent = session.attempts[-1], session.spent.get("restarts", 0)
    if attempt.opened or not (attempt.blocked or attempt.given_up or not attempt.folder):
        return session.rules.restarts.pause(spent)
    pauses = session.rules.failed_start_pauses
    return pauses[min(spent, len(pauses) - 1)]


def is_in_vain(session: Session) -> bool:
    """Whether nothing has come of the newest attempt: it ended without having finished a turn.

    One that ended with its keeper says nothing about the agent: the machine went down, or all was killed.
    """
    attempt = session.attempt
    if attempt is None or attempt.status != "gone" or attempt.by_us or attempt.unseen:
        return False
    return not any(one.attempt == attempt.number and one.state == "done" for one in session.prompts)


def after_refusal(before: Session, fact: f.OpenRefused, after: Session) -> list[AnyFact]:
    """What follows if an agent would not open the conversation. Unattended, a new one begins; else somebody decides.

    A refusal that says nothing about the conversation ends the attempt, and that is all.
    """
    is_lost = fact.problem in ("unknown_session", "incomplete")
    if not is_lost and fact.problem != "unsupported":
        return [f.GivenUp(at=fact.at, attempt=fact.attempt, why=fact.message or "the agent refused")]
    may_renew = after.left("renewals") or (fact.problem == "unknown_session" and _never_took_hold(before))
    goes_on = after.queued or (after.policy == "continue" and may_renew)
    if goes_on or nothing_ever_ran(before):
        return []  # a new conversation is told the history of this one, or there is none to tell
    told = "; the next prompt begins a new one, which is told the history" if is_lost else ""
    lost = "the agent has lost the conversation: " if is_lost else ""
    why = f"{lost}{fact.message}{told}"
    return [f.HeldBack(at=fact.at, why=why), *escalation(after, "dead", why, fact.at)]


def _never_took_hold(session: Session) -> bool:
    """Whether the newest conversation was begun instead of an earlier one, and no turn has ended well in it.

    Its agent died before it had a record: nothing that was acknowledged is lost, and what the conversation was told can
    be told again. How often, the budget of restarts says.
    """
    token = session.attempts[-1].token
    begun = max((one.number for one in session.attempts if one.how == "new" and one.token == token), default=0)
    return begun > 1 and not any(one.state == "done" and one.attempt >= begun for one in session.prompts)


def after_launch(before: Session, fact: f.LaunchIntended) -> list[AnyFact]:
    """What an attempt costs: one that nobody asked for, and one that abandons a conversation."""
    found: list[AnyFact] = []
    if before.attempt is not None and not before.resume_asked:
        vain = is_in_vain(before)
        found.append(f.BudgetSpent(at=fact.at, budget="restarts", attempt=fact.attempt, in_vain=vain))
    last = before.attempt
    is_paid = last is not None and last.how == "new" and not last.opened  # that one never began
    if fact.how == "new" and not is_paid and (before.left_why or not nothing_ever_ran(before)):
        found.append(f.BudgetSpent(at=fact.at, budget="renewals"))
    return found
