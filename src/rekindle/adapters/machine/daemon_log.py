"""The daemon's log: it never takes more than a few megabytes, and the same fault does not fill it again and again."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from logging.handlers import RotatingFileHandler

from rekindle.core.terminal_text import printable

#: The log is moved to daemon.log.1 when it has this many bytes; the one before that goes.
LARGEST = 4 << 20
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
#: The same fault is written this often within so many seconds; then it is only counted.
_TIMES, _SECONDS = 5, 60.0
_MOST_REMEMBERED = 200


def write(path: str | None) -> None:
    """Log from now on, to a file that is this user's alone or, without one, to standard error."""
    handler = BoundedLog(path) if path is not None else logging.StreamHandler()
    handler.setFormatter(PlainLines(_FORMAT))
    handler.addFilter(Repeated())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)  # it tells of each of its parts


class PlainLines(logging.Formatter):
    """One line for each message: a name from elsewhere can neither begin another one nor steer who reads it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line, without what belongs to an exception."""
        return printable(super().formatMessage(record))


class BoundedLog(RotatingFileHandler):
    """A log of two files. Standard output and error follow it when it moves on."""

    def __init__(self, path: str, largest: int = LARGEST) -> None:
        super().__init__(path, maxBytes=largest, backupCount=1, encoding="utf-8", errors="backslashreplace")
        os.chmod(path, 0o600)

    def doRollover(self) -> None:
        """Start a new file."""
        super().doRollover()
        with contextlib.suppress(OSError):
            os.chmod(self.baseFilename, 0o600)
            for standard in (1, 2):  # they came with the file that has just been moved away
                if self.stream is not None:
                    os.dup2(self.stream.fileno(), standard)

    def handleError(self, record: logging.LogRecord) -> None:
        """What cannot be logged (a full disk, no file descriptor left) is skipped: reporting it would fail too."""


class Repeated(logging.Filter):
    """Lets the same fault through a few times a minute, and says how many more there were."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: OrderedDict[tuple[object, ...], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        if record.levelno < logging.WARNING:
            return True
        failure = record.exc_info[1] if record.exc_info else None
        message = record.getMessage()
        key = (record.name, record.levelno, message, type(failure), str(failure))
        since, times = self._seen.pop(key, (self._clock(), 0))
        left_out = max(0, times - _TIMES)
        if self._clock() - since >= _SECONDS:
            since, times = self._clock(), 0
            if left_out:
                record.msg, record.args = f"{message} (and {left_out} more like this)", ()
        self._seen[key] = since, times + 1
        if len(self._seen) > _MOST_REMEMBERED:
            self._seen.popitem(last=False)
        return times < _TIMES
