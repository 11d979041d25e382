"""One turn: which steps a prompt asks for, in their order, each recorded before it is begun and after it has ended."""

from __future__ import annotations

import asyncio
import json

from rekindle.scripted import report
from rekindle.scripted.conversation import STEP_FINISHED, STEP_STARTED, Status, Stop
from rekindle.scripted.hands import REJECTED, WITHDRAWN, Hands, Outcome, TurnFailed
from rekindle.scripted.script import Ask, Step, Write, parse
from rekindle.scripted.session import Session

#: Asks the agent to shorten its conversation. It has no model that forgets, so all that it does is to say so.
COMPACT = "/compact"


class Turn:
    """A turn in progress. `play` it once; `cancel` may come at any time."""

    def __init__(self, session: Session, hands: Hands) -> None:
        self._session = session
        self._hands = hands
        self._task: asyncio.Task[Stop] | None = None
        self.cancelled = False

    async def play(self, text: str) -> Stop:
        """Do what the prompt says. Raises TurnFailed for `fail`, CancelledError after `cancel`."""
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
            await self._hands.say(f"compacted: {len(conversation.users) - 1} prompts are a summary now.")
            return "compacted"
        if script.mistakes:
            for mistake in script.mistakes:
                await self._hands.say(mistake)
            await self._hands.say("nothing of this script was run.")
            return "end_turn"
        if not script.steps and not conversation.unknown() and not conversation.remaining():
            await self._hands.say("I have seen: " + json.dumps(conversation.users, ensure_ascii=False))
            return "end_turn"
        for step in conversation.unknown():
            sentence = f"step {step.number} ({step.directive}) was started, its outcome is unknown;"
            if isinstance(step.action, Write):  # the same file with the same text: once or twice makes no difference
                await self._hands.say(f"{sentence} I write it again.")
                await self._step(step)
                continue
            await self._hands.say(f"{sentence} I do not repeat it.")
            self._finished(step, None, Outcome("unknown", "unknown"))
        return await self._steps(conversation.remaining())

    async def _steps(self, steps: list[Step]) -> Stop:
        for index, step in enumerate(steps):
            if step.once is not None and step.once in self._session.conversation.done_once:
                self._started(step, None)
                self._finished(step, None, Outcome("skipped", f"{step.once} was done before"))
                continue
            outcome = await self._step(step)
            if isinstance(step.action, Ask) and outcome.result == WITHDRAWN:
                return "cancelled"
            if isinstance(step.action, Ask) and outcome.result == REJECTED:
                rest = len(steps) - index - 1
                await self._hands.say(f"permission was refused: {step.action.text}; {rest} more steps are skipped.")
                return "rejected"
        return "end_turn"

    async def _step(self, step: Step) -> Outcome:
        if isinstance(step.action, Ask) and step.action.text in self._session.conversation.always:
            self._started(step, None)
            return self._finished(step, None, Outcome("completed", "allowed before, for always"))
        call_id = f"turn-{len(self._session.conversation.users)}-step-{step.number}" if report.is_tool(step) else None
        self._started(step, call_id)
        if call_id is not None:
            await self._update(report.started(step, call_id, self._hands.cwd))
        try:
            outcome = await self._hands.do(step, call_id or "")
        except TurnFailed as failed:
            self._finished(step, None, Outcome("failed", failed.message))
            raise
        except asyncio.CancelledError:
            if self.cancelled:  # otherwise the process is on its way out, and this step is left as if it were killed
                await self._close(step, call_id, Outcome("cancelled", "cancelled"))
            raise
        return await self._close(step, call_id, outcome)

    async def _close(self, step: Step, call_id: str | None, outcome: Outcome) -> Outcome:
        self._finished(step, call_id, outcome)
        if call_id is not None:
            await self._update(report.finished(call_id, outcome.status, outcome.result))
        return outcome

    def _started(self, step: Step, call_id: str | None) -> None:
        self._session.record(STEP_STARTED, number=step.number, directive=step.directive, call=call_id)

    def _finished(self, step: Step, call_id: str | None, outcome: Outcome) -> Outcome:
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
        await self._hands.client.session_update(self._hands.session_id, update)
