"""A session that is open in this process: its transcript, and what the transcript adds up to."""

from __future__ import annotations

from typing import Any, Protocol

from rekindle.scripted.conversation import Conversation
from rekindle.scripted.transcript import Transcript


class OngoingTurn(Protocol):
    """A turn that the session is in."""

    def cancel(self) -> None:
        """End it."""
        ...


class ScriptedSession:
    """An open session; `turn` is the one in progress, if there is one."""

    def __init__(self, transcript: Transcript, conversation: Conversation, cwd: str) -> None:
        self._transcript = transcript
        self.conversation = conversation
        self.cwd = cwd
        self.turn: OngoingTurn | None = None

    def record(self, kind: str, **fields: Any) -> None:
        """Write a fact to disk, then apply it."""
        record = {"kind": kind, **fields}
        self._transcript.append(record)
        self.conversation.evolve(record)

    def close(self) -> None:
        """Close the transcript."""
        self._transcript.close()
