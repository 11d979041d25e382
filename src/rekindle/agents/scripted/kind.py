"""The scripted agent: an ACP agent of our own that needs no account. The embedded default."""

from __future__ import annotations

import sys

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind, AgentStart
from rekindle.agents.scripted.transcript import ScriptedTranscript


def _argv(start: AgentStart) -> tuple[str, ...]:
    return (sys.executable, "-m", "rekindle.scripted", *start.arguments)


KIND = AgentKind(
    name="scripted",
    title="Scripted agent (built in)",
    argv=_argv,
    dialect=AcpDialect,
    transcript=ScriptedTranscript(),
    compact="/compact",
)
