"""What the records of a conversation add up to: the agent's memory of it. Pure.

`evolve` is the only place where a record changes it, in the running agent and after a load alike, so what a killed
agent knew and what its successor knows can differ only by the records that never reached the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from rekindle.scripted.script import AskAction, Script, ScriptStep, parse

SESSION: Final = "session"
USER: Final = "user"
ASSISTANT: Final = "assistant"
STEP_STARTED: Final = "step-started"
STEP_FINISHED: Final = "step-finished"
TURN_ENDED: Final = "turn-ended"

Status = Literal["completed", "failed", "cancelled", "unknown", "skipped"]
Stop = Literal["end_turn", "rejected", "cancelled", "failed", "compacted"]

Record = dict[str, Any]

#: A turn that stopped in one of these ways has finished its script; any other leaves the rest to the next prompt.
_SETTLED = ("end_turn", "rejected")


@dataclass(slots=True)
class Conversation:
    """State of one conversation; changes only through `evolve`."""

    cwd: str = ""
    created: str = ""
    users: list[str] = field(default_factory=list)
    spoken: int = 0
    script: Script = field(default_factory=Script)
    started: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    settled: bool = True
    done_once: set[str] = field(default_factory=set)
    always: set[str] = field(default_factory=set)

    def unknown(self) -> list[ScriptStep]:
        """Steps of the last script that were started and whose outcome was not recorded."""
        if self.settled:
            return []
        return [step for step in self.script.steps if step.number in self.started - self.finished]

    def remaining(self) -> list[ScriptStep]:
        """Steps of the last script that were never started."""
        if self.settled:
            return []
        return [step for step in self.script.steps if step.number not in self.started]

    def evolve(self, record: Record) -> None:
        """Apply one record; a record unknown to this version changes nothing."""
        match record:
            case {"kind": "session", "cwd": str(cwd), "created": str(created)}:
                self.cwd, self.created = cwd, created
            case {"kind": "user", "text": str(text)}:
                self._heard(text)
            case {"kind": "assistant", "text": str(text)}:
                self.spoken += len(text)
            case {"kind": "step-started", "number": int(number)}:
                self.started.add(number)
                step = self._step(number)
                if step is not None and step.once is not None:
                    self.done_once.add(step.once)
            case {"kind": "step-finished", "number": int(number), "result": str(result)}:
                self.finished.add(number)
                step = self._step(number)
                if step is not None and isinstance(step.action, AskAction) and result == "allow_always":
                    self.always.add(step.action.text)
            case {"kind": "turn-ended", "stop": str(stop)}:
                self.settled = self.settled or stop in _SETTLED
            case _:
                pass

    def _heard(self, text: str) -> None:
        self.users.append(text)
        script = parse(text)
        if script.mistakes:
            self.script, self.settled = Script(), True
        elif script.steps:
            self.script, self.started, self.finished, self.settled = script, set(), set(), False

    def _step(self, number: int) -> ScriptStep | None:
        steps = self.script.steps
        return steps[number - 1] if 0 < number <= len(steps) else None
