"""A feature's run as a client shows it: waves, tasks, who has been working on them since when, how it ended."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rekindle.core.feature.left_over import only_there, removal, tree_of
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.situation import Situation
from rekindle.core.feature.task_outcome import merge_of
from rekindle.core.journal.run import FAILED, PENDING, SKIPPED
from rekindle.core.session.asking import open_questions
from rekindle.core.session.facts import Receipt
from rekindle.core.session.state import Session
from rekindle.runtime.feature.runner import FeatureRunner

#: States in which somebody is at a task.
_UNDER_WAY = frozenset({"working", "asking", "checking", "in progress"})


class TaskReceipt(Receipt, frozen=True):
    """A receipt of one of a task's sessions."""

    session: str = ""
    attempt: int = 0


class LeftOutCommit(msgspec.Struct, frozen=True):
    """Work of a task that a person has left out."""

    commit: str
    subject: str
    where: str


class TaskView(msgspec.Struct, frozen=True):
    """The state of a task, and who works on it."""

    id: str
    summary: str
    state: str
    problem: str
    round: int | None
    session: str | None
    agent: str | None
    seconds: float
    tokens: int
    cost: float | None
    receipts: list[TaskReceipt]
    left_out: list[LeftOutCommit]


class Leftover(msgspec.Struct, frozen=True):
    """A task's branch that still exists, where it is checked out, what is only there, and what deletes it."""

    branch: str
    path: str | None
    only_there: list[str]
    removal: str


class RunView(msgspec.Struct, frozen=True):
    """The state of a run. `reason` and `message` say how it ended; `leftovers` is what remains of its tasks.

    `seconds`, `tokens` and `cost` are None if unknown, as for a run that ended long ago.
    """

    feature: str
    branch: str
    sid: str
    mode: str
    over: bool
    reason: str | None
    message: str
    waves: list[list[str]]
    tasks: list[TaskView]
    seconds: float | None
    tokens: int | None
    cost: float | None
    leftovers: list[Leftover]


def view(runner: FeatureRunner, *, is_over: bool, now: float) -> RunView:
    """How a run stands."""
    order, seen = runner.order, runner.situation
    end = runner.end
    at = runner.until(now)
    tasks = [_task(seen, task.id, task.summary, at) for task in order.plan.tasks] if seen is not None else []
    tasks = [_left(task) for task in tasks] if is_over else tasks
    return RunView(
        feature=order.feature,
        branch=runner.ports.git.branch,
        sid=order.sid,
        mode=order.mode,
        over=is_over,
        reason=end.reason if end is not None else ("lost" if is_over else None),
        message=end.message if end is not None else "",
        waves=[list(wave) for wave in order.plan.waves],
        tasks=tasks,
        seconds=runner.seconds(now),
        tokens=sum(task.tokens for task in tasks),
        cost=_sum(task.cost for task in tasks),
        leftovers=_leftovers(seen) if seen is not None else [],
    )


def _left(task: TaskView) -> TaskView:
    """A task of a run that is over: what was last seen of its agent is over, too."""
    if task.state not in _UNDER_WAY:
        return task
    return msgspec.structs.replace(task, state="stopped", agent=None)


def _task(seen: Situation, name: str, summary: str, now: float) -> TaskView:
    known = seen.progress[name]
    found = [seen.sessions[one] for one in seen.sessions_of(name)]
    live = next((session for session in found if session.is_up), None)
    newest = max(found, key=lambda one: (bool(open_questions(one)), one.changed_at), default=None)
    receipts = [
        TaskReceipt(**msgspec.structs.asdict(attempt.receipt), session=session.id, attempt=attempt.number)
        for session in found
        for attempt in session.attempts
        if attempt.receipt is not None
    ]
    return TaskView(
        id=name,
        summary=summary,
        state=_state(seen, name, known),
        problem=seen.memory.problems.get(name, "") or known.error,
        round=known.qa.round if known.qa is not None else None,
        session=newest.id if newest is not None else None,
        agent=live.agent if live is not None else None,
        seconds=_seconds(found, now),
        tokens=sum(session.usage.tokens for session in found),
        cost=_sum(session.usage.cost for session in found),
        receipts=receipts,
        left_out=[
            LeftOutCommit(one.commit, one.subject, one.where)
            for one in seen.git.strays.get(name, ())
            if one.commit in known.left_out
        ],
    )


def _sum(costs: Iterable[float | None]) -> float | None:
    """The known costs; None if nothing is known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _leftovers(seen: Situation) -> list[Leftover]:
    found = []
    for name, branch in seen.git.branches.items():
        tree = tree_of(seen.git, branch)
        path = tree.path if tree is not None else branch.elsewhere
        found.append(Leftover(name, path, list(only_there(seen.git, branch)), removal(seen.git, branch)))
    return found


def _seconds(sessions: list[Session], now: float) -> float:
    """How long a task has been worked on: until now while an agent is up, else until something last happened."""
    if not sessions:
        return 0
    until = now if any(one.is_up for one in sessions) else max(one.changed_at for one in sessions)
    return round(until - min(one.created_at for one in sessions), 1)


def _state(seen: Situation, name: str, known: TaskProgress) -> str:
    how = merge_of(name, known, seen.git)
    if how in ("ours", "said", "nothing"):
        return "unchanged" if how == "nothing" else "merged"
    if known.status in (SKIPPED, FAILED):
        return known.status.lower()
    if name in seen.memory.problems:
        return "stuck"
    for session in seen.sessions_of(name):
        live = seen.sessions[session]
        if any(not asked.answered for asked in live.permissions):
            return "asking"
        if live.is_up and live.turn is not None:
            return "working"
    if known.qa is not None:
        return {"passed": "checked", "failed": "to be mended"}.get(known.qa.result, "checking")
    return "pending" if known.status == PENDING else "in progress"
