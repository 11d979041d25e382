"""The scripted agent: our own ACP agent, which needs no account. The embedded default."""

from __future__ import annotations

import hashlib
import sys

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind, AgentStart
from rekindle.agents.scripted.transcript import ScriptedTranscript


def _argv(start: AgentStart) -> tuple[str, ...]:
    return (sys.executable, "-m", "rekindle.scripted", *start.arguments)


def _terminal(start: AgentStart) -> tuple[str, ...]:
    how = "--resume" if start.how == "load" else "--session-id"
    return (sys.executable, "-m", "rekindle.scripted", how, start.token or "", *start.arguments)


def _mint(session: str, attempt: int) -> str:
    return hashlib.sha256(f"{session}\0{attempt}".encode()).hexdigest()[:32]


KIND = AgentKind(
    name="scripted",
    title="Scripted agent (built in)",
    argv=_argv,
    dialect=AcpDialect,
    transcript=ScriptedTranscript(),
    compact="/compact",
    terminal=_terminal,
    terminal_mint=_mint,
)
