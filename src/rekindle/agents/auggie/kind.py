"""Auggie, by Augment Code. Its load could not be tried without an account, so a new conversation gets the history."""

from __future__ import annotations

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart, refusing


def _argv(start: AgentStart) -> tuple[str, ...]:
    model = ("--model", start.model) if start.model is not None else ()
    return ("auggie", "--acp", *model, *start.arguments)


KIND = AgentKind(
    name="auggie",
    title="Auggie",
    argv=_argv,
    dialect=AcpDialect,
    program="auggie",
    native=False,
    refused=refusing("--acp", "-c", "--continue", "-r", "--resume", "--dont-save-session", "-p", "--print"),
    untested="everything behind `initialize`: it opens no conversation without an account, so that its own load is only"
    " used with `resume --native`",
    account=AccountSigns(("AUGMENT_SESSION_AUTH", "AUGMENT_API_TOKEN"), (".augment/session.json",)),
    missing="install it with `npm install --global @augmentcode/auggie`",
)
