"""Qwen Code."""

from __future__ import annotations

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.json_lines import JsonLines
from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart, refusing
from rekindle.agents.qwen.transcript import QwenMeaning


def _argv(start: AgentStart) -> tuple[str, ...]:
    model = ("--model", start.model) if start.model is not None else ()
    return ("qwen", "--acp", *model, *start.arguments)


KIND = AgentKind(
    name="qwen",
    title="Qwen Code",
    argv=_argv,
    dialect=AcpDialect,
    transcript=JsonLines(QwenMeaning()),
    compact="/compress",
    verbatim=True,
    program="qwen",
    refused=refusing("--acp", "-c", "--continue", "-r", "--resume", "--session-id", "--fork-session", "-p"),
    faults=(
        "It refuses a conversation of another folder.",
        "Its launcher's children outlive it: rekindle ends the whole tree.",
    ),
    account=AccountSigns(("OPENAI_API_KEY", "DASHSCOPE_API_KEY"), (".qwen/oauth_creds.json",)),
    missing="install it with `npm install --global @qwen-code/qwen-code` (it needs Node 22)",
    node=22,
)
