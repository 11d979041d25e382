"""A place for agents: a working folder, a home for transcripts, and an end for every process that a test starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scripted.client import Message, Wire


class Place:
    """Where the agents of one test live."""

    def __init__(self, folder: Path) -> None:
        self.cwd = folder / "work"
        self.home = folder / "home" / "scripted"
        self.cwd.mkdir()
        self.home.parent.mkdir()
        self.wires: list[Wire] = []

    def agent(
        self,
        *words: str,
        stderr: Path | None = None,
        answers: dict[str, Callable[[Message], Any]] | None = None,
        **capabilities: Any,
    ) -> Wire:
        """A running agent that has been greeted."""
        wire = Wire(self.home, *words, stderr=stderr, answers=answers)
        self.wires.append(wire)
        wire.initialize(**capabilities)
        return wire

    def transcript(self, session_id: str) -> Path:
        return self.home / f"{session_id}.jsonl"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for wire in made.wires:
        wire.close()
    seen = [message for wire in made.wires for message in wire.seen]
    check_schema(seen)


def check_schema(messages: list[Message]) -> None:
    """Whatever the agent sent on its own account is what the protocol's schema says."""
    from acp import schema
    from pydantic import BaseModel

    models: dict[str, type[BaseModel]] = {
        "session/update": schema.SessionNotification,
        "session/request_permission": schema.RequestPermissionRequest,
        "fs/read_text_file": schema.ReadTextFileRequest,
        "fs/write_text_file": schema.WriteTextFileRequest,
        "terminal/create": schema.CreateTerminalRequest,
    }
    for message in messages:
        model = models.get(message.get("method", ""))
        if model is not None:
            model.model_validate(message["params"])
