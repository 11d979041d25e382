"""Whether something that nobody asked for may be done now: the gate before every automatic start and turn. Pure.

What a person asks for always may. The decision is a fact before the effect is carried out, and an effect has the same
name after a crash: it is counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import msgspec
from msgspec.structs import replace

from rekindle.core.effects import Effect, Launch, Say
from rekindle.core.governor import facts as g
from rekindle.core.governor.asking import BREAKER
from rekindle.core.governor.queueing import LimitWait, schedule
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.governor.spending import used_up
from rekindle.core.governor.state import Governor
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.starting import is_in_vain
from rekindle.core.session.state import OURS, TERMINAL, Prompt, Session


class AutomaticStep(msgspec.Struct, frozen=True):
    """An automatic step of a session. `asked_at`: when a person last asked it for something that it has not got yet."""

    session: str
    effect: str
    is_restart: bool = False
    is_in_vain: bool = False
    limit: str = ""
    prompt: str = ""
    asked_at: float = 0.0


class Admission(msgspec.Struct, frozen=True):
    """`until`: when to ask again at the latest, if it is known. `why` and `question` are for a person."""

    is_granted: bool
    facts: tuple[g.GovernorFact, ...] = ()
    until: float | None = None
    why: str = ""
    question: str = ""


def wanted(session: Session, effect: Effect) -> AutomaticStep | None:
    """What an effect asks of the governor; None: a person wants it, or it starts nothing."""
    match effect:
        case Launch():
            return _start(session, effect)
        case Say():
            prompt = next((one for one in session.prompts if one.id == effect.prompt), None)
            if prompt is None or prompt.hurried or (prompt.by != OURS and not session.of_run):
                return None
            return AutomaticStep(session.id, effect.id, limit=prompt.limit, prompt=prompt.id)
        case _:
            return None


def next_step(session: Session) -> AutomaticStep | None:
    """What a session that rests until its time has come will ask for, as far as can be told."""
    queued = session.sendable
    if not queued or session.state in TERMINAL or queued[0].hurried or queued[0].by != OURS or not queued[0].limit:
        return None
    if not session.is_up and not wants_agent(session):
        return None  # nothing happens to it by itself, whatever it is that it waited for
    return AutomaticStep(session.id, "", limit=queued[0].limit, prompt=queued[0].id)


def waiting_for(limit: str, sessions: Sequence[Session], state: Governor, asking: set[str]) -> list[LimitWait]:
    """All sessions that wait for a limit and have no place yet."""
    found: list[LimitWait] = []
    for session in sessions:
        step = next_step(session)
        if step is None or step.limit != limit or state.returned.get(session.id) == step.prompt:
            continue
        prompt = session.sendable[0]
        found.append(
            LimitWait(
                session.id,
                limit,
                prompt.id,
                prompt.at,
                prompt.after or 0.0,
                session.limits.priority,
                asks=session.id in asking,
            )
        )
    return found


def admission(
    state: Governor,
    rules: GovernorRules,
    step: AutomaticStep,
    waiting: Sequence[LimitWait],
    now: float,
    zone: tzinfo | None = None,
) -> Admission:
    """Whether the step may be done now. `waiting`: all that wait for its limit, itself included."""
    is_counted = any(one.effect == step.effect for one in state.restarts)
    stopped = state.stopped
    if step.is_restart and stopped is not None and not is_counted and not _is_asked_for(state, step, stopped.since):
        asked = next((one.id for one in state.questions if one.trigger == BREAKER), "")
        return Admission(False, why="automatic restarts are stopped", question=asked)
    full = used_up(state, rules, now, zone)
    if full is not None:
        asked = next((one.id for one in state.questions if one.about.startswith(full.about)), "")
        when = "today" if full.name == "day" else "tonight"
        why = f"all sessions together have spent ${full.spent:.2f} {when}, and the limit is ${full.cap:g}"
        return Admission(False, until=full.until, why=why, question=asked)
    facts: list[g.GovernorFact] = []
    if step.limit and state.returned.get(step.session) != step.prompt:
        times = schedule(state, rules, _with(step, waiting, now), now)
        at = times[step.session]
        if at > now:
            before = sum(one < at for one in times.values())
            return Admission(False, until=at, why=_in_line(before) if before else "")
        facts.append(g.Returned(at=now, session=step.session, prompt=step.prompt, limit=step.limit))
    if step.is_restart and step.is_in_vain and not is_counted:
        facts.append(g.RestartCounted(at=now, session=step.session, effect=step.effect))
    return Admission(True, tuple(facts))


def _is_asked_for(state: Governor, step: AutomaticStep, stopped_at: float) -> bool:
    """Whether a person has asked since restarts were stopped. That allows one restart, and not one after the other."""
    restarts = (one.at for one in state.restarts if one.session == step.session)
    return step.asked_at > max(stopped_at, *restarts, 0.0)


def _with(step: AutomaticStep, waiting: Sequence[LimitWait], now: float) -> list[LimitWait]:
    """All that wait, among them for certain the one that asks."""
    if any(one.session == step.session and one.asks for one in waiting):
        return list(waiting)
    others = [one for one in waiting if one.session != step.session]
    own = next((one for one in waiting if one.session == step.session), None)
    if own is None:
        return [*others, LimitWait(step.session, step.limit, step.prompt, now, now, asks=True)]
    return [*others, replace(own, asks=True)]


def _in_line(before: int) -> str:
    others = f"{before} other session{'s'[: before != 1]} come{'s'[: before == 1]} first"
    return f"it waits for its turn after a limit; {others}"


def _start(session: Session, effect: Launch) -> AutomaticStep | None:
    """A start. One that was begun before a crash was allowed then. Runs and jobs begin sessions unattended."""
    attempt = session.attempt
    if session.resume_asked not in (None, OURS) or (attempt is not None and attempt.status != "gone"):
        return None
    queued = session.sendable
    first = queued[0] if queued else None
    if attempt is None:
        return AutomaticStep(session.id, effect.id) if session.of_run or session.job else None
    by_person = [one for one in queued if one.by != OURS]
    if attempt.by_us and first in by_person and not session.of_run:
        return None
    return AutomaticStep(
        session.id,
        effect.id,
        is_restart=not attempt.by_us,
        is_in_vain=is_in_vain(session),
        limit=_limit(first),
        prompt=first.id if first is not None else "",
        asked_at=max((one.at for one in by_person), default=0.0),
    )


def _limit(prompt: Prompt | None) -> str:
    """The limit in whose queue it waits: what a person has hurried waits in none."""
    return prompt.limit if prompt is not None and prompt.by == OURS and not prompt.hurried else ""
