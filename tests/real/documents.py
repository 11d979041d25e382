"""Renews what the documents have from the code: `python -m tests.real.documents`."""

from __future__ import annotations

import re
from pathlib import Path

from rekindle.agents.overview import faults, table

PAGE = Path(__file__).parents[2] / "docs" / "agents" / "README.md"


def renewed(text: str) -> str:
    """The page with its tables as they should be."""
    for mark, content in (("agents", table()), ("faults", faults())):
        pattern = re.compile(f"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
        text = pattern.sub(lambda found, content=content: f"{found[1]}{content}\n{found[2]}", text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
