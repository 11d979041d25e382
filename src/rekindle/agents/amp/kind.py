"""Amp. Its threads live with its maker: without an account it says nothing, so nobody could try to drive it."""

from __future__ import annotations

from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart, refusing
from rekindle.agents.claude.dialect import ClaudeDialect


def _argv(start: AgentStart) -> tuple[str, ...]:
    thread = ("threads", "continue", start.token) if start.how == "load" and start.token is not None else ()
    mode = ("--mode", start.model) if start.model is not None else ()
    return ("amp", *thread, "--execute", "--stream-json", "--stream-json-input", *mode, *start.arguments)


KIND = AgentKind(
    name="amp",
    title="Amp",
    argv=_argv,
    dialect=ClaudeDialect,
    program="amp",
    resumes="threads continue",
    refused=refusing("-x", "--execute", "--stream-json", "--stream-json-input", "--last", "--no-tui"),
    obstacle="it speaks no ACP, and its own stream is shown to nobody without an account",
    untested="everything but its version and its argument lines",
    account=AccountSigns(("AMP_API_KEY",), (".local/share/amp/secrets.json",)),
    missing="install it with `npm install --global @sourcegraph/amp`",
)
