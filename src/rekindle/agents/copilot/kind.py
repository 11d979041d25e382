"""GitHub Copilot CLI."""

from __future__ import annotations

from rekindle.agents.base.json_lines import JsonLines
from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart, refusing
from rekindle.agents.copilot.dialect import CopilotDialect
from rekindle.agents.copilot.transcript import CopilotMeaning


def _argv(start: AgentStart) -> tuple[str, ...]:
    model = ("--model", start.model) if start.model is not None else ()
    return ("copilot", "--acp", "--no-auto-update", *model, *start.arguments)


KIND = AgentKind(
    name="copilot",
    title="GitHub Copilot CLI",
    argv=_argv,
    dialect=CopilotDialect,
    transcript=JsonLines(CopilotMeaning()),
    compact="/compact",
    verbatim=True,
    program="copilot",
    refused=refusing("--acp", "-r", "--resume", "--continue", "--session-id", "--connect", "-p", "--prompt"),
    faults=(
        "It says that a turn which failed has ended well, and gives the error as words: rekindle tells them apart.",
        "It writes a new conversation down a moment late: killed in its first moments it does not know it any more.",
        "Its launcher's children outlive it: rekindle ends the whole tree.",
    ),
    account=AccountSigns(("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")),
    missing="install it with `npm install --global @github/copilot`",
)
