"""Times from outside, after somebody has set the machine's clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.session import facts as f
from rekindle.core.session.timing import by_clock
from tests.sessions import created, folded

SECONDS = st.floats(0.0, 1e5)


@given(wrote=SECONDS, rest=SECONDS, by=st.floats(10.0, 1e6), late=st.floats(0.01, 5.0), more=SECONDS)
def test_what_was_written_before_the_clock_was_set_forward_is_as_long_ago_as_it_was(
    wrote: float, rest: float, by: float, late: float, more: float
) -> None:
    before = 1000.0 + wrote
    noticed = before + rest + by + late
    session = folded([created(), f.ClockSet(at=noticed, by=by, number=1)])
    now = noticed + more
    found = by_clock(session, before)
    assert found is not None and abs((now - found) - (rest + late + more)) < 0.001
    after = noticed + more  # written later: by the clock as it is
    assert by_clock(session, after) == after


@given(at=SECONDS, by=st.floats(-1e6, -10.0))
def test_a_clock_that_was_set_back_shows_times_twice_and_nothing_is_concluded(at: float, by: float) -> None:
    session = folded([created(), f.ClockSet(at=1e6, by=by, number=1)])
    assert (by_clock(session, at), by_clock(session, None)) == (at, None)
