"""Daemons that came and went, as they are remembered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.daemon_lives import DaemonBegan, DaemonFact, DaemonLeft, booked
from rekindle.core.streams import MACHINE

_FACTS = st.lists(
    st.one_of(
        st.builds(DaemonBegan, at=st.floats(0, 100), pid=st.integers(1, 4), version=st.sampled_from(["1", "2"])),
        st.builds(DaemonLeft, at=st.floats(0, 100), pid=st.integers(1, 4)),
    )
)


def began(at: float, pid: int) -> DaemonBegan:
    return DaemonBegan(at=at, pid=pid, version="1")


def test_one_that_said_that_it_leaves_did_not_end_suddenly() -> None:
    facts: list[DaemonFact] = [began(1, 7), DaemonLeft(at=2, pid=7), began(3, 8), began(9, 9)]
    lives = MACHINE.folded(facts)
    assert lives is not None
    assert (lives.sudden, lives.sudden_since(9), lives.sudden_since(10)) == ((9,), 1, 0)
    assert (lives.pid, lives.is_serving) == (9, True)


def test_a_word_of_another_one_ends_nobody() -> None:
    lives = MACHINE.folded([began(1, 7), DaemonLeft(at=2, pid=6)])
    assert lives is not None and lives.is_serving


@given(_FACTS, st.integers(0, 20))
def test_telling_a_fact_again_at_once_changes_nothing(facts: list[DaemonFact], at: int) -> None:
    state = None
    for number, fact in enumerate(facts):
        state = booked(state, fact)
        if number == at:
            assert booked(state, fact) == state
