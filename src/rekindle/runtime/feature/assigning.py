"""The agents of a run: what each is told, where it works, and what it asks."""

from __future__ import annotations

import asyncio
from typing import Any

from rekindle.core.feature import effects as e
from rekindle.core.feature.rivals import title_of
from rekindle.core.feature.situation import Situation
from rekindle.core.feature.talks import signed
from rekindle.core.journal import event as ev
from rekindle.core.session import facts as f
from rekindle.core.session.asking import open_questions
from rekindle.core.session.state import Session
from rekindle.runtime.feature.run import FeatureRun

Data = dict[str, Any]
Assignment = e.Assign | e.Revive | e.Rest | e.Report


class Assigning:
    """Gives the tasks of one run to agents."""

    def __init__(self, run: FeatureRun) -> None:
        self._run = run
        self._started: set[str] = set()

    async def do(self, effect: Assignment, now: Situation) -> None:
        """Carry out one effect that concerns an agent."""
        run = self._run
        match effect:
            case e.Assign():
                await self._say(effect, now)
            case e.Revive():
                await self._begun(effect.task, now)
                run.memory.revived[effect.session] = run.memory.revived.get(effect.session, 0) + 1
                await run.decide(effect.session, self._wish)
            case e.Rest():
                await run.end(effect.session, "asleep")
            case e.Report():
                asking = open_questions(await run.ports.supervisor.engine.load(effect.session))
                name = next((one.id for one in asking if one.title == effect.question), effect.session)
                how = f"answer with `rekindle answer {name}`, or see `rekindle inbox`"
                message = f"the agent of task {effect.task} asks for permission: {effect.question} ({how})"
                await run.warn(message, f"task {effect.task}", f"asks-{effect.session}-{len(run.memory.asked)}")
                run.memory.asked.add((effect.session, effect.question))

    async def _begun(self, task: str, now: Situation) -> None:
        """Record once that a task is being worked on in this run, and its branch and worktree if they are new."""
        if task in self._started:
            return
        self._started.add(task)
        planned, known = self._run.order.plan.task(task), now.progress[task]
        if not known.has_branch:
            data = {"name": known.branch, "parent": self._run.branch, "taskId": task}
            await self._run.tell("branch.created", data, f"branch-{task}")
            await self._run.made_tree(task, await self._run.tree(task, now), known.branch)
        start: Data = {"taskId": task, "summary": planned.summary, "agent": planned.agent}
        await self._run.tell(ev.TASK_STARTED, {**start, "files": list(planned.files)}, f"started-{task}")

    async def _say(self, effect: e.Assign, now: Situation) -> None:
        engine = self._run.ports.supervisor.engine
        if effect.role == "work":
            await self._begun(effect.task, now)
        if effect.role == "review":
            await self._run.judging(effect.task, effect.round, effect.agent, effect.prompt)
        known = effect.session in now.sessions
        if not known:
            planned = self._run.order.plan.task(effect.task)
            tree = await self._place_of(effect, now)
            created = f.Created(
                at=engine.clock(),
                of_run=True,
                session=effect.session,
                agent=effect.agent if effect.agent in self._run.ports.kinds else self._run.order.terms.agent,
                cwd=tree,
                repository=self._run.order.repository,
                repository_id=self._run.order.repository_id,
                worktree=tree,
                branch=now.progress[effect.task].branch if effect.role == "work" else None,
                worktree_told=True,
                title=title_of(effect.role, planned.summary or planned.id),
                policy="ask",
                permission="deny" if effect.role == "review" else self._run.order.terms.permission,
                limits=self._run.order.terms.session_limits,
                feature=self._run.order.feature,
                task=effect.task,
            )
            await asyncio.to_thread(self._run.ports.places.prepare, created, self._run.order.env)
            await engine.create(created)
        prompt = f.PromptQueued(at=engine.clock(), prompt=effect.prompt, text=effect.text)
        await self._run.decide(effect.session, lambda now: [prompt, *(self._wish(now) if known else [])])

    def _wish(self, session: Session) -> list[f.AnyFact]:
        """Ask for an agent if the session has none: somebody else may have brought it back."""
        by = signed(self._run.order.feature)
        return [] if session.is_up else [f.ResumeAsked(at=self._run.clock(), by=by)]

    async def _place_of(self, effect: e.Assign, now: Situation) -> str:
        """Where an agent works: in its task's worktree, in a copy of what it reviews, or where merges are made."""
        git = self._run.ports.git
        match effect.role:
            case "work":
                return await self._run.tree(effect.task, now)
            case "review":
                return git.copy_of(effect.task)
            case "merge":
                tip = now.git.branches[now.progress[effect.task].branch].tip
                return await asyncio.to_thread(git.integration, tip)
