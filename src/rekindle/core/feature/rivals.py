"""Agents that work on a task although its run does not know their sessions: no other is started next to them. Pure.

The ids of a run's sessions are derived from the repository's id. If that was lost or changed, an earlier agent may
still be working in the task's worktree.
"""

from __future__ import annotations

from rekindle.core.feature import effects as e
from rekindle.core.feature.situation import Situation
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.state import Session


def title_of(role: str, summary: str) -> str:
    """The name of the session of an agent in this role."""
    return f"{role}: {summary}"


def rival(now: Situation, effect: e.Assign | e.Revive) -> Session | None:
    """The session of an agent that has this role for this task, and is not one of the run's own."""
    known = now.sessions.get(effect.session)
    role = effect.role if isinstance(effect, e.Assign) else (known.title if known is not None else "").partition(":")[0]
    own = now.sessions_of(effect.task)
    for session in now.sessions.values():
        same = session.task == effect.task and session.title.startswith(title_of(role, ""))
        if same and session.id not in own and (session.is_up or wants_agent(session)):
            return session
    return None


def refusal(feature: str, task: str, other: str) -> str:
    """What a person is told about it."""
    return (
        f"session {other} already works on task {task}, and this run does not know it: no second agent is started "
        f"(wait until it has finished, or end it with `rekindle stop {other}`; then `rekindle resume {feature}`)"
    )
