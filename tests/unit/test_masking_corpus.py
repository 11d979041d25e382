"""How much is masked, and how much by mistake, on a corpus of made secrets and look-alikes."""

from __future__ import annotations

from pathlib import Path

from tests import masking_corpus as corpus

DOCS = Path(__file__).parents[2] / "docs" / "search.md"
#: Secrets that look like nothing, or like a word, and have no name: the documentation says so.
KNOWN_TO_BE_MISSED = {
    "file: pgpass",
    "file: a bare word",
    "file: bare AWS secret 1",
    "file: AWS secret on a line 1",
}


def test_all_secrets_but_those_that_look_like_nothing_are_masked() -> None:
    assert {one.kind for one in corpus.missed()} == KNOWN_TO_BE_MISSED


def test_no_look_alike_is_masked() -> None:
    assert corpus.false_alarms() == []


def test_the_documentation_tells_the_figures_of_the_corpus() -> None:
    assert corpus.figures() in " ".join(DOCS.read_text().split())
