"""The class of an error is for rules; a person reads words."""

from __future__ import annotations

from typing import get_args

import pytest

from rekindle.core.runbook.triggers import ErrorClass
from rekindle.core.session.failure_words import plain


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("rate_limited: Rate limit reached", "Rate limit reached"),
        ("rate_limited: 429", "a limit was reached: 429"),
        ("unauthorized: Invalid API key", "the login was refused: Invalid API key"),
        ("overloaded: Overloaded", "Overloaded"),
        ("no_internet: ENOTFOUND", "the model's service cannot be reached: ENOTFOUND"),
        ("other: it said: no", "it said: no"),
        ("its agent ended: killed by SIGKILL", "its agent ended: killed by SIGKILL"),
        ("rate_limited: ", "rate_limited: "),
        ("", ""),
    ],
)
def test_a_failure_is_told_in_words_and_once(told: str, shown: str) -> None:
    assert plain(told) == shown


@pytest.mark.parametrize("error", get_args(ErrorClass))
def test_no_class_of_errors_is_shown_as_a_code(error: str) -> None:
    words = plain(f"{error}: x")
    assert words == "x" if error == "other" else words.endswith(": x")
    assert "_" not in words
