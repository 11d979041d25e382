"""Amp. Its threads live on its maker's servers: it does nothing without an account, so it has never been tried."""

from __future__ import annotations

from rekindle.agents.amp.dialect import AmpDialect
from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart, refusing


def _argv(start: AgentStart) -> tuple[str, ...]:
    thread = ("threads", "continue", start.token) if start.how == "load" and start.token else ()
    mode = ("--mode", start.model) if start.model is not None else ()
    lines = ("--execute", "--stream-json", "--stream-json-input", "--no-archive-after-execute")
    return ("amp", *thread, *lines, *mode, *start.arguments)


KIND = AgentKind(
    name="amp",
    title="Amp",
    argv=_argv,
    dialect=AmpDialect,
    proof="transcript",
    program="amp",
    resumes="threads continue",
    refused=refusing(
        "-x", "--execute", "--stream-json", "--stream-json-input", "--last", "--no-tui", "--no-archive-after-execute"
    ),
    faults=(
        "Its threads are kept by its maker: rekindle cannot compare them, so a resumed one is never called the same.",
        "A turn of it cannot be interrupted, and it asks for no permission: its own settings decide.",
    ),
    untested="everything but its version and its argument lines needs an account; its stream is driven as it is"
    " documented",
    account=AccountSigns(("AMP_API_KEY",), (".local/share/amp/secrets.json",)),
    missing="install it with `npm install --global @sourcegraph/amp`",
)
