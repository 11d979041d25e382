"""What an agent claims about its work: recognised in its own words, sentence by sentence. Pure.

Only plain statements about tests, builds and linters are recognised, in English. A sentence that hopes, asks, denies or
depends on something is not a claim. What is not recognised is still shown as the agent's own words, never as proved.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from rekindle.core.report.contents import Subject
from rekindle.core.report.words import in_words

_SUBJECTS: Final[dict[Subject, str]] = {
    "tests": r"(?:(?:unit |integration |all |the |existing |new )*(?:tests?|test suite|specs?|test cases?)\b)",
    "build": r"(?:(?:the )?(?:build|compilation|project|code)\b)",
    "lint": r"(?:(?:the )?(?:lint(?:er|ing)?|type ?check(?:er|ing|s)?|mypy|ruff|eslint|tsc)\b)",
}
_GOOD: Final[dict[Subject, str]] = {
    "tests": r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:is|are|were|all)\s+(?:all\s+|now\s+)*green|ran clean)",
    "build": r"(?:succeed(?:s|ed)?|pass(?:es|ed|ing)?|compiles?|builds|works|(?:is|are|was)\s+(?:now\s+)?green)",
    "lint": r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:is|are|was|reports?)\s+(?:now\s+)?(?:clean|green|no))",
}
_PLAIN: Final[dict[Subject, re.Pattern[str]]] = {
    subject: re.compile(rf"{_SUBJECTS[subject]}[^.!?;]{{0,60}}?\b{_GOOD[subject]}", re.IGNORECASE)
    for subject in _SUBJECTS
}
#: Figures that test programs print, as an agent quotes them.
_FIGURES: Final = re.compile(r"\b(\d+)(?:\s*/\s*\1)?\s+(?:tests?\s+)?pass(?:ed|ing)\b|\ball green\b", re.IGNORECASE)
_NO_CLAIM: Final = re.compile(
    r"\b(?:not|cannot|can ?not|never|no longer|fail(?:s|ed|ing|ures?)?|broken|should|would|could|might|may|must|will|"
    r"if|once|when|until|unless|after|before|whether|hope(?:fully)?|expect(?:ed)?|presumably|probably|make sure|ensure|"
    r"verify|check (?:that|whether)|to (?:get|make|see|have)|except|but|need(?:s|ed)? to|want(?:s)?)\b|n['’]t\b",
    re.IGNORECASE,
)
#: Figures that deny a failure are no failure.
_NONE_FAILED: Final = re.compile(
    r"\b(?:no|0|zero|without(?: any)?)\s+(?:failures?|failed|errors?|failing)\b", re.IGNORECASE
)
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n+")


class SpokenClaim(msgspec.Struct, frozen=True):
    """What an agent claims, with its own sentence."""

    subject: Subject
    quote: str


def claims_in(text: str) -> list[SpokenClaim]:
    """What an agent claims in a text: the last sentence about each subject counts."""
    found: dict[Subject, SpokenClaim] = {}
    for sentence in _SENTENCES.split(text):
        for subject in _about(sentence):
            found.pop(subject, None)
            found[subject] = SpokenClaim(subject, in_words(sentence))
    return list(found.values())


def _about(sentence: str) -> list[Subject]:
    plain = _NONE_FAILED.sub("", sentence)
    if _NO_CLAIM.search(plain) or sentence.rstrip().endswith("?"):
        return []
    found = [subject for subject, pattern in _PLAIN.items() if pattern.search(plain)]
    if _FIGURES.search(plain) and "tests" not in found:
        found.append("tests")
    return found
