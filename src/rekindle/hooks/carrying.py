"""Carries out a hook call inside the daemon, for a script that waits for it.

The same as in the hook client, with two differences. The daemon has an environment of its own, so a caller whose
settings are elsewhere is turned away, and the hook client serves it. And nothing is written for a script that has
stopped waiting: it has the hook client write, and an event must not be written twice.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping

from rekindle.adapters.git import repository
from rekindle.adapters.journal_file.append import AppendCalls
from rekindle.hooks.noting import HookCaller, note

#: What has to be the same for the daemon and the caller: where settings and state are.
_SAME = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


class _WhileWaitedFor(AppendCalls):
    """Writes as always, but only for somebody who still waits. Called with the journal's lock held."""

    def __init__(self, is_waited_for: Callable[[], bool]) -> None:
        def write(fd: int, data: bytes) -> int:
            if not is_waited_for():
                raise OSError(errno.ECANCELED, "nobody waits for it any more")
            return os.write(fd, data)

        self.write = write


def carry_out(
    given: bytes,
    name: str,
    variables: Mapping[str, str],
    *,
    parent: int,
    is_inside: Callable[[], bool],
    is_waited_for: Callable[[], bool],
) -> str:
    """Append the events of the call `name`; returns what the hook tells its agent. Raises what goes wrong."""
    other = [one for one in _SAME if variables.get(one, "") != os.environ.get(one, "")]
    if other or repository.is_overridden() or os.environ.get("SUDO_UID"):
        raise ValueError(f"the caller has another environment: {', '.join(other)}")
    caller = HookCaller(
        cwd=variables["PWD"],
        environment={one: value for one, value in variables.items() if value},
        parent=parent,
        is_inside=is_inside,
        call=name,
        system=_WhileWaitedFor(is_waited_for),
    )
    return note(given, caller)
