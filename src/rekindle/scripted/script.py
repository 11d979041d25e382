"""The script language: which lines of a prompt are directives, and what each one asks for.

Pure: no I/O, no clock. A directive is a line that *begins* with a known word in lower case; every other line is plain
talk, an indented or quoted one too, so that a prompt can cite a script without starting it.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass

FAILURES = (
    "rate_limited",
    "overloaded",
    "out_of_credits",
    "unauthorized",
    "no_internet",
    "context_overflow",
    "other",
)
SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGSEGV", "SIGSTOP")


@dataclass(frozen=True, slots=True)
class SayAction:
    text: str


@dataclass(frozen=True, slots=True)
class StreamAction:
    count: int
    seconds: float
    word: str


@dataclass(frozen=True, slots=True)
class BigAction:
    size: int


@dataclass(frozen=True, slots=True)
class WriteAction:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class RunAction:
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TerminalAction:
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadAction:
    path: str


@dataclass(frozen=True, slots=True)
class PutAction:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class AskAction:
    text: str


@dataclass(frozen=True, slots=True)
class SleepAction:
    seconds: float


@dataclass(frozen=True, slots=True)
class FailAction:
    failure: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class DieAction:
    signal: str | None
    status: int


@dataclass(frozen=True, slots=True)
class NoiseAction:
    size: int


@dataclass(frozen=True, slots=True)
class TruncateAction:
    pass


@dataclass(frozen=True, slots=True)
class SpawnAction:
    seconds: float


@dataclass(frozen=True, slots=True)
class ContextAction:
    used: int
    size: int


@dataclass(frozen=True, slots=True)
class RecapAction:
    """What to do when the agent is asked to sum up: nothing happens now."""

    directive: str


Action = (
    SayAction
    | StreamAction
    | BigAction
    | WriteAction
    | RunAction
    | TerminalAction
    | ReadAction
    | PutAction
    | AskAction
    | SleepAction
    | FailAction
    | DieAction
    | NoiseAction
    | TruncateAction
    | SpawnAction
    | ContextAction
    | RecapAction
)


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One directive: its number in the script (from 1), its text as written, and the name that `once` gave it."""

    number: int
    directive: str
    action: Action
    once: str | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """What a prompt asks for. With `mistakes`, none of it may be run."""

    steps: tuple[ScriptStep, ...] = ()
    mistakes: tuple[str, ...] = ()


class _Wrong(ValueError):
    """An invalid directive; the message says what is expected."""


def parse(text: str) -> Script:
    """The script in a prompt's text; empty for a prompt that is plain talk."""
    steps: list[ScriptStep] = []
    mistakes: list[str] = []
    for line_number, line in enumerate(text.split("\n"), 1):
        if _word(line) not in _PARSERS and _word(line) != "once":
            continue
        try:
            once, action = _directive(line)
        except _Wrong as wrong:
            mistakes.append(f"line {line_number}: {wrong}")
        else:
            steps.append(ScriptStep(len(steps) + 1, line.strip(), action, once))
    return Script(tuple(steps), tuple(mistakes))


def _word(line: str) -> str:
    return line.split(maxsplit=1)[0] if line[:1].strip() else ""


def _directive(line: str) -> tuple[str | None, Action]:
    word, rest = _cut(line)
    if word != "once":
        return None, _PARSERS[word](rest)
    name, inner = _cut(rest)
    inner_word, inner_rest = _cut(inner)
    if not name or inner_word not in _PARSERS:
        raise _Wrong("once wants a NAME and a directive, as in: once built run make")
    return name, _PARSERS[inner_word](inner_rest)


def _cut(text: str) -> tuple[str, str]:
    first, *rest = text.strip().split(maxsplit=1) or [""]
    return first, rest[0] if rest else ""


def _text(rest: str, usage: str) -> str:
    if not rest:
        raise _Wrong(usage)
    return rest


