"""Carries out the effects of a feature's run: git and commands in threads, sessions through the supervisor.

Each effect is done first and written to the journal after: if we die in between, git (or the store) shows what was
done, and each event has an id, so nothing is recorded twice.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from rekindle.core.feature import effects as e
from rekindle.core.feature import merge_steps, strays
from rekindle.core.feature.quality import unchanged
from rekindle.core.feature.rivals import refusal, rival
from rekindle.core.feature.situation import Situation
from rekindle.core.journal import event as ev
from rekindle.core.journal.run import COMPLETE
from rekindle.core.session.state import TERMINAL
from rekindle.ports.errors import RekindleError
from rekindle.ports.feature import Cleared
from rekindle.runtime.feature.assigning import Assigning
from rekindle.runtime.feature.checking import Checking
from rekindle.runtime.feature.run import FeatureRun

Data = dict[str, Any]
GitChange = e.MakeFeature | e.Prepare | e.Restore | e.Commit | e.Merge


class EffectPerformer:
    """Performs the effects of one run."""

    def __init__(self, run: FeatureRun) -> None:
        self._run = run
        self._assigning = Assigning(run)
        self._checking = Checking(run)
        #: sessions of other runs, which this one leaves alone
        self.rivals: set[str] = set()

    async def do(self, effect: e.Effect, now: Situation) -> None:
        """Carry out one effect. Raises RekindleError with what to do."""
        try:
            await self._carry_out(effect, now)
        finally:
            for told in self._run.ports.git.notices():
                await self._run.warn(told, "git", f"notice-{hashlib.sha256(told.encode()).hexdigest()[:12]}")

    async def _carry_out(self, effect: e.Effect, now: Situation) -> None:
        match effect:
            case e.Assign() | e.Revive() if (other := rival(now, effect)) is not None:
                self.rivals.add(other.id)
                problem = refusal(self._run.order.feature, effect.task, other.id)
                await self._block(e.Block(effect.task, problem), now)
            case e.Assign() | e.Revive() | e.Rest() | e.Report():
                await self._assigning.do(effect, now)
            case e.RunChecks() | e.CloseChecks() | e.MakeCopy() | e.ReadVerdict() | e.Judge() | e.CheckWave():
                await self._checking.do(effect, now)
            case e.MakeFeature() | e.Prepare() | e.Restore() | e.Commit() | e.Merge():
                await self._change_git(effect, now)
            case e.Settle():
                await self._settle(effect, now)
            case e.Fail():
                failed: Data = {"taskId": effect.task, "error": effect.error, "attempts": effect.attempts}
                await self._run.tell(ev.TASK_FAILED, failed, f"failed-{effect.task}")
            case e.Notice():
                await self._run.warn(effect.message, f"task {effect.task}", f"notice-{effect.task}")
                self._run.memory.noticed.add(effect.task)
            case e.Block():
                await self._block(effect, now)
            case e.AskStrays():
                await self._ask_about_strays(effect)
            case e.MarkWave():
                await self._mark(effect.wave)
            case e.WaitUntil():
                await asyncio.sleep(max(0.0, min(effect.until - self._run.clock(), 30.0)))
            case e.Finish():
                await self._finish(effect)

    async def _change_git(self, effect: GitChange, now: Situation) -> None:
        run = self._run
        match effect:
            case e.MakeFeature():
                start = await asyncio.to_thread(run.ports.git.make_feature, run.order.base)
                data = {"name": run.branch, "parent": run.order.base or "HEAD", "commit": start}
                await run.tell("branch.created", data, "feature-branch")
            case e.Prepare():
                await self._prepare(effect)
            case e.Restore():
                await asyncio.to_thread(run.ports.git.restore, effect.task, effect.branch, effect.tip)
                await run.warn(effect.why, f"task {effect.task}", f"gone-{effect.task}-{effect.tip[:12]}")
                run.memory.restored.add(effect.task)
                run.memory.settled.discard(effect.task)
            case e.Commit():
                summary = run.order.plan.task(effect.task).summary or effect.task
                message = f"{summary}\n\nWork on task {effect.task} of {run.order.feature}, round {effect.round}."
                left_out = await asyncio.to_thread(run.ports.git.commit, effect.task, effect.branch, message)
                for number, told in enumerate(left_out):
                    await run.warn(told, f"task {effect.task}", f"left-out-{effect.task}-{effect.round}-{number}")
                before = run.memory.committed.get((effect.task, effect.round), ())
                run.memory.committed[effect.task, effect.round] = (*before, effect.tip)
            case e.Merge():
                await self._merge(effect, now)

    async def _prepare(self, effect: e.Prepare) -> None:
        git = self._run.ports.git
        made = await asyncio.to_thread(git.prepare, effect.task, effect.branch, effect.session, effect.wave)
        if made.made_branch is not None:
            data = {"name": effect.branch, "parent": self._run.branch, "taskId": effect.task}
            await self._run.tell("branch.created", data, f"branch-{effect.task}")
        if made.made_tree:
            await self._run.made_tree(effect.task, made.path, effect.branch)
        if made.notice is not None:
            await self._run.warn(made.notice, self._run.order.repository, "filters")
        if made.restored is not None:
            message = f"the worktree of task {effect.task} was gone; its files are back from a snapshot"
            await self._run.warn(message, made.restored, f"restored-{effect.task}")

    async def _merge(self, effect: e.Merge, now: Situation) -> None:
        planned = self._run.order.plan.task(effect.task)
        message = f"Merge task {effect.task}: {planned.summary}" if planned.summary else f"Merge task {effect.task}"
        merge = self._run.ports.git.merge
        done = await asyncio.to_thread(merge, effect.task, effect.branch, effect.tip, effect.epoch, message)
        if done.left_out:
            problem = merge_steps.left_out(effect, self._run.branch, done.left_out)
            await self._block(e.Block(effect.task, problem, is_blocker=True), now)
            return
        if done.commit is None:
            files = ", ".join(done.conflicts)
            await self._run.warn(
                f"task {effect.task} conflicts in {files}", effect.branch, f"conflict-{effect.tip[:12]}"
            )
            return
        resolved = now.git.merging is not None
        data = {"name": effect.branch, "target": self._run.branch, "conflicts": resolved, "taskId": effect.task}
        await self._run.tell(
            "branch.merged", {**data, "commit": done.commit}, f"merged-{effect.task}-{done.commit[:12]}"
        )

    async def _settle(self, effect: e.Settle, now: Situation) -> None:
        known, planned = now.progress[effect.task], self._run.order.plan.task(effect.task)
        git = self._run.ports.git
        if not known.merged and not effect.unchanged:
            data = {"name": effect.branch, "target": self._run.branch, "conflicts": False, "taskId": effect.task}
            await self._run.tell("branch.merged", data, f"merged-{effect.task}")
        if known.status != COMPLETE:
            if effect.unchanged:
                about = unchanged(planned, self._run.order.mode)
                await self._run.warn(about, f"task {effect.task}", f"unchanged-{effect.task}")
            files = [] if effect.unchanged else await asyncio.to_thread(git.changed_files, effect.task, effect.branch)
            data = {"taskId": effect.task, "summary": planned.summary, "files_changed": files}
            await self._run.tell(ev.TASK_COMPLETED, data, f"completed-{effect.task}")
        for name in now.sessions_of(effect.task):
            if now.sessions[name].state not in TERMINAL:
                await self._run.end(name, "completed")
        try:
            await self._run.tell_copy(effect.task, await asyncio.to_thread(git.drop_copy, effect.task))
            cleared = await asyncio.to_thread(git.clear, effect.task, effect.branch, unchanged=effect.unchanged)
        except RekindleError as error:  # its work is merged: leftovers do not end a run
            cleared = Cleared(kept=(f"{error.message} ({error.hint})",))
        if cleared.removed_tree is not None:
            await self._run.tell("worktree.removed", {"path": cleared.removed_tree}, f"removed-{effect.task}")
        for number, sentence in enumerate(cleared.kept):
            await self._run.warn(sentence, f"task {effect.task}", f"kept-{effect.task}-{number}")
        self._run.memory.settled.add(effect.task)

    async def _block(self, effect: e.Block, now: Situation) -> None:
        self._run.memory.problems[effect.task] = effect.problem
        if effect.is_blocker:
            agent = self._run.order.plan.task(effect.task).agent
            branch = now.git.branches.get(now.progress[effect.task].branch)
            data = {"description": effect.problem, "agent": agent, "task": effect.task}
            data |= {"commit": branch.tip} if branch is not None else {}
            await self._run.tell(ev.BLOCKER_REPORTED, data, f"blocked-{effect.task}")
        else:
            await self._run.warn(effect.problem, f"task {effect.task}", f"blocked-{effect.task}")

    async def _ask_about_strays(self, effect: e.AskStrays) -> None:
        await asyncio.to_thread(self._run.ports.git.keep_strays, effect.task, effect.branch, effect.strays)
        asked = strays.question(self._run.order.feature, effect.task, effect.branch, effect.strays)
        await self._run.warn(asked, f"task {effect.task}", f"strays-{effect.task}")
        self._run.memory.problems[effect.task] = asked

    async def _mark(self, wave: int) -> None:
        last = len(self._run.order.plan.waves)
        data = {
            "label": f"wave-{wave}-complete" if wave else "plan-ready",
            "branch": self._run.branch,
            "plan_step": f"wave-{wave + 1}-start" if wave < last else "finish",
            "resumable": True,
        }
        await self._run.tell(ev.CHECKPOINT, data, f"checkpoint-{wave}")

    async def _finish(self, effect: e.Finish) -> None:
        if effect.reason == "completed":
            await asyncio.to_thread(self._run.ports.git.clear_integration)
