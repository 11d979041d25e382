"""What a mock model does about one request, in words that hold for any vendor's wire."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Use:
    """A tool that the model asks for."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """Text in pieces, then tools; the end of the turn if there are no tools."""

    text: str = ""
    uses: tuple[Use, ...] = ()
    piece: int = 40
    input_tokens: int = 10
    stop: str | None = None


class Gate:
    """Closed until somebody opens it."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    def is_open(self) -> bool:
        return self._open.is_set()

    def wait(self, seconds: float) -> bool:
        return self._open.wait(seconds)


@dataclass(frozen=True)
class Hang:
    """Say a part of the reply and stall until the gate opens; then say the rest. Or stall before any byte."""

    partial: str = ""
    then: Reply = Reply("and the rest.")
    before_headers: bool = False
    gate: Gate = field(default_factory=Gate)


@dataclass(frozen=True)
class Refuse:
    """An HTTP error, in the vendor's body."""

    status: int
    kind: str = "api_error"
    message: str = "mock error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fail:
    """A stream that begins and then carries an error."""

    kind: str
    message: str = "mock error"
    partial: str = ""


@dataclass(frozen=True)
class Drop:
    """A stream that begins and whose connection is cut."""

    partial: str = ""


Step = Reply | Hang | Refuse | Fail | Drop
