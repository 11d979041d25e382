"""Carries out a hook call inside the daemon, for a script that waits for it.

The same as in the hook client, with two differences. The daemon has an environment of its own, so a caller whose
settings are elsewhere is turned away, and the hook client serves it. And nothing is written for a script that has
stopped waiting: it has the hook client write, and an event must not be written twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from rekindle.adapters.git import repository
from rekindle.adapters.journal_file.append import Appender
from rekindle.hooks.noting import HookCaller, note
from rekindle.hooks.open_journals import OpenJournals

#: What has to be the same for the daemon and the caller: where settings and state are.
_SAME = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


class _Lent:
    """The journal of one call, among those that the daemon has open."""

    def __init__(self, journals: OpenJournals, is_waited_for: Callable[[], bool]) -> None:
        self._journals = journals
        self._is_waited_for = is_waited_for

    def take(self, path: str, root: str, state: str, seconds: float) -> Appender:
        return self._journals.take(path, root, state, seconds, self._is_waited_for)

    def give_back(self, appender: Appender) -> None:
        self._journals.give_back(appender)


def carry_out(
    given: bytes,
    name: str,
    variables: Mapping[str, str],
    journals: OpenJournals,
    *,
    parent: int,
    is_inside: Callable[[], bool],
    is_waited_for: Callable[[], bool],
    replaced: list[int] | None = None,
) -> str:
    """Append the events of the call `name`; returns what the hook tells its agent. Raises what goes wrong.

    `replaced` gets descriptors of files that were replaced, to be closed once the agent waits no longer.
    """
    other = [one for one in _SAME if variables.get(one, "") != os.environ.get(one, "")]
    if other or repository.is_overridden() or os.environ.get("SUDO_UID"):
        raise ValueError(f"the caller has another environment: {', '.join(other)}")
    caller = HookCaller(
        cwd=variables["PWD"],
        environment={one: value for one, value in variables.items() if value},
        parent=parent,
        is_inside=is_inside,
        call=name,
        journals=_Lent(journals, is_waited_for),
        replaced=replaced,
    )
    return note(given, caller)
