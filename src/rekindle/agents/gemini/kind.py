"""Gemini CLI. Its own way to load a conversation can destroy it, so it is used only if somebody asks for it."""

from __future__ import annotations

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.json_lines import JsonLines
from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart, refusing
from rekindle.agents.gemini.transcript import GeminiMeaning


def _argv(start: AgentStart) -> tuple[str, ...]:
    model = ("--model", start.model) if start.model is not None else ()
    return ("gemini", "--acp", *model, *start.arguments)


KIND = AgentKind(
    name="gemini",
    title="Gemini CLI",
    argv=_argv,
    dialect=AcpDialect,
    transcript=JsonLines(GeminiMeaning()),
    compact="/compress",
    program="gemini",
    native=False,
    load_span=60.0,
    refused=refusing("--acp", "--experimental-acp", "-r", "--resume", "--session-id", "--session-file", "-p"),
    faults=(
        "A load within the minute in which the conversation was begun or loaded destroys its history: rekindle tells a"
        " new conversation the history instead. `resume --native` asks for a load: it waits for the next minute.",
        "Each load leaves an empty file behind, for which the next start deletes the conversation: rekindle keeps a"
        " copy, and puts that file aside.",
        "It refuses a conversation of another folder.",
        "Its launcher's children outlive it: rekindle ends the whole tree.",
    ),
    account=AccountSigns(("GEMINI_API_KEY", "GOOGLE_API_KEY"), (".gemini/oauth_creds.json",)),
    missing="install it with `npm install --global @google/gemini-cli`",
)
