"""The teams of agents that work on features, as the agents' own program keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

TeamVerdict = Literal["reused", "written anew", "missing", "lacks agents"]


class AgentTeams(Protocol):
    """`home` is the user's home folder, `team` the team's name."""

    def look(self, home: str, team: str, needed: Sequence[str]) -> TeamVerdict:
        """Whether the team exists and lists everybody who is needed. Changes nothing."""
        ...

    def ensure(self, home: str, team: str, agents: Mapping[str, str], tasks: Sequence[dict[str, Any]]) -> TeamVerdict:
        """Reuse the team, or write it again with its tasks; an old file is kept."""
        ...
