"""The scripted agent: an ACP agent of our own that needs no account. The embedded default."""

from __future__ import annotations

import sys

from rekindle.agents.kind import AgentKind


def _argv(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return (sys.executable, "-m", "rekindle.scripted", *arguments)


SCRIPTED = AgentKind(name="scripted", title="Scripted agent (built in)", transport="acp", argv=_argv)
