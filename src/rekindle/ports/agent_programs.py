"""The agents' programs on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from rekindle.agents.base.kind import AgentKind


class DryStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a dry start showed. `state`: "ready", or where it ended; `problem` says why, in words.

    `old_node` is not empty if the agent requires a newer Node than the PATH has, whether it came up or not.
    """

    state: str
    problem: str = ""
    old_node: str = ""
    can_load: bool = False
    can_resume: bool = False
    can_list: bool = False
    auth_methods: tuple[str, ...] = ()
    version: str = ""


class AgentPrograms(Protocol):
    """What is installed for an environment."""

    def path_of(self, kind: AgentKind, environment: Mapping[str, str]) -> str | None:
        """Where the agent's program is; None if it is not on the PATH, or built in."""
        ...

    def version_of(self, kind: AgentKind, path: str, environment: Mapping[str, str]) -> str:
        """The version that the program reports; empty if it reports none."""
        ...

    def account_of(self, kind: AgentKind, environment: Mapping[str, str]) -> str:
        """The name of a variable or a file that shows a key or a login; empty if none is seen. No content is read."""
        ...

    def check(self, kind: AgentKind, environment: Mapping[str, str]) -> DryStart:
        """Start the agent in an empty folder, without a prompt, and end it again."""
        ...
