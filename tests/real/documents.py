"""Renews what the documents have from the code: `python -m tests.real.documents`."""

from __future__ import annotations

import re
from pathlib import Path

from rekindle.agents.base.kind import AgentKind, AgentStart
from rekindle.agents.registry import AGENTS

PAGE = Path(__file__).parents[2] / "docs" / "agents" / "README.md"


def renewed(text: str) -> str:
    """The page with its tables as they should be."""
    for mark, content in (("agents", table()), ("faults", faults())):
        pattern = re.compile(f"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
        text = pattern.sub(lambda found, content=content: f"{found[1]}{content}\n{found[2]}", text)  # type: ignore[misc]
    return text


def table() -> str:
    """One row per agent that is not built in."""
    rows = ["| agent | started with | resumes with | own record | too long |", "|---|---|---|---|---|"]
    return "\n".join([*rows, *(_row(kind) for kind in AGENTS.values() if kind.program)])


def faults() -> str:
    """What is known to be wrong with each, and what nobody could try."""
    told = []
    for kind in AGENTS.values():
        lines = [f"- {fault}" for fault in kind.faults]
        lines += [f"- Not tested: {kind.untested}."] if kind.untested else []
        if lines:
            told.append("\n".join([f"**{kind.title}** (`{kind.name}`)", "", *lines]))
    return "\n\n".join(told)


def _row(kind: AgentKind) -> str:
    line = " ".join(kind.argv(AgentStart(how="new", token=None)))
    short = line if len(line) <= 40 else f"{line[:37]}…"
    resumes = kind.resumes if kind.native else f"the history, told to a new conversation ({kind.resumes} on request)"
    record = "copied, mended, put back" if kind.transcript is not None else "not read"
    return f"| {kind.title} (`{kind.name}`) | `{short}` | {resumes} | {record} | {kind.compact or '–'} |"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
