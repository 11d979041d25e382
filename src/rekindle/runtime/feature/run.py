"""One run of a feature: what to run, the ports it uses, and what all its parts may do."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from rekindle.core.feature.evidence import RunMemory
from rekindle.core.feature.modes import Mode
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.situation import Situation
from rekindle.core.feature.staffing import RunTerms
from rekindle.core.feature.talks import signed
from rekindle.core.journal import event as ev
from rekindle.ports.conversations import Conversations
from rekindle.ports.feature import CheckCommands, FeatureGit, RunEvents
from rekindle.ports.workplace import SessionPlaces
from rekindle.runtime.ending import end_agent
from rekindle.runtime.engine import Decision
from rekindle.runtime.supervisor import Supervisor


@dataclass(frozen=True)
class RunOrder:
    """What to run, for whom, and as which run."""

    repository: str
    feature: str
    sid: str
    plan: Plan
    mode: Mode
    jobs: int
    env: dict[str, str]
    terms: RunTerms
    base: str = ""
    #: the repository's identity, whatever its path
    repository_id: str = ""


@dataclass(frozen=True)
class RunPorts:
    """The ports that a run uses, and the available agents."""

    git: FeatureGit
    supervisor: Supervisor
    events: RunEvents
    places: SessionPlaces
    commands: CheckCommands
    conversations: Conversations
    kinds: Collection[str]


@dataclass
class FeatureRun:
    """A run in progress. It remembers only what it could find out again."""

    order: RunOrder
    ports: RunPorts
    memory: RunMemory = field(default_factory=RunMemory)

    @property
    def branch(self) -> str:
        """The feature's branch."""
        return self.ports.git.branch

    def clock(self) -> float:
        """The time by the engine's clock."""
        return self.ports.supervisor.engine.clock()

    async def tree(self, task: str, now: Situation) -> str:
        """Where a task's worktree is."""
        return await asyncio.to_thread(self.ports.git.tree_of, task, now.progress[task].branch)

    async def tell(self, type_: str, data: dict[str, Any], key: str) -> None:
        """Write an event of the run; `key` makes it the same event when it is written again."""
        await self.ports.events.append(type_, data, f"{self.order.sid}-{key}")

    async def warn(self, message: str, context: str, key: str) -> None:
        """Write a warning to the journal."""
        await self.tell(ev.WARNING_LOGGED, {"message": message, "context": context}, f"warning-{key}")

    async def decide(self, session: str, decision: Decision) -> None:
        """Apply facts to a session, decided from its state at that moment."""
        await self.ports.supervisor.decide(session, decision)

    async def end(self, session: str, to: Literal["asleep", "cancelled", "completed"]) -> None:
        """End a session's agent, and wait until it is gone."""
        await end_agent(self.ports.supervisor, session, by=signed(self.order.feature), to=to)

    async def made_tree(self, task: str, path: str, branch: str) -> None:
        """A task has a worktree now."""
        data = {"path": path, "branch": branch, "taskId": task}
        await self.tell("worktree.created", data, f"worktree-{task}")

    async def judging(self, task: str, round_: int, reviewer: str, tip: str) -> None:
        """A round of checks and review begins."""
        data = {"taskId": task, "round": round_, "reviewer": reviewer}
        await self.tell("qa.started", data, f"qa-{task}-{round_}-{tip[:12]}")

    async def tell_copy(self, task: str, kept: str | None) -> None:
        """Say that a reviewer changed files in its copy, if that is so."""
        if kept is not None:
            message = (
                f"the reviewer of task {task} changed files in its copy: they are not part of the work (see {kept})"
            )
            await self.warn(message, f"task {task}", f"copy-{task}-{kept[-12:]}")
