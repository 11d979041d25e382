"""What the beginning of a session's id means: one rule, for every command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.app.session_names import NoSuchSession, meant

IDS = st.text("0123456789abcdef", min_size=1, max_size=6)


@given(st.lists(IDS, unique=True, max_size=8), IDS)
def test_a_beginning_means_the_session_that_has_it_whole_or_that_alone_begins_so(known: list[str], given: str) -> None:
    begin_so = [one for one in known if one.startswith(given)]
    if given in known:
        assert meant(known, given) == given
    elif len(begin_so) == 1:
        assert meant(known, given) == begin_so[0]
    else:
        with pytest.raises(NoSuchSession) as refused:
            meant(known, given)
        assert refused.value.exit_status == 2
        assert refused.value.code == "no_such_session"
        assert ("can mean" in refused.value.message) == bool(begin_so)


@given(st.lists(IDS, unique=True, max_size=8))
def test_nothing_means_no_session_even_if_there_is_only_one(known: list[str]) -> None:
    with pytest.raises(NoSuchSession):
        meant(known, "")
