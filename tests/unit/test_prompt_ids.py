"""The ids of prompts: nobody can give one that is rekindle's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.session.prompt_ids import derived, task_in, why_not_id

_GIVEN = st.text("ab1-_.", min_size=1, max_size=12)


@given(_GIVEN, _GIVEN)
def test_an_id_of_rekindles_own_names_the_prompt_it_goes_on_with_and_cannot_be_given(prompt: str, tail: str) -> None:
    own = derived(prompt, tail)
    assert why_not_id(own) is not None
    assert task_in(own) == prompt


@given(_GIVEN)
def test_an_id_that_can_be_given_is_not_taken_for_rekindles_own(prompt: str) -> None:
    if why_not_id(prompt) is None:
        assert task_in(prompt) == ""
