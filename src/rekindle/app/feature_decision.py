"""Carries out what a resume has decided, before agents start: branches put aside, the decision on record, the team."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from rekindle.app.feature_resume import Answer, FoundFeature
from rekindle.app.feature_strays import Answers, carry_out_answers, tell_answers
from rekindle.core.feature.outlook import Outlook
from rekindle.core.feature.plan import skip
from rekindle.core.feature.plan_event import to_event
from rekindle.core.feature.progress import INSTRUCT, SKIP, START_OVER, TaskProgress
from rekindle.core.journal import event as ev
from rekindle.core.journal.orders import DRIVER
from rekindle.core.journal.run import SKIPPED
from rekindle.ports.teams import AgentTeams
from rekindle.runtime.feature.run import RunOrder

#: Writes an event of a run: its type, its data, and what makes it the same event when it is written again.
Tell = Callable[[str, dict[str, Any], str], Awaitable[None]]


def start_of(order: RunOrder, branch: str, command: str, **more: str | None) -> dict[str, Any]:
    """The data of `session.start`. `branch` is the feature's."""
    about = {"feature": order.feature, "branch": branch, "mode": order.mode, "driver": DRIVER}
    return {"command": command, **more, **about}


def given_up(found: FoundFeature, chosen: Answer) -> tuple[str, ...]:
    """The tasks whose conversations nobody goes on with: they start over, or are left out."""
    if chosen in ("restart A", "restart B"):
        return tuple(found.progress)
    return (*(found.outlook.affected if chosen in (START_OVER, SKIP) else ()), *found.outlook.lost)


async def carry_out(
    order: RunOrder,
    found: FoundFeature,
    chosen: Answer,
    instructions: str,
    tell: Tell,
    strays: Answers,
    removed: Sequence[str] = (),
) -> tuple[RunOrder, list[str]]:
    """Carry out what was decided, git first: a decision that is written down has been carried out.

    `removed` are locks that were removed after a yes.
    """
    seen, known = found.outlook, found.progress
    decided = await carry_out_answers(found, strays)
    restarts = chosen in ("restart A", "restart B")
    over = list(known) if restarts else [*(seen.affected if chosen == START_OVER else ()), *seen.lost]
    branches = {name: known[name].branch for name in dict.fromkeys(over)}
    kept = (await asyncio.to_thread(found.git.start_over, branches, order.sid, whole=restarts)).kept
    warnings = [f"the lock that a killed git had left was removed: {lock}" for lock in removed]
    warnings += [f"the old {branch} is kept as {ref}" for branch, ref in kept.items()]
    warnings += [sentence for one in decided for sentence in one.sentences()]
    begin = {"restarts": found.analysis.sid} if restarts else {"resumes": found.analysis.sid}
    await tell(ev.SESSION_START, start_of(order, found.git.branch, "resume", **begin), "start")
    if restarts:
        await tell(ev.PLAN_CREATED, to_event(order.plan), "plan")
    locks = {"removed_locks": list(removed)} if removed else {}
    await tell(ev.RESUME_DECIDED, {**_decision(found, chosen, instructions), **locks}, "decided")
    await tell_answers(decided, tell)
    if seen.lost and not restarts:
        lost = {"choice": START_OVER, "issues": [], "tasks": list(seen.lost), "reason": "their branches are gone"}
        await tell(ev.RESUME_DECIDED, lost, "lost")
    if chosen == SKIP:
        order, more = await _skip(order, known, seen, tell)
        warnings += more
    for number, sentence in enumerate((*seen.warnings, *warnings)):
        await tell(ev.WARNING_LOGGED, {"message": sentence, "context": "resume"}, f"resume-{number}")
    return order, warnings


async def _skip(
    order: RunOrder, known: dict[str, TaskProgress], found: Outlook, tell: Tell
) -> tuple[RunOrder, list[str]]:
    done = [row.name for row in found.tasks if row.action == "done"]
    out = [*found.affected, *(name for name, one in known.items() if one.status == SKIPPED)]
    result = skip(order.plan, out, done)
    for name in found.affected:
        await tell(ev.TASK_SKIPPED, {"taskId": name, "reason": "chosen at a resume"}, f"skip-{name}")
    warnings = []
    for name, missing in result.cannot_run.items():
        reason = f"task {name} cannot run any more: it needs {missing}, which is skipped"
        await tell(ev.TASK_SKIPPED, {"taskId": name, "reason": reason}, f"skip-{name}")
        warnings.append(reason)
    if result.dropped:
        what = ", ".join(f"{name} no longer waits for {other}" for name, other in result.dropped)
        data = {"change": "dependency_changed", "reason": what, **to_event(result.plan)}
        await tell(ev.PLAN_UPDATED, data, "plan")
    return replace(order, plan=result.plan), warnings


def _decision(found: FoundFeature, chosen: Answer, instructions: str) -> dict[str, Any]:
    """The data of `resume.decided`: what was asked, what was answered, which issues are settled by it."""
    settled = [{"sid": issue.sid, "seq": issue.seq} for issue in found.analysis.state.issues]
    meant = {START_OVER: list(found.outlook.affected), SKIP: list(found.outlook.affected)}
    tasks = meant.get(chosen, _unfinished(found.progress) if chosen == INSTRUCT else [])
    about = {"case": found.outlook.decision.case, "choice": chosen.removeprefix("restart "), "issues": settled}
    return {**about, "tasks": tasks, **({"instructions": instructions} if instructions else {})}


def _unfinished(known: dict[str, TaskProgress]) -> list[str]:
    return [name for name, one in known.items() if not one.merged and one.status != SKIPPED]


def ensure_team(teams: AgentTeams, order: RunOrder, known: dict[str, TaskProgress], name: str) -> str:
    """The team file of a feature, reused or written anew; says which."""
    home = order.env.get("HOME")
    if not home:
        return "missing"
    agents = {task.agent or order.agent: task.agent or order.agent for task in order.plan.tasks}
    tasks = [
        {
            "id": task.id,
            "subject": task.summary,
            "status": known[task.id].status if task.id in known else "PENDING",
            "blockedBy": list(order.plan.blocked_by(task.id)),
        }
        for task in order.plan.tasks
    ]
    return teams.ensure(home, name, agents, tasks)
