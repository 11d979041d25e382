"""What a mock model does about one request, in words that hold for any vendor's wire."""

from __future__ import annotations

import threading
import time
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


class Limit:
    """A rate limit that begins with the first request it meets and tells its reset as Anthropic does."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._headers: dict[str, str] = {}
        self.reset: float | None = None
        message = "This request would exceed your account's rate limit."
        self.step = Refuse(429, "rate_limit_error", message, self._headers)

    def holds(self, _request: object) -> bool:
        """Whether it is not over yet."""
        if self.reset is None:
            self.reset = time.time() + self._seconds
            reset = {"anthropic-ratelimit-unified-reset": f"{self.reset:.0f}"}
            self._headers |= {"retry-after": f"{self._seconds:.0f}", **reset}
        return time.time() < self.reset


Step = Reply | Hang | Refuse | Fail | Drop
