"""The list of a fleet's hosts: those that are there come first, and who is needed is not forgotten."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.fleet.forgetting import LeftSession, in_order, unended
from rekindle.core.session.words import WORDS


@dataclass(frozen=True)
class Host:
    host: str
    seen_seconds_ago: float


HOSTS = st.lists(st.builds(Host, st.text("abc", min_size=1, max_size=3), st.floats(0, 1e6)), max_size=8)


@given(HOSTS)
def test_those_that_are_there_come_first_by_name_and_the_longest_silent_last(hosts: list[Host]) -> None:
    found = in_order(hosts, 15.0)
    assert sorted(found, key=repr) == sorted(hosts, key=repr), "nobody is lost"
    heard = [one for one in found if one.seen_seconds_ago < 15.0]
    silent = found[len(heard) :]
    assert all(one.seen_seconds_ago >= 15.0 for one in silent)
    assert [one.host for one in heard] == sorted(one.host for one in heard)
    assert [one.seen_seconds_ago for one in silent] == sorted(one.seen_seconds_ago for one in silent)


@given(st.lists(st.builds(LeftSession, st.text("0123", min_size=10, max_size=10), st.sampled_from(sorted(WORDS)))))
def test_every_session_that_is_not_over_keeps_its_host(sessions: list[LeftSession]) -> None:
    assert [one.id for one in unended(sessions)] == [
        one.id for one in sessions if one.status not in ("completed", "cancelled")
    ]


def test_a_session_of_a_job_of_the_fleet_is_left_to_the_engine() -> None:
    assert LeftSession("abc", "interrupted").command == "rekindle fleet takeover abc --host-is-gone"
    assert LeftSession("abc", "interrupted", "j1234").command == "rekindle fleet takeover abc --host-is-gone"
    assert LeftSession("abc", "working", "f0123abcd").command == "rekindle job show f0123abcd"
