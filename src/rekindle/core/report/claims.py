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

_RUN: Final = r"(?:(?:npm|pnpm|yarn|bun|deno|cargo|go|mvn|gradle|dotnet|mix|make|just)(?: run)? "
_SUBJECTS: Final[dict[Subject, str]] = {
    "tests": r"(?:\b(?:tests?|test ?suites?|suites?|specs?|test cases?|test runs?|pytest|unittest|tox|nox|jest|vitest|"
    rf"mocha|rspec|phpunit|ctest)\b|{_RUN}(?:test|check|verify|nextest)\b))",
    "build": rf"(?:\b(?:build|compilation|project|code|package)\b|{_RUN}(?:build|check|compile)\b))",
    "lint": r"(?:\b(?:lint(?:er|ers|ing)?|type ?check(?:er|ing|s)?|mypy|ruff|eslint|tsc|pyright|flake8|pylint|"
    r"clippy)\b)",
}
_NOW: Final = r"(?:now |all |again |still |fully |completely |entirely )*"
_ENDED_WELL: Final = r"(?:exit(?:s|ed)?|return(?:s|ed)?|end(?:s|ed)?|finish(?:es|ed)?)\s+(?:with\s+)?"
_STATUS: Final = rf"(?:{_ENDED_WELL}|\bexit )(?:(?:exit )?(?:code|status)\s+)?(?:of\s+)?0\b"
_GOOD: Final[dict[Subject, str]] = {
    "tests": r"(?:pass(?:es|ed|ing)?\b|succeed(?:s|ed)?\b|"
    rf"(?:is|are|were|was|'re|’re|all)\s+{_NOW}(?:green|ok|clean)\b|"
    rf"(?:ran|came back|return(?:s|ed)?|report(?:s|ed)?)\s+{_NOW}(?:clean|green|ok)\b|{_STATUS}|: ok\b)",
    "build": rf"(?:succeed(?:s|ed)?\b|pass(?:es|ed)\b|compiles?\b|builds\b|(?:is|are|was)\s+{_NOW}green\b|{_STATUS})",
    "lint": rf"(?:pass(?:es|ed|ing)?\b|succeed(?:s|ed)?\b|(?:is|are|was|'s|reports?|finds?|comes? back)\s+{_NOW}"
    rf"(?:clean|green|happy|no\b|nothing)|{_STATUS})",
}
_PLAIN: Final[dict[Subject, re.Pattern[str]]] = {
    subject: re.compile(
        rf"{_SUBJECTS[subject]}(?:[^.!?;]|\.(?!\s)){{0,60}}?(?:\b|(?=[:'’])){_GOOD[subject]}", re.IGNORECASE
    )
    for subject in _SUBJECTS
}
_COMPILES: Final = re.compile(r"\b(?:it|everything|that) (?:all )?(?:now |still )?(?:compiles|builds)\b", re.IGNORECASE)
#: Figures that test programs print, as an agent quotes them.
_FIGURES: Final = re.compile(
    r"\b(\d+)(?:\s*/\s*\1)?\s+(?:tests?\s+)?pass(?:ed|ing)\b|\ball green\b|\b(?:everything|all) passes\b.*\btests?\b",
    re.IGNORECASE,
)
_NO_CLAIM: Final = re.compile(
    r"\b(?:not|cannot|can ?not|never|no longer|fail(?:s|ed|ing|ures?)?|broken|should|would|could|might|may|must|will|"
    r"if|once|when|until|unless|after|before|whether|hope(?:fully)?|expect(?:ed)?|presumably|probably|make sure|ensure|"
    r"verify|check (?:that|whether)|to (?:get|make|see|have)|except|but|need(?:s|ed)? to|want(?:s)?|most|some|almost|"
    r"nearly|believe|think|assume|seem(?:s)?|appear(?:s)?|supposed|likely|apart from|other than|old|previously|used to|"
    r"skip(?:s|ped|ping)?)\b|n['’]t\b",
    re.IGNORECASE,
)
#: What denies a failure says that it went well.
_NONE_FAILED: Final = re.compile(
    r"\b(?:no|0|zero|without(?: any)?|not a single)\s+(?:\w+\s+)?(?:failures?|failed|failing|fails?)\b(?:\s+tests?\b)?|"
    r"\b(?:no longer|do(?:es)? not|do(?:es)?n['’]t|none (?:of them )?) fail(?:s|ed|ing)?\b",
    re.IGNORECASE,
)
_NO_ERRORS: Final = re.compile(
    r"\b(?:no|0|zero|without(?: any)?)\s+(?:errors?|warnings?|problems?|issues?)\b", re.IGNORECASE
)
#: A failure that is over.
_MENDED: Final = re.compile(
    r"\b(?:the )?(?:failing|failed|broken) (?:tests?|build|spec) (?:is|are|was|were|has been|have been) (?:now )?"
    r"(?:fixed|repaired|gone)|"
    r"\bfix(?:ed|es)? (?:the |a |all )?(?:failing|failed|broken|failures?)(?: tests?| build| specs?)?",
    re.IGNORECASE,
)
_SENTENCES: Final = re.compile(r"(?<=[.!?;])\s+|\n+")


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
    denied = _NONE_FAILED.search(sentence) is not None
    plain = _NO_ERRORS.sub("clean", _NONE_FAILED.sub(" ", _MENDED.sub(" ", sentence)))
    if _NO_CLAIM.search(plain) or sentence.rstrip().endswith("?"):
        return []
    found = [subject for subject, pattern in _PLAIN.items() if pattern.search(plain)]
    about_tests = re.search(_SUBJECTS["tests"], sentence, re.IGNORECASE) is not None
    if "tests" not in found and (_FIGURES.search(plain) or (denied and about_tests)):
        found.append("tests")
    if "build" not in found and _COMPILES.search(plain):
        found.append("build")
    return found
