"""Random transcripts of Claude Code: trees with branches, gaps, repeated lines, side chains and summaries.

Every prompt and answer says a number of its own, so that what a model was sent tells which rows were loaded.
"""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

Row = dict[str, Any]

_BEGIN = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
_SUMMARY = "This session is being continued from a previous conversation that ran out of context."


class Tree:
    """One seed, one file. `lines` are its records in the order of the file."""

    def __init__(self, seed: int, session: str, cwd: str, version: str) -> None:
        self._random = random.Random(seed)
        self._common = {
            "userType": "external",
            "entrypoint": "sdk-cli",
            "cwd": cwd,
            "sessionId": session,
            "version": version,
            "gitBranch": "HEAD",
        }
        self._session = session
        self._now = _BEGIN
        self._number = 0
        self._tip: str | None = None
        self.lines: list[Row] = []
        self._turn()
        for _ in range(self._random.randint(2, 9)):
            self._grow()
        if self._random.random() < 0.3:
            self._lose()

    @property
    def _rows(self) -> list[Row]:
        return [one for one in self.lines if "uuid" in one]

    def _grow(self) -> None:
        step = self._random.choices(
            (self._turn, self._name, self._side, self._repeat, self._sum_up, self._foreign), (60, 16, 8, 6, 8, 2)
        )[0]
        step()

    def _turn(self) -> None:
        """A prompt, mostly answered, mostly where the conversation is."""
        if self._tip is not None and self._random.random() < 0.25:
            self._tip = self._random.choice([one["uuid"] for one in self._rows])
        self._prompt(self._tip)
        if self._random.random() < 0.3:
            self._attachment()
        if self._random.random() < 0.85:
            self._answer()
        if self._random.random() < 0.6:
            self._last_prompt(self._tip)

    def _name(self) -> None:
        """A line that names a leaf: the last row, any row, or one that does not exist."""
        anywhere = [one["uuid"] for one in self._rows]
        leaf = self._random.choice([self._tip, *self._random.sample(anywhere, min(2, len(anywhere))), self._uuid()])
        self._last_prompt(leaf, explicit=self._random.random() < 0.3)

    def _side(self) -> None:
        """What an agent of the agent's said. It is never where the conversation goes on."""
        tip = self._tip
        self._prompt(tip, isSidechain=True)
        self._answer(isSidechain=True)
        self._tip = tip

    def _repeat(self) -> None:
        self.lines.append(dict(self._random.choice(self._rows)))

    def _foreign(self) -> None:
        self._prompt(None)
        self._answer()

    def _sum_up(self) -> None:
        """A summary that keeps the last rows, as the program writes it."""
        chain = self._chain()
        kept = chain[-self._random.randint(1, 2) :]
        boundary, summary = self._uuid(), self._uuid()
        metadata: Row = {"trigger": "manual", "preTokens": 17, "durationMs": 81, "postTokens": 636}
        if self._random.random() < 0.85:
            metadata["preservedMessages"] = {"anchorUuid": summary, "uuids": kept, "allUuids": kept}
        self._row(
            "system",
            parentUuid=None,
            logicalParentUuid=self._tip,
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            uuid=boundary,
            level="info",
            compactMetadata=metadata,
        )
        text = f"{_SUMMARY} Summary {self._next()}."
        marks = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self._row("user", parentUuid=boundary, message={"role": "user", "content": text}, uuid=summary, **marks)
        self._tip = summary

    def _lose(self) -> None:
        at = self._random.choice([number for number, one in enumerate(self.lines) if "uuid" in one])
        del self.lines[at]

    def _chain(self) -> list[str]:
        """The prompts and answers above the tip, the first one first."""
        rows = {one["uuid"]: one for one in self._rows}
        found: list[str] = []
        at = self._tip
        while at is not None and at in rows:
            if rows[at]["type"] in ("user", "assistant"):
                found.append(at)
            at = rows[at]["parentUuid"]
        return found[::-1]

    def _prompt(self, parent: str | None, **more: Any) -> None:
        message = {"role": "user", "content": f"prompt {self._next()}"}
        self._row("user", parentUuid=parent, message=message, promptSource="sdk", permissionMode="default", **more)

    def _answer(self, **more: Any) -> None:
        number = self._next()
        usage = {"input_tokens": 10, "output_tokens": 7}
        message = {
            "id": f"msg_{number:024}",
            "type": "message",
            "role": "assistant",
            "model": "mock-model",
            "content": [{"type": "text", "text": f"answer {number}"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        self._row("assistant", parentUuid=self._tip, message=message, **more)

    def _attachment(self) -> None:
        self._row("attachment", parentUuid=self._tip, attachment={"type": "nothing_known"})

    def _last_prompt(self, leaf: str | None, *, explicit: bool = False) -> None:
        line = {"type": "last-prompt", "leafUuid": leaf, "sessionId": self._session}
        self.lines.append({**line, "explicit": True} if explicit else line)

    def _row(self, kind: str, **more: Any) -> None:
        self._now += timedelta(seconds=self._random.choice([0.4, 1.5, 9.0]))
        stamp = self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        row = {"isSidechain": False, "type": kind, "uuid": self._uuid(), "timestamp": stamp, **self._common, **more}
        self.lines.append(row)
        self._tip = row["uuid"]

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _next(self) -> int:
        self._number += 1
        return self._number
