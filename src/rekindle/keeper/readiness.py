"""The one line that a starting guard or keeper sends over a pipe to the process that spawned it.

The line is the whole protocol: the agent runs, or a code and a sentence why not. The listener may
be dead by now; that is no reason to stop.
"""

import contextlib
import json
import os


class Readiness:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        os.set_inheritable(fd, False)

    def started(self, identity: dict[str, object]) -> None:
        self._say({"ok": True, "identity": identity})

    def failed(self, code: str, message: str, **details: object) -> None:
        self._say({"ok": False, "code": code, "message": message, **details})

    def close(self) -> None:
        """EOF tells the listener that nothing is held any more."""
        os.close(self._fd)

    def _say(self, value: dict[str, object]) -> None:
        with contextlib.suppress(OSError):
            os.write(self._fd, json.dumps(value).encode() + b"\n")