def _number(word: str, usage: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not math.isfinite(number) or number < 0:
        raise _Wrong(f"{usage}, got {word!r}")
    return number


def _whole(word: str, usage: str) -> int:
    if not (word.isascii() and word.isdigit()):
        raise _Wrong(f"{usage}, got {word!r}")
    return int(word)


def _unescape(text: str) -> str:
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")


def _words(rest: str, directive: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(rest))
    except ValueError as error:
        raise _Wrong(f"{directive}: {error}") from error
    if not words:
        raise _Wrong(f"{directive} wants a COMMAND")
    return words


def _nothing(rest: str, directive: str) -> None:
    if rest:
        raise _Wrong(f"{directive} wants nothing after it, got {rest!r}")


def _say(rest: str) -> Action:
    return SayAction(_text(rest, "say wants a TEXT"))


def _stream(rest: str) -> Action:
    usage = "stream wants COUNT SECONDS [WORD]"
    words = rest.split()
    if len(words) not in (2, 3):
        raise _Wrong(usage)
    return StreamAction(_whole(words[0], usage), _number(words[1], usage), words[2] if len(words) == 3 else "word")


def _big(rest: str) -> Action:
    return BigAction(_whole(rest, "big wants a number of BYTES"))


def _write(rest: str) -> Action:
    path, text = _cut(rest)
    return WriteAction(_text(path, "write wants a PATH and a TEXT"), _unescape(text))


def _run(rest: str) -> Action:
    return RunAction(_words(rest, "run"))


def _terminal(rest: str) -> Action:
    return TerminalAction(_words(rest, "terminal"))


def _read(rest: str) -> Action:
    return ReadAction(_text(rest, "read wants a PATH"))


def _put(rest: str) -> Action:
    path, text = _cut(rest)
    return PutAction(_text(path, "put wants a PATH and a TEXT"), _unescape(text))


def _ask(rest: str) -> Action:
    return AskAction(_text(rest, "ask wants a TEXT"))


def _sleep(rest: str) -> Action:
    return SleepAction(_number(rest, "sleep wants a number of SECONDS"))


def _fail(rest: str) -> Action:
    failure, seconds = _cut(rest)
    if failure not in FAILURES:
        raise _Wrong(f"fail wants one of {', '.join(FAILURES)}, got {failure!r}")
    return FailAction(failure, _number(seconds, "fail wants CLASS [SECONDS]") if seconds else None)


def _overflow(rest: str) -> Action:
    _nothing(rest, "overflow")
    return FailAction("context_overflow", None)


def _die(rest: str) -> Action:
    first, rest_of_it = _cut(rest)
    if first == "exit":
        status = _whole(rest_of_it, "die exit wants a status from 0 to 255")
        if status > 255:
            raise _Wrong(f"die exit wants a status from 0 to 255, got {status}")
        return DieAction(None, status)
    name = first.upper() or "SIGKILL"
    name = name if name.startswith("SIG") else f"SIG{name}"
    if name not in SIGNALS or rest_of_it:
        raise _Wrong(f"die wants nothing, `exit N` or one of {', '.join(SIGNALS)}, got {rest!r}")
    return DieAction(name, 0)


def _noise(rest: str) -> Action:
    return NoiseAction(_whole(rest, "noise wants a number of BYTES"))


def _truncate(rest: str) -> Action:
    _nothing(rest, "truncate")
    return TruncateAction()


def _spawn(rest: str) -> Action:
    return SpawnAction(_number(rest, "spawn wants a number of SECONDS"))


def _context(rest: str) -> Action:
    usage = "context wants USED SIZE, in tokens"
    words = rest.split()
    if len(words) != 2:
        raise _Wrong(usage)
    return ContextAction(_whole(words[0], usage), _whole(words[1], usage))


def _recap(rest: str) -> Action:
    word, inner = _cut(rest)
    if word not in _PARSERS or word in ("recap", "once"):
        raise _Wrong("recap wants a directive, as in: recap say all is well")
    _PARSERS[word](inner)
    return RecapAction(rest)


_PARSERS: dict[str, Callable[[str], Action]] = {
    "say": _say,
    "stream": _stream,
    "big": _big,
    "write": _write,
    "run": _run,
    "terminal": _terminal,
    "read": _read,
    "put": _put,
    "ask": _ask,
    "sleep": _sleep,
    "fail": _fail,
    "overflow": _overflow,
    "die": _die,
    "noise": _noise,
    "truncate": _truncate,
    "spawn": _spawn,
    "context": _context,
    "recap": _recap,
}
