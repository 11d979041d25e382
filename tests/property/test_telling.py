"""Whom to tell what and when: never too often, never at night, nothing twice, and nothing lost."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.inbox.news import NAMED, News, message
from rekindle.core.inbox.telling import LATE, PAUSES, TellRules, due, quiet_left, retry_at
from rekindle.core.inbox.told import (
    HOUR,
    TellingBegan,
    TellingDropped,
    TellingFact,
    TellingFailed,
    TellingMeant,
    TellingRepeated,
    Tellings,
    TellingSent,
    TellingStopped,
    booked,
    subject,
    subjects,
)

NIGHT = (22 * 60, 7 * 60)


def asked(number: int, since: float) -> News:
    return News(f"q{number}", "question", f"question {number}", f"rekindle answer q{number}", since)


def minute_of(now: float) -> float:
    return now / 60 % 1440


class Person:
    """Somebody who is told, in virtual time: everything that is due is recorded as meant at once."""

    def __init__(self, rules: TellRules) -> None:
        self.rules = rules
        self.told = booked(None, TellingBegan(at=0.0))
        self.sent: list[tuple[float, tuple[str, ...]]] = []

    def live(self, open_: list[News], begin: float, end: float, closing: dict[str, float] | None = None) -> None:
        """From `begin` to `end`: look when something opens or closes, and whenever the decision says so."""
        closing = closing or {}
        moments = sorted({begin, *(one.since for one in open_), *closing.values()})
        now = begin
        while now <= end:
            there = [one for one in open_ if one.since <= now < closing.get(one.key, end + 1)]
            found = due(there, self.told, self.rules, now, minute_of(now))
            for group in found.groups:
                keys = [one.key for one in group]
                self.told = booked(self.told, TellingMeant(at=now, message=f"n{keys[0]}", keys=keys, receivers=[]))
                self.sent.append((now, tuple(keys)))
            if found.groups:
                continue
            later = [*(one for one in moments if one > now), *([found.at] if found.at is not None else [])]
            assert found.at is None or found.at > now, "a decision that asks for the past would spin"
            if not later:
                return
            now = min(later)


def most_in_an_hour(sent: list[tuple[float, tuple[str, ...]]]) -> int:
    times = [time for time, _ in sent]
    return max((sum(start <= time < start + HOUR for time in times) for start in times), default=0)


def test_a_thousand_questions_in_a_minute_give_at_most_the_set_number_and_the_digest_has_the_rest() -> None:
    person = Person(TellRules(hourly=10, dwell=30.0))
    person.live([asked(number, 100_000.0 + number * 0.06) for number in range(1000)], 100_000.0, 100_000.0 + HOUR)
    assert len(person.sent) == 10
    told = [key for _, keys in person.sent for key in keys]
    assert sorted(told) == sorted(f"q{number}" for number in range(1000)), "each is told, once"
    assert [len(keys) for _, keys in person.sent] == [1] * 9 + [991]
    digest = message("n1", [asked(number, 0.0) for number in range(991)], 1.0, with_text=True)
    assert (digest.about, digest.count, len(digest.items)) == ("digest", 991, NAMED)
    assert f"and {991 - NAMED} more" in digest.body


@given(
    opened=st.lists(st.floats(0, 20_000), max_size=60),
    lasts=st.lists(st.floats(1, 4000), min_size=60, max_size=60),
    hourly=st.integers(1, 8),
    dwell=st.floats(1, 300),
    quiet=st.one_of(st.none(), st.tuples(st.integers(0, 1439), st.integers(0, 1439))),
)
def test_never_too_many_never_in_quiet_hours_nothing_twice_and_nothing_that_resolved_itself(
    opened: list[float], lasts: list[float], hourly: int, dwell: float, quiet: tuple[int, int] | None
) -> None:
    rules = TellRules(hourly=hourly, dwell=dwell, quiet=quiet)
    person, end = Person(rules), 300_000.0
    open_ = [asked(number, since) for number, since in enumerate(sorted(opened))]
    closing = {one.key: one.since + last for one, last in zip(open_, lasts, strict=False) if last < 2000}
    person.live(open_, 0.0, end, closing)
    assert most_in_an_hour(person.sent) <= hourly
    assert all(quiet_left(quiet, minute_of(time)) == 0 for time, _ in person.sent)
    told = [key for _, keys in person.sent for key in keys]
    assert len(told) == len(set(told))
    when = {key: time for time, keys in person.sent for key in keys}
    for one in open_:
        if one.key in when:
            assert when[one.key] >= one.since + dwell
            assert when[one.key] < closing.get(one.key, end + 1), "what resolved itself is not told"
        else:
            assert one.key in closing, "what stays open is told in the end"


def test_what_came_in_quiet_hours_is_told_together_when_they_are_over() -> None:
    person = Person(TellRules(quiet=NIGHT, dwell=30.0))
    evening = 23 * 3600.0
    person.live([asked(number, evening + number * 600) for number in range(20)], evening, evening + 12 * 3600)
    [(when, keys)] = person.sent
    assert (int(minute_of(when)), len(keys)) == (NIGHT[1], 20)


def test_one_question_is_told_after_the_dwell_time_as_itself() -> None:
    person = Person(TellRules(dwell=30.0))
    person.live([asked(1, 50.0)], 50.0, 5000.0)
    assert person.sent == [(80.0, ("q1",))]


def test_an_end_from_before_anybody_was_to_be_told_is_no_news_but_a_question_still_waits() -> None:
    old = News("failed-a-1", "failed", "it failed", "rekindle show a", 10.0)
    told = booked(None, TellingBegan(at=100.0))
    found = due([old, asked(1, 10.0)], told, TellRules(dwell=1.0), 1000.0, 0.0)
    assert [[one.key for one in group] for group in found.groups] == [["q1"]]


def test_only_what_the_settings_name_is_told() -> None:
    told = booked(None, TellingBegan(at=0.0))
    ended = News("ended-f", "feature", "F ended", "rekindle analyze F", 10.0)
    found = due([ended, asked(1, 10.0)], told, TellRules(about=("feature",), dwell=1.0), 20.0, 0.0)
    assert [[one.key for one in group] for group in found.groups] == [["ended-f"]]


def test_two_items_about_one_occasion_are_told_once() -> None:
    ended = News("q1", "feature", "F ended with an error", "rekindle analyze F", 10.0)
    told = booked(None, TellingBegan(at=0.0))
    for about, wanted in ((("question", "feature"), "question"), (("feature",), "feature")):
        rules = TellRules(about=about, dwell=1.0)  # type: ignore[arg-type]
        [[one]] = due([asked(1, 10.0), ended], told, rules, 20.0, 0.0).groups
        assert one.about == wanted


facts = st.lists(
    st.one_of(
        st.builds(TellingBegan, at=st.floats(0, 99)),
        st.builds(TellingStopped, at=st.floats(0, 99)),
        st.builds(
            TellingMeant,
            at=st.floats(0, 99),
            message=st.sampled_from("ab"),
            keys=st.lists(st.sampled_from(["q1", "q2"]), min_size=1),
            receivers=st.lists(st.sampled_from(["command", "ntfy"]), unique=True),
        ),
        st.builds(
            TellingSent,
            at=st.floats(0, 99),
            message=st.sampled_from("ab"),
            receiver=st.sampled_from(["command", "ntfy"]),
        ),
        st.builds(
            TellingFailed,
            at=st.floats(0, 99),
            message=st.sampled_from("ab"),
            receiver=st.sampled_from(["command", "ntfy"]),
            why=st.just("no"),
            final=st.booleans(),
            unsure=st.booleans(),
        ),
        st.builds(TellingRepeated, at=st.floats(0, 99), message=st.sampled_from("ab")),
        st.builds(TellingDropped, at=st.floats(0, 99), message=st.sampled_from("ab")),
    ),
    max_size=20,
)


@given(facts)
def test_a_fact_that_is_replayed_changes_nothing(said: list[TellingFact]) -> None:
    state: Tellings | None = None
    for fact in said:
        state = booked(state, fact)
        assert booked(state, fact) == state


def test_a_receiver_is_given_up_when_its_tries_are_used_up() -> None:
    assert [retry_at(tries, 10.0) for tries in range(1, 6)] == [*(10.0 + pause for pause in PAUSES), None]


def test_a_stream_holds_a_month_and_those_of_a_year_are_still_read() -> None:
    january = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
    assert subject(january) == "telling-2027-01"
    assert subjects(january)[0] == "telling-2026-01"
    assert subjects(january)[-2:] == ["telling-2026-12", "telling-2027-01"]
    assert len(set(subjects(january))) == 13


def test_the_text_is_told_only_if_the_settings_ask_for_it() -> None:
    secret = replace(asked(1, 1.0), text="rm -rf everything")
    assert "rm -rf" not in message("n", [secret], 2.0, with_text=False).body
    assert "rm -rf" in message("n", [secret], 2.0, with_text=True).body
    assert LATE < HOUR
