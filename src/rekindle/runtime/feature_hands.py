"""Carries out the effects of a feature's run: git and commands in threads, sessions through the supervisor.

Each effect is done first and written to the journal after: git (or the store) shows what was done if nobody lives to
write it down, and an event carries an id, so that nothing is told twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import shlex
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from rekindle.agents.base import conversation
from rekindle.core.feature import effects as e
from rekindle.core.feature import prompts, strays
from rekindle.core.feature.evidence import RunMemory
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.plan_file import Mode
from rekindle.core.feature.rivals import refusal, rival, title_of
from rekindle.core.feature.situation import Situation
from rekindle.core.feature.talks import signed
from rekindle.core.journal import event as ev
from rekindle.core.journal.run import COMPLETE
from rekindle.core.session import facts as f
from rekindle.core.session.asking import open_questions
from rekindle.core.session.state import TERMINAL
from rekindle.ports.conversations import Conversations
from rekindle.ports.errors import RekindleError
from rekindle.ports.feature import CheckCommands, Cleared, FeatureGit, RunEvents
from rekindle.ports.workplace import SessionPlaces
from rekindle.runtime.ending import end_agent
from rekindle.runtime.supervisor import Supervisor

Data = dict[str, Any]
_SUMMARY = 200
_CHECK_SECONDS = 900.0
#: So many files are named in a sentence.
_NAMED = 5


@dataclass(frozen=True)
class Order:
    """What is to be run, for whom, and as which run."""

    repository: str
    feature: str
    sid: str
    plan: Plan
    mode: Mode
    jobs: int
    env: dict[str, str]
    agent: str
    permission: str = "edits"
    base: str = ""
    #: what the repository is known by, whatever its path
    repository_id: str = ""


@dataclass(frozen=True)
class Tools:
    """The ports that a run works through, and the agents that there are."""

    git: FeatureGit
    supervisor: Supervisor
    events: RunEvents
    places: SessionPlaces
    commands: CheckCommands
    conversations: Conversations
    kinds: Collection[str]


@dataclass
class Hands:
    """One run's hands. They remember only what can be found out again."""

    order: Order
    tools: Tools
    memory: RunMemory = field(default_factory=RunMemory)
    #: sessions that are not this run's, and that it leaves as they are
    rivals: set[str] = field(default_factory=set)
    _started: set[str] = field(default_factory=set)

    async def do(self, effect: e.Effect, now: Situation) -> None:
        """Carry out one effect. Raises RekindleError with what to do."""
        try:
            await self._carry_out(effect, now)
        finally:
            for told in self.tools.git.notices():
                await self.warn(told, "git", f"notice-{hashlib.sha256(told.encode()).hexdigest()[:12]}")

    async def _carry_out(self, effect: e.Effect, now: Situation) -> None:
        match effect:
            case e.MakeFeature():
                start = await asyncio.to_thread(self.tools.git.make_feature, self.order.base)
                data = {"name": self._branch, "parent": self.order.base or "HEAD", "commit": start}
                await self._tell("branch.created", data, "feature-branch")
            case e.Prepare():
                await self._prepare(effect)
            case e.Restore():
                await asyncio.to_thread(self.tools.git.restore, effect.task, effect.branch, effect.tip)
                await self.warn(effect.why, f"task {effect.task}", f"gone-{effect.task}-{effect.tip[:12]}")
                self.memory.restored.add(effect.task)
                self.memory.settled.discard(effect.task)
            case e.Notice():
                await self.warn(effect.message, f"task {effect.task}", f"notice-{effect.task}")
                self.memory.noticed.add(effect.task)
            case e.Assign() | e.Revive() if (other := rival(now, effect)) is not None:
                self.rivals.add(other.id)
                await self._block(e.Block(effect.task, refusal(self.order.feature, effect.task, other.id)), now)
            case e.Assign():
                await self._say(effect, now)
            case e.Revive():
                await self._begun(effect.task, now)
                self.memory.revived[effect.session] = self.memory.revived.get(effect.session, 0) + 1
                await self._record(effect.session, f.ResumeAsked(at=self._clock(), by=signed(self.order.feature)))
            case e.Rest():
                await self.end(effect.session, "asleep")
            case e.Commit():
                summary = self.order.plan.task(effect.task).summary or effect.task
                message = f"{summary}\n\nWork on task {effect.task} of {self.order.feature}, round {effect.round}."
                left_out = await asyncio.to_thread(self.tools.git.commit, effect.task, effect.branch, message)
                for number, told in enumerate(left_out):
                    await self.warn(told, f"task {effect.task}", f"left-out-{effect.task}-{effect.round}-{number}")
                before = self.memory.committed.get((effect.task, effect.round), ())
                self.memory.committed[effect.task, effect.round] = (*before, effect.tip)
            case e.RunChecks():
                await self._run_checks(effect, now)
            case e.CloseChecks():
                branch = now.progress[effect.task].branch
                await self._left(effect.task, await asyncio.to_thread(self.tools.git.end_checks, effect.task, branch))
            case e.MakeCopy():
                kept = await asyncio.to_thread(self.tools.git.make_copy, effect.task, effect.tip)
                await self._tell_copy(effect.task, kept)
            case e.ReadVerdict():
                said = conversation.said(await asyncio.to_thread(self.tools.conversations.read, effect.session))
                self.memory.verdicts[effect.task, effect.round, effect.tip] = prompts.verdict(said)
                await self._tell_copy(effect.task, await asyncio.to_thread(self.tools.git.drop_copy, effect.task))
            case e.Judge():
                await self._judge(effect)
            case e.Merge():
                await self._merge(effect, now)
            case e.Settle():
                await self._settle(effect, now)
            case e.Fail():
                failed: Data = {"taskId": effect.task, "error": effect.error, "attempts": effect.attempts}
                await self._tell(ev.TASK_FAILED, failed, f"failed-{effect.task}")
            case e.Block():
                await self._block(effect, now)
            case e.AskStrays():
                await self._ask_about_strays(effect)
            case e.Report():
                asking = open_questions(self.tools.supervisor.engine.session(effect.session))
                name = next((one.id for one in asking if one.title == effect.question), effect.session)
                how = f"answer with `rekindle answer {name} OPTION`, or see `rekindle inbox`"
                message = f"the agent of task {effect.task} asks for permission: {effect.question} ({how})"
                await self.warn(message, f"task {effect.task}", f"asks-{effect.session}-{len(self.memory.asked)}")
                self.memory.asked.add((effect.session, effect.question))
            case e.CheckWave():
                tree = await asyncio.to_thread(self.tools.git.integration)
                key = f"wave-{effect.wave}-{effect.tip[:12]}"
                found = await self._commands(effect.commands, tree, key, {"wave": effect.wave})
                await asyncio.to_thread(self.tools.git.keep_left, effect.wave)
                for issue in found:
                    met: Data = {"file": None, "line": None, "error": f"wave {effect.wave}: {issue}", "attempts": 1}
                    await self._tell(ev.ERROR_ENCOUNTERED, {**met, "resolved": False}, f"{key}-error")
                self.memory.waves[effect.wave, effect.tip] = found
            case e.MarkWave():
                await self._mark(effect.wave)
            case e.WaitUntil():
                await asyncio.sleep(max(0.0, min(effect.until - self._clock(), 30.0)))
            case e.Finish():
                await self._finish(effect)

    async def warn(self, message: str, context: str, key: str) -> None:
        """Put a warning into the journal."""
        await self._tell(ev.WARNING_LOGGED, {"message": message, "context": context}, f"warning-{key}")

    @property
    def _branch(self) -> str:
        return self.tools.git.branch

    async def _tree(self, task: str, now: Situation) -> str:
        return await asyncio.to_thread(self.tools.git.tree_of, task, now.progress[task].branch)

    def _clock(self) -> float:
        return self.tools.supervisor.engine.clock()

    async def _tell(self, type_: str, data: dict[str, Any], key: str) -> None:
        await self.tools.events.append(type_, data, f"{self.order.sid}-{key}")

    async def _record(self, session: str, *facts: f.AnyFact) -> None:
        await self.tools.supervisor.record(session, *facts)

    async def _prepare(self, effect: e.Prepare) -> None:
        git = self.tools.git
        made = await asyncio.to_thread(git.prepare, effect.task, effect.branch, effect.session, effect.wave)
        if made.made_branch is not None:
            data = {"name": effect.branch, "parent": self._branch, "taskId": effect.task}
            await self._tell("branch.created", data, f"branch-{effect.task}")
        if made.made_tree:
            await self._made_tree(effect.task, made.path, effect.branch)
        if made.notice is not None:
            await self.warn(made.notice, self.order.repository, "filters")
        if made.restored is not None:
            message = f"the worktree of task {effect.task} was gone; its files are back from a snapshot"
            await self.warn(message, made.restored, f"restored-{effect.task}")

    async def _made_tree(self, task: str, path: str, branch: str) -> None:
        data = {"path": path, "branch": branch, "taskId": task}
        await self._tell("worktree.created", data, f"worktree-{task}")

    async def _begun(self, task: str, now: Situation) -> None:
        """A task is at work in this run: say so, once, and that it has branch and worktree, if that is new."""
        if task in self._started:
            return
        self._started.add(task)
        planned, known = self.order.plan.task(task), now.progress[task]
        if not known.has_branch:
            data = {"name": known.branch, "parent": self._branch, "taskId": task}
            await self._tell("branch.created", data, f"branch-{task}")
            await self._made_tree(task, await self._tree(task, now), known.branch)
        start: Data = {"taskId": task, "summary": planned.summary, "agent": planned.agent}
        await self._tell(ev.TASK_STARTED, {**start, "files": list(planned.files)}, f"started-{task}")

    async def _say(self, effect: e.Assign, now: Situation) -> None:
        engine = self.tools.supervisor.engine
        if effect.role == "work":
            await self._begun(effect.task, now)
        if effect.role == "review":
            await self._judging(effect.task, effect.round, effect.agent, effect.prompt)
        known = effect.session in now.sessions
        if not known:
            planned = self.order.plan.task(effect.task)
            tree = await self._place_of(effect, now)
            created = f.Created(
                at=engine.clock(),
                session=effect.session,
                agent=effect.agent if effect.agent in self.tools.kinds else self.order.agent,
                cwd=tree,
                repository=self.order.repository,
                repository_id=self.order.repository_id,
                worktree=tree,
                branch=now.progress[effect.task].branch if effect.role == "work" else None,
                worktree_told=True,
                title=title_of(effect.role, planned.summary or planned.id),
                policy="ask",
                permission="deny" if effect.role == "review" else self.order.permission,
                feature=self.order.feature,
                task=effect.task,
            )
            await asyncio.to_thread(self.tools.places.prepare, created, self.order.env)
            engine.create(created)
        facts: list[f.AnyFact] = [f.PromptQueued(at=engine.clock(), prompt=effect.prompt, text=effect.text)]
        if known and not engine.session(effect.session).is_up:
            facts.append(f.ResumeAsked(at=engine.clock(), by=signed(self.order.feature)))
        await self._record(effect.session, *facts)

    async def _place_of(self, effect: e.Assign, now: Situation) -> str:
        """Where an agent works: in its task's worktree, in a copy of what it reviews, or where merges are made."""
        git = self.tools.git
        match effect.role:
            case "work":
                return await self._tree(effect.task, now)
            case "review":
                return git.copy_of(effect.task)
            case "merge":
                tip = now.git.branches[now.progress[effect.task].branch].tip
                return await asyncio.to_thread(git.integration, tip)

    async def end(self, session: str, to: Literal["asleep", "cancelled", "completed"]) -> None:
        """End a session's agent, and wait until it is gone."""
        await end_agent(self.tools.supervisor, session, by=signed(self.order.feature), to=to)

    async def _run_checks(self, effect: e.RunChecks, now: Situation) -> None:
        """Run a task's commands in its worktree. What they leave there is not work, and is told apart from it."""
        git, task = self.tools.git, effect.task
        await self._judging(task, effect.round, "checks", effect.tip)
        branch = now.progress[task].branch
        self.memory.checking.add(task)
        await asyncio.to_thread(git.begin_checks, task, branch, effect.tip)
        key = f"{task}-{effect.round}-{effect.tip[:12]}"
        about = {"taskId": task, "round": effect.round, "commit": effect.tip}
        tree = await self._tree(task, now)
        found: list[str] = []
        changed: list[str] = []
        for number, command in enumerate(effect.commands):
            found += await self._command(command, tree, f"{key}-{number}", about)
            changed += await asyncio.to_thread(git.put_back, task, branch)
        left = await asyncio.to_thread(git.end_checks, task, branch)
        await self._left(task, tuple(dict.fromkeys((*changed, *left))))
        self.memory.checks[task, effect.round, effect.tip] = tuple(found)

    async def _left(self, task: str, left: tuple[str, ...]) -> None:
        if left:
            shown = ", ".join(left[:_NAMED]) + (f" and {len(left) - _NAMED} more" if len(left) > _NAMED else "")
            await self.warn(f"its checks changed {shown}: that is not part of the work", f"task {task}", f"left-{task}")

    async def _tell_copy(self, task: str, kept: str | None) -> None:
        if kept is not None:
            message = (
                f"the reviewer of task {task} changed files in its copy: they are not part of the work (see {kept})"
            )
            await self.warn(message, f"task {task}", f"copy-{task}-{kept[-12:]}")

    async def _judging(self, task: str, round_: int, reviewer: str, tip: str) -> None:
        data = {"taskId": task, "round": round_, "reviewer": reviewer}
        await self._tell("qa.started", data, f"qa-{task}-{round_}-{tip[:12]}")

    async def _judge(self, effect: e.Judge) -> None:
        planned = self.order.plan.task(effect.task)
        await self._judging(effect.task, effect.round, planned.reviewer or "checks", effect.tip)
        key = f"qa-{effect.task}-{effect.round}-{effect.tip[:12]}-ended"
        about: Data = {"taskId": effect.task, "round": effect.round, "commit": effect.tip}
        if effect.issues:
            await self._tell("qa.failed", {**about, "issues": list(effect.issues)}, key)
            return
        looked = [f"{len(planned.checks)} checks"] if planned.checks and self.order.mode != "fast" else []
        looked += [f"reviewed by {planned.reviewer}"] if planned.reviewer else []
        summary = ", ".join(looked) or "there is nothing to check it with"
        await self._tell("qa.passed", {**about, "summary": summary}, key)

    async def _commands(self, commands: tuple[str, ...], tree: str, key: str, about: dict[str, Any]) -> tuple[str, ...]:
        issues: list[str] = []
        for number, command in enumerate(commands):
            issues += await self._command(command, tree, f"{key}-{number}", about)
        return tuple(issues)

    async def _command(self, command: str, tree: str, key: str, about: dict[str, Any]) -> list[str]:
        """Run one command, and write down how it ended; returns what it found."""
        done = await self.tools.commands.run(shlex.split(command), tree, self.order.env, _CHECK_SECONDS)
        result = "pass" if done.passed else "fail"
        data = {"command": command, "result": result, "output_summary": done.output[-_SUMMARY:], **about}
        await self._tell("check.ran", data, f"check-{key}")
        return [] if done.passed else [f"{command}: {done.output[-1000:] or 'failed'}"]

    async def _merge(self, effect: e.Merge, now: Situation) -> None:
        planned = self.order.plan.task(effect.task)
        message = f"Merge task {effect.task}: {planned.summary}" if planned.summary else f"Merge task {effect.task}"
        merge = self.tools.git.merge
        done = await asyncio.to_thread(merge, effect.task, effect.branch, effect.tip, effect.epoch, message)
        if done.commit is None:
            files = ", ".join(done.conflicts)
            await self.warn(f"task {effect.task} conflicts in {files}", effect.branch, f"conflict-{effect.tip[:12]}")
            return
        resolved = now.git.merging is not None
        data = {"name": effect.branch, "target": self._branch, "conflicts": resolved, "taskId": effect.task}
        await self._tell("branch.merged", {**data, "commit": done.commit}, f"merged-{effect.task}-{done.commit[:12]}")

    async def _settle(self, effect: e.Settle, now: Situation) -> None:
        known, planned = now.progress[effect.task], self.order.plan.task(effect.task)
        git = self.tools.git
        if not known.merged:
            data = {"name": effect.branch, "target": self._branch, "conflicts": False, "taskId": effect.task}
            await self._tell("branch.merged", data, f"merged-{effect.task}")
        if known.status != COMPLETE:
            files = await asyncio.to_thread(git.changed_files, effect.task, effect.branch)
            data = {"taskId": effect.task, "summary": planned.summary, "files_changed": files}
            await self._tell(ev.TASK_COMPLETED, data, f"completed-{effect.task}")
        for name in now.sessions_of(effect.task):
            if now.sessions[name].state not in TERMINAL:
                await self.end(name, "completed")
        try:
            await self._tell_copy(effect.task, await asyncio.to_thread(git.drop_copy, effect.task))
            cleared = await asyncio.to_thread(git.clear, effect.task, effect.branch)
        except RekindleError as error:  # its work is merged: what is left lying about ends no run
            cleared = Cleared(kept=(f"{error.message} ({error.hint})",))
        if cleared.removed_tree is not None:
            await self._tell("worktree.removed", {"path": cleared.removed_tree}, f"removed-{effect.task}")
        for number, sentence in enumerate(cleared.kept):
            await self.warn(sentence, f"task {effect.task}", f"kept-{effect.task}-{number}")
        self.memory.settled.add(effect.task)

    async def _block(self, effect: e.Block, now: Situation) -> None:
        self.memory.problems[effect.task] = effect.problem
        if effect.is_blocker:
            agent = self.order.plan.task(effect.task).agent
            branch = now.git.branches.get(now.progress[effect.task].branch)
            data = {"description": effect.problem, "agent": agent, "task": effect.task}
            data |= {"commit": branch.tip} if branch is not None else {}
            await self._tell(ev.BLOCKER_REPORTED, data, f"blocked-{effect.task}")
        else:
            await self.warn(effect.problem, f"task {effect.task}", f"blocked-{effect.task}")

    async def _ask_about_strays(self, effect: e.AskStrays) -> None:
        await asyncio.to_thread(self.tools.git.keep_strays, effect.task, effect.branch, effect.strays)
        asked = strays.question(self.order.feature, effect.task, effect.branch, effect.strays)
        await self.warn(asked, f"task {effect.task}", f"strays-{effect.task}")
        self.memory.problems[effect.task] = asked

    async def _mark(self, wave: int) -> None:
        last = len(self.order.plan.waves)
        data = {
            "label": f"wave-{wave}-complete" if wave else "plan-ready",
            "branch": self._branch,
            "plan_step": f"wave-{wave + 1}-start" if wave < last else "finish",
            "resumable": True,
        }
        await self._tell(ev.CHECKPOINT, data, f"checkpoint-{wave}")

    async def _finish(self, effect: e.Finish) -> None:
        if effect.reason == "completed":
            await asyncio.to_thread(self.tools.git.clear_integration)
