"""Whether a task's work is good: its commands, its reviewer's copy and verdict, and the commands behind each wave."""

from __future__ import annotations

import asyncio
import shlex
from typing import Any

from rekindle.agents.base import conversation
from rekindle.core.feature import effects as e
from rekindle.core.feature import prompts
from rekindle.core.feature.quality import looked_at
from rekindle.core.feature.situation import Situation
from rekindle.core.journal import event as ev
from rekindle.core.naming_some import some_of
from rekindle.runtime.feature.run import FeatureRun

Data = dict[str, Any]
_SUMMARY = 200
_CHECK_SECONDS = 900.0
#: The most files to name in a sentence.
_NAMED = 5


Check = e.RunChecks | e.CloseChecks | e.MakeCopy | e.ReadVerdict | e.Judge | e.CheckWave


class Checking:
    """Checks the work of one run."""

    def __init__(self, run: FeatureRun) -> None:
        self._run = run

    async def do(self, effect: Check, now: Situation) -> None:
        """Carry out one effect that checks."""
        git, memory = self._run.ports.git, self._run.memory
        match effect:
            case e.RunChecks():
                await self._run_checks(effect, now)
            case e.CloseChecks():
                branch = now.progress[effect.task].branch
                await self._left(effect.task, await asyncio.to_thread(git.end_checks, effect.task, branch))
            case e.MakeCopy():
                kept = await asyncio.to_thread(git.make_copy, effect.task, effect.tip)
                await self._run.tell_copy(effect.task, kept)
            case e.ReadVerdict():
                entries = await asyncio.to_thread(self._run.ports.conversations.read, effect.session)
                memory.verdicts[effect.task, effect.round, effect.tip] = prompts.verdict(conversation.said(entries))
                await self._run.tell_copy(effect.task, await asyncio.to_thread(git.drop_copy, effect.task))
            case e.Judge():
                await self._judge(effect)
            case e.CheckWave():
                await self._check_wave(effect)

    async def _check_wave(self, effect: e.CheckWave) -> None:
        git = self._run.ports.git
        tree = await asyncio.to_thread(git.integration)
        key = f"wave-{effect.wave}-{effect.tip[:12]}"
        found = await self._commands(effect.commands, tree, key, {"wave": effect.wave, "commit": effect.tip})
        await asyncio.to_thread(git.keep_left, effect.wave)
        for issue in found:
            met: Data = {"file": None, "line": None, "error": f"wave {effect.wave}: {issue}", "attempts": 1}
            await self._run.tell(ev.ERROR_ENCOUNTERED, {**met, "resolved": False}, f"{key}-error")
        self._run.memory.waves[effect.wave, effect.tip] = found

    async def _run_checks(self, effect: e.RunChecks, now: Situation) -> None:
        """Run a task's commands in its worktree. Files they leave there are not work, and are kept apart from it."""
        git, task = self._run.ports.git, effect.task
        await self._run.judging(task, effect.round, "checks", effect.tip)
        branch = now.progress[task].branch
        self._run.memory.checking.add(task)
        await asyncio.to_thread(git.begin_checks, task, branch, effect.tip)
        key = f"{task}-{effect.round}-{effect.tip[:12]}"
        about = {"taskId": task, "round": effect.round, "commit": effect.tip}
        tree = await self._run.tree(task, now)
        found: list[str] = []
        changed: list[str] = []
        for number, command in enumerate(effect.commands):
            found += await self._command(command, tree, f"{key}-{number}", about)
            changed += await asyncio.to_thread(git.put_back, task, branch)
        left = await asyncio.to_thread(git.end_checks, task, branch)
        await self._left(task, tuple(dict.fromkeys((*changed, *left))))
        self._run.memory.checks[task, effect.round, effect.tip] = tuple(found)

    async def _left(self, task: str, left: tuple[str, ...]) -> None:
        if left:
            message = f"its checks changed {some_of(left, _NAMED)}: that is not part of the work"
            await self._run.warn(message, f"task {task}", f"left-{task}")

    async def _judge(self, effect: e.Judge) -> None:
        planned = self._run.order.plan.task(effect.task)
        await self._run.judging(effect.task, effect.round, planned.reviewer or "checks", effect.tip)
        key = f"qa-{effect.task}-{effect.round}-{effect.tip[:12]}-ended"
        about: Data = {"taskId": effect.task, "round": effect.round, "commit": effect.tip}
        if effect.issues:
            await self._run.tell("qa.failed", {**about, "issues": list(effect.issues)}, key)
            return
        summary = ", ".join(looked_at(planned, self._run.order.mode)) or "there is nothing to check it with"
        await self._run.tell("qa.passed", {**about, "summary": summary}, key)

    async def _commands(self, commands: tuple[str, ...], tree: str, key: str, about: dict[str, Any]) -> tuple[str, ...]:
        issues: list[str] = []
        for number, command in enumerate(commands):
            issues += await self._command(command, tree, f"{key}-{number}", about)
        return tuple(issues)

    async def _command(self, command: str, tree: str, key: str, about: dict[str, Any]) -> list[str]:
        """Run one command and record how it ended; returns its findings."""
        done = await self._run.ports.commands.run(shlex.split(command), tree, self._run.order.env, _CHECK_SECONDS)
        result = "pass" if done.passed else "fail"
        data = {"command": command, "result": result, "output_summary": done.output[-_SUMMARY:], **about}
        await self._run.tell("check.ran", data, f"check-{key}")
        return [] if done.passed else [f"{command}: {done.output[-1000:] or 'failed'}"]
