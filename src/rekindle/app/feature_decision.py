"""Carries out a resume's decision before agents start: sets branches aside, records it, sets up the team."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from rekindle.app.feature_resume import Answer, FoundFeature
from rekindle.app.feature_strays import Answers, carry_out_answers, tell_answers
from rekindle.core.feature.outlook import Outlook
from rekindle.core.feature.plan import Plan, skip
from rekindle.core.feature.plan_event import to_events
from rekindle.core.feature.progress import INSTRUCT, SKIP, START_OVER, TaskProgress
from rekindle.core.journal import event as ev
from rekindle.core.journal.orders import DRIVER
from rekindle.core.journal.run import SKIPPED
from rekindle.core.naming_some import some_of
from rekindle.ports.teams import AgentTeams
from rekindle.runtime.feature.run import RunOrder

#: The most changed dependencies to name in a sentence.
_NAMED = 20
#: The most tasks and issues that a decision names in one event.
_AT_ONCE = 1000
#: Writes an event of a run: its type, its data, and what makes it the same event when it is written again.
Tell = Callable[[str, dict[str, Any], str], Awaitable[None]]


def start_of(order: RunOrder, branch: str, command: str, **more: str | None) -> dict[str, Any]:
    """The data of `session.start`. `branch` is the feature's."""
    about = {"feature": order.feature, "branch": branch, "mode": order.mode, "driver": DRIVER}
    about |= msgspec.to_builtins(order.terms)
    return {"command": command, **more, **about}


def given_up(found: FoundFeature, chosen: Answer) -> tuple[str, ...]:
    """The tasks whose conversations are not continued: they start over, or are left out."""
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
    """Carry out the decision, git first, then what is left out: a recorded decision has been carried out.

    `removed` are the locks that were removed with approval.
    """
    seen, known = found.outlook, found.progress
    decided = await carry_out_answers(found, strays)
    restarts = chosen in ("restart A", "restart B")
    over = list(known) if restarts else [*(seen.affected if chosen == START_OVER else ()), *seen.lost]
    branches = {name: known[name].branch for name in dict.fromkeys(over)}
    kept = (await asyncio.to_thread(found.git.start_over, branches, order.sid, whole=restarts)).kept
    warnings = [f"removed a lock left by a killed git: {lock}" for lock in removed]
    warnings += [f"the old {branch} is kept as {ref}" for branch, ref in kept.items()]
    warnings += [sentence for one in decided for sentence in one.sentences()]
    begin = {"restarts": found.analysis.sid} if restarts else {"resumes": found.analysis.sid}
    await tell(ev.SESSION_START, start_of(order, found.git.branch, "resume", **begin), "start")
    if restarts:
        await tell_plan(tell, order.plan)
    if chosen == SKIP:
        order, more = await _skip(order, known, seen, tell)
        warnings += more
    locks = {"removed_locks": list(removed)} if removed else {}
    await _tell_decision(tell, {**_decision(found, chosen, instructions), **locks}, "decided")
    await tell_answers(decided, tell)
    if seen.lost and not restarts:
        lost = {"choice": START_OVER, "issues": [], "tasks": list(seen.lost), "reason": "their branches are gone"}
        await _tell_decision(tell, lost, "lost")
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
        reason = f"task {name} can no longer run: it needs {missing}, which is skipped"
        await tell(ev.TASK_SKIPPED, {"taskId": name, "reason": reason}, f"skip-{name}")
        warnings.append(reason)
    if result.dropped:
        dropped = [f"{name} no longer waits for {other}" for name, other in result.dropped]
        await tell_plan(tell, result.plan, some_of(dropped, _NAMED))
    return replace(order, plan=result.plan), warnings


async def tell_plan(tell: Tell, plan: Plan, changed: str = "") -> None:
    """Record a plan, a long one in parts. `changed` says what is new if it replaces another plan."""
    first, *further = to_events(plan)
    if changed:
        await tell(ev.PLAN_UPDATED, {"change": "dependency_changed", "reason": changed, **first}, "plan")
    else:
        await tell(ev.PLAN_CREATED, first, "plan")
    for number, part in enumerate(further, start=2):
        await tell(ev.PLAN_UPDATED, part, f"plan-{number}")


async def _tell_decision(tell: Tell, data: dict[str, Any], key: str) -> None:
    """Record a decision. If it covers very many tasks or issues, it is split into several decisions."""
    issues, tasks = data["issues"], data["tasks"]
    for start in range(0, max(len(issues), len(tasks), 1), _AT_ONCE):
        end = start + _AT_ONCE
        part = {**data, "issues": issues[start:end], "tasks": tasks[start:end]}
        await tell(ev.RESUME_DECIDED, part, f"{key}-{start}" if start else key)


def _decision(found: FoundFeature, chosen: Answer, instructions: str) -> dict[str, Any]:
    """The data of `resume.decided`: what was asked, what was answered, which issues that settles."""
    settled = [{"sid": issue.sid, "seq": issue.seq} for issue in found.analysis.state.issues]
    meant = {START_OVER: list(found.outlook.affected), SKIP: list(found.outlook.affected)}
    tasks = meant.get(chosen, _unfinished(found.progress) if chosen == INSTRUCT else [])
    about = {"case": found.outlook.decision.case, "choice": chosen.removeprefix("restart "), "issues": settled}
    return {**about, "tasks": tasks, **({"instructions": instructions} if instructions else {})}


def _unfinished(known: dict[str, TaskProgress]) -> list[str]:
    return [name for name, one in known.items() if not (one.merged or one.unchanged) and one.status != SKIPPED]


def ensure_team(teams: AgentTeams, order: RunOrder, known: dict[str, TaskProgress], name: str) -> str:
    """The team file of a feature, reused or newly written; says which."""
    home = order.env.get("HOME")
    if not home:
        return "missing"
    names = [task.agent or order.terms.agent for task in order.plan.tasks]
    agents = {name: name for name in names}
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
