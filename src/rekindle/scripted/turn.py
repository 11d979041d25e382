"""One turn: which steps a prompt asks for, in order, each recorded before it starts and after it has ended."""

from __future__ import annotations

import asyncio
import json

from rekindle.scripted import report
from rekindle.scripted.acting import REJECTED, WITHDRAWN, ActionContext, ActionOutcome, TurnError
from rekindle.scripted.conversation import STEP_FINISHED, STEP_STARTED, Status, Stop
from rekindle.scripted.script import AskAction, RecapAction, SayAction, ScriptStep, WriteAction, parse
from rekindle.scripted.session import ScriptedSession

#: Asks the agent to compact its conversation. It has no model that forgets, so it only says that it did.
COMPACT = "/compact"
#: How a question for a summary begins; its last two lines are those between which the summary goes.
SUM_UP = "SUM UP THIS CONVERSATION"


class ScriptedTurn:
    """A turn in progress. `play` it once; `cancel` may come at any time."""

    def __init__(self, session: ScriptedSession, actions: ActionContext) -> None:
        self._session = session
        self._actions = actions
        self._task: asyncio.Task[Stop] | None = None
        self.cancelled = False

    async def play(self, text: str) -> Stop:
        """Do what the prompt says. Raises TurnError for `fail`, CancelledError after `cancel`."""
        self._task = asyncio.ensure_future(self._play(text))
        return await self._task

    def cancel(self) -> None:
        """End the turn in the middle of whatever it does."""
        if self._task is not None and not self.cancelled:
            self.cancelled = True
            self._task.cancel()

    async def _play(self, text: str) -> Stop:
        script = parse(text)
        conversation = self._session.conversation
        if text.strip() == COMPACT:
            await self._actions.say(f"compacted: {len(conversation.users) - 1} prompts are a summary now.")
            return "compacted"
        if text.startswith(SUM_UP):
            return await self._sum_up(text)
        if script.mistakes:
            for mistake in script.mistakes:
                await self._actions.say(mistake)
            await self._actions.say("nothing of this script was run.")
            return "end_turn"
        if not script.steps and not conversation.unknown() and not conversation.remaining():
            await self._actions.say("I have seen: " + json.dumps(conversation.users, ensure_ascii=False))
            return "end_turn"
        for step in conversation.unknown():
            sentence = f"step {step.number} ({step.directive}) was started, its outcome is unknown;"
            if isinstance(
                step.action, WriteAction
            ):  # the same file with the same text: once or twice makes no difference
                await self._actions.say(f"{sentence} I write it again.")
                await self._step(step)
                continue
            await self._actions.say(f"{sentence} I do not repeat it.")
            self._finished(step, None, ActionOutcome("unknown", "unknown"))
        return await self._steps(conversation.remaining())

    async def _sum_up(self, text: str) -> Stop:
        """Do what the newest `recap` says; without one, the summary is what the agent has heard."""
        heard = self._session.conversation.users[:-1]
        steps = [step for one in heard for step in parse(one).steps if isinstance(step.action, RecapAction)]
        begin, end = text.rstrip().split("\n")[-2:]
        if not steps:
            await self._actions.say(f"{begin}\nI have seen: {json.dumps(heard, ensure_ascii=False)}\n{end}")
            return "end_turn"
        assert isinstance(steps[-1].action, RecapAction)
        [step] = parse(steps[-1].action.directive).steps
        if isinstance(step.action, SayAction):
            await self._actions.say(f"{begin}\n{step.action.text}\n{end}")
        else:
            await self._actions.do(step, "")
        return "end_turn"

    async def _steps(self, steps: list[ScriptStep]) -> Stop:
        for index, step in enumerate(steps):
            if step.once is not None and step.once in self._session.conversation.done_once:
                self._started(step, None)
                self._finished(step, None, ActionOutcome("skipped", f"{step.once} was done before"))
                continue
            outcome = await self._step(step)
            if isinstance(step.action, AskAction) and outcome.result == WITHDRAWN:
                return "cancelled"
            if isinstance(step.action, AskAction) and outcome.result == REJECTED:
                rest = len(steps) - index - 1
                skipped = {0: "", 1: "; 1 more step is skipped"}.get(rest, f"; {rest} more steps are skipped")
                await self._actions.say(f"permission was refused: {step.action.text}{skipped}.")
                return "rejected"
        return "end_turn"

    async def _step(self, step: ScriptStep) -> ActionOutcome:
        if isinstance(step.action, AskAction) and step.action.text in self._session.conversation.always:
            self._started(step, None)
            return self._finished(step, None, ActionOutcome("completed", "allowed before, for always"))
        call_id = f"turn-{len(self._session.conversation.users)}-step-{step.number}" if report.is_tool(step) else None
        self._started(step, call_id)
        if call_id is not None:
            await self._update(report.started(step, call_id, self._actions.cwd))
        try:
            outcome = await self._actions.do(step, call_id or "")
        except TurnError as failed:
            self._finished(step, None, ActionOutcome("failed", failed.message))
            raise
        except asyncio.CancelledError:
            if self.cancelled:  # otherwise the process is on its way out, and this step is left as if it were killed
                await self._close(step, call_id, ActionOutcome("cancelled", "cancelled"))
            raise
        return await self._close(step, call_id, outcome)

    async def _close(self, step: ScriptStep, call_id: str | None, outcome: ActionOutcome) -> ActionOutcome:
        self._finished(step, call_id, outcome)
        if call_id is not None:
            await self._update(report.finished(call_id, outcome.status, outcome.result))
        return outcome

    def _started(self, step: ScriptStep, call_id: str | None) -> None:
        self._session.record(STEP_STARTED, number=step.number, directive=step.directive, call=call_id)

    def _finished(self, step: ScriptStep, call_id: str | None, outcome: ActionOutcome) -> ActionOutcome:
        status: Status = outcome.status
        self._session.record(
            STEP_FINISHED,
            number=step.number,
            directive=step.directive,
            call=call_id,
            status=status,
            result=outcome.result,
        )
        return outcome

    async def _update(self, update: report.Update) -> None:
        await self._actions.client.update(self._actions.session_id, update)
