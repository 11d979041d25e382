"""All agents, by name: every folder of `rekindle.agents` that has a `kind` module."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from rekindle import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.agents.base.kind import AgentKind


class _Agents(Mapping[str, "AgentKind"]):
    """Agents are named after their folders, and only those that are asked for get imported."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> AgentKind:
        if name not in self._names:
            raise KeyError(name)
        kind: AgentKind = importlib.import_module(f"{agents.__name__}.{name}.kind").KIND
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


#: Folders that agents share.
_NO_AGENTS = frozenset({"acp", "base"})


def found() -> Mapping[str, AgentKind]:
    """List the folders that exist now."""
    folders = sorted(one.name for one in pkgutil.iter_modules(agents.__path__) if one.ispkg)
    return _Agents(tuple(name for name in folders if name not in _NO_AGENTS))


AGENTS = found()
DEFAULT = "scripted"


def record_place(agent: str, environment: Mapping[str, str], cwd: str, token: str) -> str | None:
    """Where an agent keeps its record of a conversation, on the machine that an environment describes.

    None if that is not known for the agent or the token.
    """
    from rekindle.agents.base.transcript import NoPlace

    dialect = AGENTS[agent].transcript if agent in AGENTS else None
    try:
        return dialect.place(environment, cwd, token) if dialect is not None else None
    except NoPlace:
        return None
