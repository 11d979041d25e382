"""An agent that is used as an interactive program: keys in, a screen out.

A terminal reveals little: bytes come, or they do not. No byte says that the program is ready, that it took a prompt
or that a turn is over. So a program is ready when it is silent after its first output (briefly, if it has told the
terminal that it reads lines), and a turn is over when the terminal is silent and the agent's own record, if it can be
read, has the prompt and no tool that is still running. What the agent said is in that record, not here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rekindle.agents.base.dialect import Awaited, CallbackResult, Keys, Opening, OpenState, Outgoing, Silence
from rekindle.agents.base.framing import Oversized
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.observation import CallbackAsked, How, Observation
from rekindle.agents.base.transcript import Record

ESCAPE: Final = b"\x1b"
ENTER: Final = b"\r"
#: Two faster Escapes are a key of their own: Claude Code then opens a menu, which swallows the prompt.
_BETWEEN_ESCAPES: Final = 1.2
#: A letter that follows Escape faster than this is a key of its own, too.
_BEHIND_ESCAPE: Final = 0.3
#: A program needs time to read what is typed; an Enter in the middle would be part of the text.
_BEFORE_ENTER: Final = 0.3
_CHARACTERS_A_SECOND: Final = 20_000
_LONGEST_WAIT: Final = 5.0

#: How long a program that waits for input is silent. One that is working keeps moving something on the screen.
READY_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 2.0
#: Nearly every program that reads lines asks the terminal for this (bracketed paste) when it starts to.
_READS: Final = b"\x1b[?2004h"
#: How long a program that has not asked must be silent before it counts as reading: it may still be loading.
MUTE_SECONDS: Final = 5.0
#: How long a prompt may be missing from the record of a silent agent.
UNSEEN_SECONDS: Final = 20.0

_KEYS: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def typeable(text: str) -> str:
    """A text in a form that can be typed: a control character would be a key, a tab would complete something."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return _KEYS.sub("", lines).strip()


def is_ready(*, reads: bool, silent: float) -> bool:
    """Whether a program that was just started seems to be waiting for input."""
    return silent >= (READY_SECONDS if reads else MUTE_SECONDS)


def judge(silent: float, turn: Awaited, record: Record | None) -> Silence:
    """What is known about a turn after this many seconds of silence.

    Without a record, silence is all there is. With one, silence while a tool is running means that the agent is asking
    a question on its screen, and a prompt that the record lacks was typed into something other than its input line.
    """
    if record is None:
        return "over" if silent >= QUIET_SECONDS else "nothing"
    if sum(one.strip() == turn.text.strip() for one in record.prompts) <= turn.earlier:
        return "unseen" if silent >= UNSEEN_SECONDS else "nothing"
    return "over" if silent >= QUIET_SECONDS and not record.open_tools else "began"


