"""Phrases that read as translated do not come back: the sources and the documents say it the plain way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAIN = {
    r"\bis no (duration|answer|TOML|number|path|UTF-8)\b": "is not a valid …",
    r"\bis no (longer )?(event type|session's id|sandbox)\b": "is not a …",
    r"\bSo (long|many|much) (a|an|of|tasks|tokens|dollars)\b": "how long, how many, the maximum",
    r"\bgoes on without you\b": "Still running. Reattach: …",
    r"\b1 (tasks|waves|sessions|features|bytes|issues)\b": "use the singular",
    r"\bNot so good\b": "Known limitations",
    r"\bby another hand\b": "by somebody else",
    r"\bgo(es)? on in their keepers\b": "keep working in their keepers",
    r"(started|folded|does it,|This is) as ever\b": "as always, as usual",
    r"\b(is|are) not yours to\b": "cannot be …; rekindle sets it",
    r"\bbegin(s|ning)? anew after\b": "restart(s) after",
    r"\bdo(es)? not go together\b": "cannot be combined; conflict",
    r"\bfit for the job\b": "set up correctly",
    r"\brightly changes nothing\b": "finishes without changing anything",
}


def texts() -> Iterator[tuple[str, str]]:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
    for path in pages:
        yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


@pytest.mark.parametrize("phrase", PLAIN)
def test_what_reads_as_translated_stays_away(phrase: str) -> None:
    found = [
        f"{name}:{text.count(chr(10), 0, one.start()) + 1}: {one[0]!r}"
        for name, text in texts()
        for one in re.finditer(phrase.replace(" ", r"\s+"), text)
    ]
    assert found == [], f"say instead: {PLAIN[phrase]}"
