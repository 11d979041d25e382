"""The real agents as npm installed them, and the one way to say that one is not there."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

NODE_MODULES = Path(__file__).parent / "node_modules"
#: Set where the agents were installed: then a test that cannot find one fails.
REQUIRED = "REKINDLE_REAL_REQUIRED"
MISSING = "real agent not installed"

_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
#: Where there is one, the native program; else npm's launcher, whose children may outlive it.
_NATIVE = {
    "claude": (f"@anthropic-ai/claude-code-linux-{_MACHINE}/claude",),
    "claude-newest": (f"../newest/node_modules/@anthropic-ai/claude-code-linux-{_MACHINE}/claude",),
    "amp": ("@ampcode/cli-linux-x64/amp",),
    "auggie": (".bin/auggie",),
    "codex": (".bin/codex-acp",),
    "copilot": (".bin/copilot",),
    "gemini": (".bin/gemini",),
    "opencode": (f"opencode-linux-{_MACHINE}/bin/opencode", ".bin/opencode"),
    "qwen": (".bin/qwen",),
}
#: The Node of agents that ask for a newer one than many machines have.
_NODE = {"qwen": (f"node-linux-{_MACHINE}/bin/node",)}


def program(agent: str) -> Path:
    """The agent's program. Skips the test, or fails it, if it is not installed."""
    return _installed(agent, _NATIVE[agent])


def companions(agent: str) -> dict[str, Path]:
    """What the agent has to find on the PATH before what the machine has there."""
    return {"node": _installed(f"the Node of {agent}", _NODE[agent])} if agent in _NODE else {}


def _installed(what: str, candidates: tuple[str, ...]) -> Path:
    for candidate in candidates:
        if (NODE_MODULES / candidate).is_file():
            return NODE_MODULES / candidate
    sentence = f"{MISSING}: {what} (run `make agents`; it needs npm and its registry)"
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)
