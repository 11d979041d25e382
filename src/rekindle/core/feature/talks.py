"""How a session stands, as far as one of the prompts that a feature's run has put to it is concerned."""

from __future__ import annotations

from rekindle.core.feature.evidence import Phase, Talk
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.starting import has_failed_to_start
from rekindle.core.session.state import Prompt, Session, State

#: How a feature's run signs what it does to a session: what it has ended itself, a later run may bring back.
BY = "feature "


def prompt_id(round_: int, told: str = "", attempt: int = 0) -> str:
    """The id of a work prompt: the same round never asks twice, a further try of it has an id of its own."""
    again = f"~{attempt}" if attempt else ""
    return f"{told + '.' if told else ''}round-{round_}{again}"


def talk(session_id: str, session: Session | None, prompt: str) -> Talk:
    """What the runner has to know of a session about one prompt and the further ones that it led to."""
    if session is None:
        return Talk(session_id)
    chain = [one for one in session.prompts if one.id == prompt or one.id.startswith((f"{prompt}+", f"{prompt}~"))]
    prefix = prompt.rpartition(".")[0]
    rounds = [_round(one.id) for one in session.prompts if one.id.rpartition(".")[0] == prefix]
    tries = sum("~" in one.id and "+" not in one.id for one in chain)
    phase = _phase(session, chain[-1] if chain else None)
    message = session.message or (chain[-1].outcome if chain else "")
    question = next((asked.title for asked in session.permissions if not asked.answered), "")
    most = max(rounds, default=0)
    fresh = _is_fresh(session)
    return Talk(session_id, phase, session.is_up, message, session.retry_at, tries, most, fresh, question)


def _is_fresh(session: Session) -> bool:
    """Whether nothing was said yet in the conversation that the agent has now, although there was one before it."""
    begun = max((one.number for one in session.attempts if one.how == "new"), default=0)
    told = any(one.attempt >= begun and one.state not in ("queued", "cancelled") for one in session.prompts)
    return begun > 1 and not told


def _phase(session: Session, last: Prompt | None) -> Phase:
    if last is not None and last.state == "done":
        return "done"
    is_over = session.state in (State.COMPLETED, State.CANCELLED) and session.resume_asked is None
    if is_over and not (session.stopped_by or "").startswith(BY):
        return "stopped"
    if last is None:
        return "unsaid"
    if any(not asked.answered for asked in session.permissions):
        return "asking"
    if last.state in ("failed", "cancelled"):
        return "failed"
    if session.is_up or (wants_agent(session) and not has_failed_to_start(session)):
        return "working"
    return "cut"


def _round(prompt: str) -> int:
    word = prompt.rpartition(".")[2].removeprefix("round-")
    digits = word.partition("~")[0].partition("+")[0]
    return int(digits) if digits.isdigit() else 0
