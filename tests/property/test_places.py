"""Places for agents at work, for any line and any work: never too many, in order, and everybody comes in the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.governor.places import Census, PlaceWait, placed
from rekindle.core.governor.room import MachineReading, Room, room, shortage
from rekindle.core.governor.rules import GovernorRules

MB = 1024**2
LINE = st.lists(
    st.builds(
        PlaceWait,
        session=st.text("abcdefgh", min_size=1, max_size=3),
        urgency=st.integers(-1, 1),
        since=st.floats(0, 10_000),
        asked=st.floats(0, 10_000),
    ),
    max_size=20,
    unique_by=lambda one: one.session,
)


@given(LINE, st.integers(1, 6), st.floats(0, 2), st.data())
def test_never_more_than_there_are_places_in_order_and_all_that_is_due_starts_in_the_end(
    line: list[PlaceWait], most: int, spacing: float, data: st.DataObject
) -> None:
    """Everybody asks, in any order; some of those that work end."""
    now, last, waiting = 10_000.0, None, {one.session: one for one in line}
    at_work: set[str] = set()
    started: list[tuple[float, PlaceWait]] = []
    for _ in range(100 * (len(line) + 1)):
        if not waiting:
            break
        now += data.draw(st.floats(0.1, 5))
        for name in data.draw(st.permutations(sorted(waiting))):
            census = Census(frozenset(at_work), list(waiting.values()), last)
            found = placed(name, census, Room(most, ""), spacing, now)
            if found.is_granted:
                assert last is None or now - last >= spacing - 1e-6
                first = min(waiting.values(), key=lambda one: one.order(now))
                free = most - len(at_work)
                assert waiting[name].order(now) == first.order(now) or free > 1, "nobody overtakes"
                started.append((now, waiting.pop(name)))
                at_work.add(name)
                last = now
            else:
                assert found.why or found.until is not None, "whoever waits is told why, or until when"
            assert len(at_work) <= most
        ends = data.draw(st.booleans())
        if at_work and ends:
            at_work.discard(min(at_work))
    assert not waiting, "everybody came"
    assert len(started) == len(line)


@given(st.integers(1, 4))
def test_one_that_is_not_urgent_comes_although_urgent_ones_never_stop_coming(most: int) -> None:
    patient = PlaceWait("patient", -1, 0.0, 0.0)
    now, number = 0.0, 0
    while now < 5000:
        urgent = [PlaceWait(f"u{number + one}", 1, now, now) for one in range(most)]
        census = Census(frozenset(), [patient, *urgent])
        if "patient" in census.next_in_line(Room(most, ""), now):
            break
        now, number = now + 60, number + most
    assert now <= 3600


@given(st.floats(0.5, 256), st.integers(64, 1024 * 1024), st.none() | st.integers(1, 500))
def test_there_is_always_room_for_one_and_never_for_more_than_cores_memory_or_the_user_allow(
    cores: float, megabytes: int, wish: int | None
) -> None:
    reading = MachineReading(cores, megabytes * MB, megabytes * MB)
    found = room(GovernorRules(agents_at_once=wish), reading)
    assert found is not None and found.most >= 1 and found.why
    if wish is not None:
        assert found.most == wish
    else:
        assert found.most <= max(1, 2 * cores) and found.most <= max(1, megabytes / 1024)


@given(st.integers(1, 1024 * 1024), st.integers(0, 1024 * 1024), st.none() | st.floats(0, 100))
def test_memory_is_short_or_not_and_a_reserve_of_nothing_is_never_short(
    total: int, available: int, stalled: float | None
) -> None:
    reading = MachineReading(2, total * MB, min(available, total) * MB, stalled)
    assert shortage(GovernorRules(memory_reserve=0), reading) == ""
    if min(available, total) >= min(512, total / 10 + 1) and not (stalled or 0) >= 10:
        assert shortage(GovernorRules(), reading) == ""
    if reading.available < min(512 * MB, total * MB // 10):
        assert "available" in shortage(GovernorRules(), reading)
