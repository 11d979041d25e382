"""The state of a session with respect to one of the prompts that a feature's run has given it."""

from __future__ import annotations

import re

from rekindle.core.feature.evidence import Phase, TalkState
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.proving import is_being_checked
from rekindle.core.session.starting import has_failed_to_start
from rekindle.core.session.state import UNKNOWN, Prompt, Session, State

_ROUND = re.compile(r"round/(\d+)(~\d+)?")


def signed(feature: str) -> str:
    """How a feature's run signs what it does to a session: a later run may bring back what the run itself ended."""
    return f"feature {feature}"


def is_signature(by: str) -> bool:
    """Whether this is the signature of a run: nobody else may use it."""
    return by.startswith(signed(""))


def round_prompt(round_: int, told: str = "", attempt: int = 0) -> str:
    """The id of a work prompt: the same round never asks twice, and a further try has its own id.

    Like the ids of all prompts from a run it contains a slash, which no other id can (see `prompt_ids.why_not_id`).
    """
    first = f"{told + '.' if told else ''}round/{round_}"
    return further_try(first, attempt) if attempt else first


def further_try(prompt: str, number: int) -> str:
    """The id of a run's prompt that is repeated because its turn failed."""
    return f"{prompt}~{number}"


def review_prompt(tip: str) -> str:
    """The id of the prompt for a review of this commit."""
    return f"review/{tip[:12]}"


def merge_prompt(tip: str, told: str) -> str:
    """The id of the prompt for a merge of this commit that git could not do."""
    return f"merge/{tip[:12]}{f'-{told}' if told else ''}"


def talk(session_id: str, session: Session | None, prompt: str) -> TalkState:
    """What the runner has to know about a session: one prompt and the further ones that it led to."""
    if session is None:
        return TalkState(session_id)
    asked = {one.id for one in session.prompts if prompt in (one.id, _first_try(one.id))}
    chain = [one for one in session.prompts if one.id in asked or one.of in asked]
    prefix = prompt.rpartition(".")[0]
    rounds = [_round(one.id) for one in session.prompts if one.id.rpartition(".")[0] == prefix]
    phase = _phase(session, chain[-1] if chain else None)
    message = session.message or (chain[-1].outcome if chain else "")
    question = next((one.title for one in session.permissions if not one.answered), "")
    most = max(rounds, default=0)
    tries = len(asked - {prompt})
    return TalkState(
        session_id, phase, session.is_up, message, session.retry_at, tries, most, _is_fresh(session), question
    )


def _is_fresh(session: Session) -> bool:
    """Whether nothing was said yet in the agent's current conversation, although there was one before it."""
    begun = max((one.number for one in session.attempts if one.how == "new"), default=0)
    told = any(one.attempt >= begun and one.state not in ("queued", "cancelled") for one in session.prompts)
    return begun > 1 and not told


def _phase(session: Session, last: Prompt | None) -> Phase:
    if last is not None and last.state == "done":
        return "working" if is_being_checked(session) else "done"  # its agent may rest once its record was compared
    is_over = session.state in (State.COMPLETED, State.CANCELLED) and session.resume_asked is None
    if is_over and (session.feature is None or session.stopped_by not in (signed(session.feature), UNKNOWN)):
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


def _first_try(prompt: str) -> str:
    """The prompt that this one is a further try of; empty if it is not one."""
    first, tilde, number = prompt.rpartition("~")
    return first if tilde and number.isdigit() else ""


def _round(prompt: str) -> int:
    found = _ROUND.fullmatch(prompt.rpartition(".")[2])
    return int(found[1]) if found else 0
