"""Snapshots grow old gracefully: what must stay stays, and it does not matter how often they are thinned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.thinning import DAY, HOUR, MONTH, WEEK, SnapshotAge, to_drop

NOW = 1_800_000_000
ages = st.integers(0, 400 * DAY) | st.integers(0, 3 * HOUR) | st.integers(0, 2 * DAY)
snapshots = st.lists(
    st.builds(lambda age, pinned: SnapshotAge(NOW - age, pinned), ages, st.booleans()), max_size=60
).map(lambda found: sorted(found, key=lambda one: one.at))


def left(found: list[SnapshotAge], now: float) -> list[SnapshotAge]:
    dropped = set(to_drop(found, now))
    return [one for position, one in enumerate(found) if position not in dropped]


@given(snapshots)
def test_the_first_the_last_the_pinned_and_the_young_ones_stay(found: list[SnapshotAge]) -> None:
    dropped = [found[position] for position in to_drop(found, NOW)]
    assert not any(one.pinned or NOW - one.at < HOUR for one in dropped)
    assert not {0, len(found) - 1} & set(to_drop(found, NOW))


@given(snapshots)
def test_every_hour_day_and_week_that_had_one_still_has_its_last(found: list[SnapshotAge]) -> None:
    stays = {one.at for one in left(found, NOW)}
    for one in found:
        age = NOW - one.at
        width = HOUR if age < DAY else DAY if age < MONTH else WEEK
        same = [other.at for other in found if other.at // width == one.at // width]
        assert max(same) in stays


@given(snapshots)
def test_no_more_stay_than_one_for_each_span(found: list[SnapshotAge]) -> None:
    plain = [SnapshotAge(one.at) for one in found]
    old = [one.at for one in left(plain, NOW)[1:] if NOW - one.at >= MONTH]
    assert len({at // WEEK for at in old}) == len(old)
    days = [one.at for one in left(plain, NOW)[1:] if DAY <= NOW - one.at < MONTH]
    assert len({at // DAY for at in days}) == len(days)


@given(snapshots, st.integers(0, 100 * DAY), st.integers(0, 100 * DAY))
def test_thinning_now_and_then_is_thinning_once(found: list[SnapshotAge], first: int, second: int) -> None:
    later = NOW + first + second
    assert left(left(found, NOW + first), later) == left(found, later)


@given(snapshots, st.lists(st.integers(0, 10 * DAY), max_size=10))
def test_what_comes_later_brings_back_nothing(found: list[SnapshotAge], new: list[int]) -> None:
    more = sorted((SnapshotAge(NOW + age) for age in new), key=lambda one: one.at)
    later = NOW + 20 * DAY
    assert left([*left(found, NOW), *more], later) == left([*found, *more], later)


def test_ten_minutes_apart_for_a_year() -> None:
    year = [SnapshotAge(at) for at in range(NOW - 365 * DAY, NOW + 1, 600)]
    assert 100 < len(left(year, NOW)) < 115