class TerminalDialect:
    """See `agents.base.dialect.Dialect`. A prompt is sent when its Enter is; all keys have derived ids."""

    def __init__(self, attempt: int, cwd: str, token: str | None = None) -> None:
        self._attempt = attempt
        self._token = token
        self._wanted: How | None = None
        self._ready = False
        self._texts: dict[str, str] = {}
        self._sent: set[str] = set()
        self._prompt: str | None = None
        self._tail = b""
        self._reads = False

    @property
    def open(self) -> OpenState:
        """What is still open: nothing that could be answered."""
        return OpenState(
            initialized=None,
            token=self._token,
            opened=self._wanted if self._ready else None,
            awaiting=(),
            unanswered=(),
            prompt_id=self._prompt,
            cancelling=False,
            said="",
            tools=(),
        )

    @property
    def asked(self) -> Opening | None:
        """Nothing in the spools says so: the command line did."""
        return None

    @property
    def token(self) -> str | None:
        return self._token

    @property
    def is_prompting(self) -> bool:
        return self._prompt is not None

    @property
    def is_opening(self) -> bool:
        """Whether the program was started and is not known to be ready."""
        return self._wanted is not None and not self._ready

    def begin(self, how: How, token: str | None) -> list[Outgoing]:
        """The command line already said which conversation it is."""
        self._wanted, self._token = how, token or self._token
        return []

    def showed(self, data: bytes) -> None:
        """Bytes for the screen, whole lines or not."""
        if not self._reads:
            self._reads = _READS in self._tail + data
            self._tail = (self._tail + data)[-len(_READS) :]

    def silence(self, seconds: float, turn: Awaited | None, record: Record | None) -> Silence:
        """The program is ready, or its turn is over, once it has been silent for long enough."""
        if self.is_opening:
            self._ready = is_ready(reads=self._reads, silent=seconds)
            return "ready" if self._ready else "nothing"
        if turn is None:
            return "nothing"
        found = judge(seconds, turn, record)
        if found in ("over", "unseen"):
            self._prompt = None
        return found

    def follow_up(self, seen: Observation) -> list[Outgoing]:
        return []

    def approach(self, prompt_id: str, text: str) -> list[Keys]:
        """What is typed before the Enter: leave menus and half-typed keys, then type the text as it is."""
        typed = typeable(text)
        pause = min(_LONGEST_WAIT, _BEFORE_ENTER + len(typed) / _CHARACTERS_A_SECOND)
        return [
            Keys(self._message(prompt_id, "escape", ESCAPE), _BETWEEN_ESCAPES),
            Keys(self._message(prompt_id, "escape2", ESCAPE), _BEHIND_ESCAPE),
            Keys(self._message(prompt_id, "text", typed.encode()), pause),
        ]

    def say(self, prompt_id: str, text: str) -> Outgoing:
        """The Enter after the text."""
        return self._message(prompt_id, "enter", ENTER)

    def cancel(self, prompt_id: str) -> list[Outgoing]:
        """Escape interrupts a turn."""
        return [self._message(prompt_id, "cancel", ESCAPE)]

    def answer(self, request: str, option: str | None) -> Outgoing | None:
        return None

    def reply(self, asked: CallbackAsked, result: CallbackResult) -> Outgoing | None:
        """A screen carries no requests."""
        return None

    def prompt_in(self, message_id: str, line: bytes) -> tuple[str, str] | None:
        """The prompt whose Enter this is; its text was sent before."""
        prompt, step = _parts(message_id)
        return (prompt, self._texts.get(prompt, "")) if step == "enter" else None

    def was_sent(self, message_id: str) -> bool:
        return message_id in self._sent

    def sent(self, message_id: str, line: bytes) -> None:
        self._sent.add(message_id)
        prompt, step = _parts(message_id)
        if step == "text":
            self._texts[prompt] = line.decode("utf-8", "replace")
        elif step == "enter":
            self._prompt = prompt

    def received(self, line: bytes) -> list[Observation]:
        return []

    def oversized(self, skipped: Oversized) -> list[Observation]:
        return []

    def is_due(self, message_id: str, line: bytes) -> bool:
        return True

    def needed(self, line: bytes, waiting: Sequence[tuple[str, bytes]]) -> int:
        return 0

    def _message(self, prompt_id: str, step: str, keys: bytes) -> Outgoing:
        return Outgoing(f"{self._attempt}-{prompt_id}-{step}", keys)


def _parts(message_id: str) -> tuple[str, str]:
    """The prompt and the step that a message id names."""
    head, _, step = message_id.rpartition("-")
    return head.partition("-")[2], step


def in_terminal(kind: AgentKind) -> AgentKind:
    """The same agent, used as an interactive program: only its own record can prove which conversation it is in."""
    assert kind.terminal is not None, "checked when the session was created"
    mint = kind.mint or kind.terminal_mint
    return replace(kind, argv=kind.terminal, dialect=TerminalDialect, proof="transcript", mint=mint)
