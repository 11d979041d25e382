"""What is shown of one session: times stand there, and nothing is cut without a mark and a way to see the rest."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.app.session_view import WholeSession, more, shown
from rekindle.app.takeovers import FleetStatus, PlacedSession
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.session import facts as f
from rekindle.doors.cli.amounts import clock_time, when
from rekindle.doors.cli.commands import fleet as fleet_screen
from rekindle.doors.cli.commands import logs
from rekindle.doors.cli.live import LiveView, shown_lines
from rekindle.doors.cli.options import described
from rekindle.doors.cli.session_page import lines
from rekindle.doors.cli.session_screen import needs
from rekindle.ports.hosts import HostReport, RunningAttempt, SeenHost
from tests.sessions import a_life, booked
from tests.sessions import told as events
from tests.unit.governor.test_holding import limited
from tests.unit.test_limit_kinds import working
from tests.unit.test_reactions import at_work, ruled, silent


def test_show_has_times_and_marks_what_it_cuts() -> None:
    life = a_life()
    opened = next(number for number, fact in enumerate(life) if isinstance(fact, f.Opened))
    session = booked(life[: opened + 1])
    view = shown(session, 100.0, alive=True, seen_seconds_ago=None)
    told = to_builtins(more(WholeSession, view, session=session))
    told["session"]["prompts"][0]["text"] = "x" * 200
    said = "\n".join(lines(told, 100.0))
    assert f"begun     {clock_time(1.0, 100.0)} (1 min 39 s ago)" in said
    assert f"prompt    {clock_time(2.0, 100.0)}  p1" in said and f"open since {clock_time(5.0, 100.0)}" in said
    assert "x… (all of it: rekindle logs s1)" in said


def hostile(value: object) -> Any:
    """The same, as somebody may have written it who wants to steer the terminal."""
    if isinstance(value, dict):
        return {key: one if key == "kind" else hostile(one) for key, one in value.items()}
    if isinstance(value, list):
        return [hostile(one) for one in value]
    return f"{value}\x1b[31m\x07\u202e\nx" if isinstance(value, str) else value


def test_nothing_that_anybody_wrote_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    session = booked(a_life())
    view = shown(session, 100.0, alive=True, seen_seconds_ago=None)
    told = to_builtins(more(WholeSession, view, session=session))
    assert [one for one in lines(hostile({**told, "host": "b"}), 100.0) if not one.isprintable()] == []
    running = (RunningAttempt("s", 1, "alive", 1, True),)
    report = HostReport(labels=("x",), capacity=1, in_use=1, version="1", running=running, trouble="t")
    host = SeenHost(host="a", state="ready", seen_seconds_ago=1.0, report=report, sessions=1)
    placed = PlacedSession("s1", "a", 1.0, "working", "t", "claude", 1.0, False, True)
    fleet = hostile(to_builtins(FleetStatus("b", [host], [placed])))
    assert [one for one in fleet_screen._lines(fleet) if not one.isprintable()] == []
    [_, _, line, _] = fleet_screen._lines(
        to_builtins(FleetStatus("b", [replace(host, seen_seconds_ago=1e9)], [placed]))
    )
    assert "nobody knows when it was last seen" in line, "and no date that nobody wrote"
    logs._tell_source("a copy from host \x1b[31m\x07\u202e")
    assert capsys.readouterr().err.rstrip("\n").isprintable()


def test_a_session_on_hold_says_so_and_how_to_lift_it_and_never_that_it_continues_by_itself() -> None:
    held = events(limited(working()), f.HoldAsked(at=200, by="me"))
    view = shown(held, 300.0, alive=True, seen_seconds_ago=None)
    told = to_builtins(more(WholeSession, view, session=held))
    page = "\n".join(lines(told, 300.0))
    assert "on hold until you resume it" in page and "continues by itself" not in page
    assert "next      rekindle resume s1" in page
    assert list(needs(told, 300.0))[1:] == ["next: rekindle resume s1"]


def test_the_date_stands_only_where_it_is_another_days() -> None:
    now = 1_800_000_000.0
    assert len(clock_time(now, now)) == 8 and len(clock_time(now - 3 * 86400, now)) == 19
    assert when(now - 200, now).endswith(" (3 min 20 s ago)")


def test_what_is_cut_while_watching_says_so_and_logs_cut_nothing() -> None:
    long = "\n".join(map(str, range(50)))
    assert len(shown_lines(long, None)) == 50
    cut = shown_lines(long, "s1")
    assert len(cut) == 20 and cut[-1] == "… 31 more lines: rekindle logs s1"
    assert shown_lines("\n".join(map(str, range(20))), "s1")[-1] == "19"


def test_nobody_gets_colours_who_does_not_want_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    LiveView().show([ConversationEntry("error", "no", 1), ConversationEntry("thought", "hm", 1)])
    assert capsys.readouterr().out == "  error: no\nhm"


@pytest.mark.parametrize("said", ["done", "done\n", "do|ne\n", "done|\n"])
def test_words_that_end_their_line_are_followed_by_no_empty_one(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [ConversationEntry("said", part, 1) for part in said.split("|")]
    LiveView().show([*parts, ConversationEntry("end", "end_turn", 1)])
    assert capsys.readouterr().out == "done\n  turn finished\n"


def test_completion_says_what_a_session_is_at_and_about() -> None:
    assert described({"status": "asking", "title": "Add a\x1b login"}) == "asking: Add a\ufffd login"
    assert described({"status": "asleep"}) == "asleep", "an agent is told no titles"


def test_a_turn_that_was_cancelled_because_it_was_silent_is_not_called_done_and_it_is_said_why() -> None:
    session = silent(at_work(ruled(stall=Reaction("nudge", message="are you there"))))
    [notice] = session.notices
    assert "it said nothing for" in notice and "cancelled" in notice
    over = events(session, f.TurnFinished(at=401, attempt=1, prompt="p1", stop_reason="cancelled"))
    view = shown(over, 500.0, alive=True, seen_seconds_ago=None)
    page = "\n".join(lines(to_builtins(more(WholeSession, view, session=over)), 500.0))
    assert "p1 [cancelled] one" in page and notice in page
