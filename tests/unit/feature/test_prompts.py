"""What a reviewer's answer is read as: nothing passes that a reviewer has not clearly passed at the end."""

from __future__ import annotations

import pytest

from rekindle.core.feature.prompts import verdict


@pytest.mark.parametrize("last", ["VERDICT: PASS", "**VERDICT: PASS**", "fine\n\n  VERDICT: PASS  \n"])
def test_a_reviewer_passes_work_with_its_last_verdict(last: str) -> None:
    assert verdict(f"VERDICT: FAIL\nNo, I was wrong.\n{last}") == ()


@pytest.mark.parametrize(
    "last",
    [
        "VERDICT: FAIL",
        "VERDICT: FAIL - it is broken",
        "**VERDICT: FAIL**",
        "Verdict: fail",
        "VERDICT: PASS, if the tests are mended",
        "VERDICT: NOT YET",
    ],
)
def test_a_verdict_that_is_taken_back_does_not_pass_however_it_is_written(last: str) -> None:
    assert verdict(f"VERDICT: PASS\nOn a second look:\n{last}") == ("the reviewer refused it without saying why",)


@pytest.mark.parametrize("said", ["", "looks good", "my VERDICT: PASS"])
def test_without_a_verdict_nothing_passes(said: str) -> None:
    assert verdict(said) == ("the reviewer gave no verdict",)
