"""Claude Code as rekindle starts and resumes it."""

from __future__ import annotations

from typing import Final

from rekindle.agents.base.kind import AccountSigns, AgentKind, AgentStart, refusing
from rekindle.agents.claude.dialect import ClaudeDialect
from rekindle.agents.claude.messages import derived_uuid
from rekindle.agents.claude.transcript import ClaudeTranscript

#: Flags that rekindle sets itself: another value would open a different conversation, or none.
_OURS: Final = (
    "-c",
    "--continue",
    "-r",
    "--resume",
    "--session-id",
    "--fork-session",
    "-p",
    "--print",
    "--input-format",
    "--output-format",
    "--no-session-persistence",
    "--permission-prompt-tool",
)
_MODES: Final = {"edits": "acceptEdits"}


def _argv(start: AgentStart) -> tuple[str, ...]:
    line = ["claude", "--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
    line += ["--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio"]
    return (*line, *_conversation(start))


def _terminal(start: AgentStart) -> tuple[str, ...]:
    return ("claude", *_conversation(start))


def _conversation(start: AgentStart) -> tuple[str, ...]:
    line = ["--permission-mode", _MODES.get(start.permission, "default")]
    line += ["--model", start.model or "default"]
    if start.how == "load" and start.token is not None:
        line += ["--resume", start.token]
    elif start.fork_of is not None:
        line += ["--resume", start.fork_of, "--fork-session", "--session-id", start.token or ""]
        line += ["--resume-session-at", start.at] if start.at is not None else []
    elif start.token is not None:
        line += ["--session-id", start.token]
    return (*line, *start.arguments)


def _mint(session: str, attempt: int) -> str:
    return derived_uuid("rekindle", session, attempt)


KIND = AgentKind(
    name="claude",
    title="Claude Code",
    argv=_argv,
    dialect=ClaudeDialect,
    mint=_mint,
    proof="transcript",
    transcript=ClaudeTranscript(),
    compact="/compact",
    model=lambda environment: environment.get("ANTHROPIC_MODEL") or "default",
    refused=refusing(*_OURS),
    can_fork=True,
    program="claude",
    resumes="--resume",
    faults=(
        "Killed during a command, its own resume forgets the command: rekindle tells it.",
        "Commands outlive it in sessions of their own: rekindle ends the whole tree.",
        "Two processes may write to one conversation: rekindle lets only one live.",
    ),
    stable=(("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1"),),
    terminal=_terminal,
    account=AccountSigns(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"), (".claude/.credentials.json",)
    ),
    missing="install it with `npm install --global @anthropic-ai/claude-code`",
)
