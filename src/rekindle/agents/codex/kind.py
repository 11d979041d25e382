"""Codex, through its ACP adapter: its own `codex exec` takes an unknown name for a new thread."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart
from rekindle.agents.base.lenient import parse
from rekindle.agents.codex.dialect import CodexDialect
from rekindle.agents.codex.transcript import CodexTranscript, new_place


def _argv(start: AgentStart) -> tuple[str, ...]:
    return ("codex-acp", *start.arguments)


def _variables(start: AgentStart, environment: Mapping[str, str]) -> dict[str, str]:
    """The adapter has no flag for the model; whatever else the user configured in the same way is kept.

    A client that asks for failures also gets suggestions for what the user could say next: a request to the model
    after every turn, which nobody reads.
    """
    quiet = {"CODEX_ACP_PROMPT_SUGGESTIONS": "false"}
    if start.model is None:
        return quiet
    configured = parse(environment.get("CODEX_CONFIG", "").encode())
    config = {**(configured if isinstance(configured, dict) else {}), "model": start.model}
    return {**quiet, "CODEX_CONFIG": json.dumps(config)}


KIND = AgentKind(
    name="codex",
    title="Codex",
    argv=_argv,
    dialect=CodexDialect,
    transcript=CodexTranscript(),
    new_place=new_place,
    compact="/compact",
    program="codex-acp",
    variables=_variables,
    faults=(
        "It says that a turn which failed has ended well: rekindle asks it for the failure.",
        "It shows a conversation from a database, and its model gets it from a file: rekindle compares both.",
        "Without its file it opens the conversation, shows nothing and then fails: rekindle notices, and rebuilds.",
        "`codex exec resume` with a name that is no UUID silently begins a new thread: rekindle does not use it.",
        "The adapter starts Codex as a child that outlives it: rekindle ends the whole tree.",
        "Killed in its first moments it has written nothing down; the prompt is then delivered again.",
    ),
    account=AccountSigns(("OPENAI_API_KEY", "CODEX_API_KEY"), (".codex/auth.json",)),
    missing="install it with `npm install --global @agentclientprotocol/codex-acp`",
)
