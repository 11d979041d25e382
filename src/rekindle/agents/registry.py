"""All agents, by name: every module of `rekindle.agents.kinds`."""

from __future__ import annotations

import importlib
import pkgutil

from rekindle.agents import kinds
from rekindle.agents.kind import AgentKind


def found() -> dict[str, AgentKind]:
    """Look at what modules there are now."""
    modules = sorted(one.name for one in pkgutil.iter_modules(kinds.__path__))
    every: list[AgentKind] = [importlib.import_module(f"{kinds.__name__}.{name}").KIND for name in modules]
    return {kind.name: kind for kind in every}


AGENTS: dict[str, AgentKind] = found()
DEFAULT = "scripted"
