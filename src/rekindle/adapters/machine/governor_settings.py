"""What the user has set for all sessions together, read again whenever the settings file changes.

The daemon lives long, and a limit that somebody lowers has to hold at once. A file that cannot be read, or a value that
is not valid, changes nothing: what held before still holds, and the log says so. `rekindle config` shows the mistake.
Nor does a file that is missing or empty for a moment: editors and synchronising programs do that when they save.
"""

from __future__ import annotations

import logging
import os
import stat
import time
import tomllib
from collections.abc import Callable
from typing import Any, Final

from rekindle.core.governor.rules import BUILT_IN, GovernorRules
from rekindle.core.setting_keys import governor_rules, setting_keys
from rekindle.settings import GOVERNOR_KEYS

log = logging.getLogger(__name__)

#: Choices of other keys do not matter here.
_KEYS = setting_keys(
    dict.fromkeys(("agent", "policy", "permission", "stable_prompt", "feature_worktrees", "journal_sync"), ()), ""
)


#: A file that has been missing or empty for this many seconds is meant to be: the defaults hold.
GONE_SECONDS: Final = 10.0


class GovernorSettings:
    """Reads one file. `clock` only ever goes forward."""

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._stamp: tuple[int, int, int] | None = None
        self._rules = BUILT_IN
        self._gone_since: float | None = None

    def rules(self) -> GovernorRules:
        """What holds now. Without a file, the defaults hold."""
        stamp = self._stat()
        if stamp is None or not stamp[1]:
            self._gone_since = self._clock() if self._gone_since is None else self._gone_since
            if self._clock() - self._gone_since >= GONE_SECONDS:
                self._stamp, self._rules = None, BUILT_IN
            return self._rules
        self._gone_since = None
        if stamp != self._stamp:
            self._stamp = stamp
            self._rules = self._read()
        return self._rules

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return self._stamp
        if not stat.S_ISREG(found.st_mode):
            return self._stamp  # a pipe would block forever
        return (found.st_mtime_ns, found.st_size, found.st_ino)

    def _read(self) -> GovernorRules:
        try:
            with open(self._path, "rb") as file:
                table: dict[str, Any] = tomllib.load(file)
        except FileNotFoundError:
            self._stamp = None  # it went away after we had seen it; the next look tells
            return self._rules
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be read (%s); what held before still holds", self._path, error)
            return self._rules
        given = {name: table[name] for name in GOVERNOR_KEYS if name in table}
        wrong = [name for name, value in given.items() if not _KEYS[name].is_valid(value)]
        for name in wrong:
            log.warning("%s: %r is not a valid value of %s", self._path, given.pop(name), name)
        if wrong:
            return self._rules
        return governor_rules(given)
