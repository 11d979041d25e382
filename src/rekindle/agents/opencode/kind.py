"""OpenCode."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart
from rekindle.agents.base.lenient import parse
from rekindle.agents.opencode.record import OpenCodeRows


def _argv(start: AgentStart) -> tuple[str, ...]:
    return ("opencode", "acp", *start.arguments)


def _variables(start: AgentStart, environment: Mapping[str, str]) -> dict[str, str]:
    """There is no flag for the model; whatever else the user configured in the same way is kept."""
    if start.model is None:
        return {}
    configured = parse(environment.get("OPENCODE_CONFIG_CONTENT", "").encode())
    content = {**(configured if isinstance(configured, dict) else {}), "model": start.model}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(content)}


KIND = AgentKind(
    name="opencode",
    title="OpenCode",
    argv=_argv,
    dialect=AcpDialect,
    database=OpenCodeRows(),
    compact="/compact",
    program="opencode",
    variables=_variables,
    faults=(
        "It keeps its conversations in a database: rekindle cannot mend it, and rebuilds from its own record.",
        "It opens a conversation that has lost messages and says nothing: rekindle compares what it shows.",
        "It shortens a conversation that is too long and says nothing: rekindle reads that in its database.",
        "It waits out a rate limit in its own process and says nothing: to rekindle that is a silent turn.",
        "It answers to a broken database as to an unknown conversation.",
    ),
    account=AccountSigns(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"), (".local/share/opencode/auth.json",)
    ),
    missing="install it with `npm install --global opencode-ai`",
)
