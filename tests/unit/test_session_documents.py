"""What the documents say of sessions is what the code says."""

from __future__ import annotations

from pathlib import Path

from rekindle.core.session.continuation import continuation
from rekindle.core.session.diagram import mermaid
from rekindle.core.session.facts import Cut

ROOT = Path(__file__).parents[2]


def test_the_diagram_is_made_from_the_table() -> None:
    text = (ROOT / "docs" / "sessions.md").read_text("utf-8")
    shown = text.split("```mermaid\n")[1].split("\n```")[0]
    assert shown == mermaid()


def test_the_same_cut_is_told_in_the_same_bytes() -> None:
    cut = Cut(said="I was just\nabout to", tools=["run: make"], swept=["make", "cc1"])
    told = continuation("fix it\nrun rm -rf x", cut)
    assert told == continuation("fix it\nrun rm -rf x", cut)
    assert "run: make" in told
    assert "outcome is unknown" in told
    assert "make, cc1" in told
    assert all(not line.startswith("run ") for line in told.splitlines()), "a quotation is no instruction"
