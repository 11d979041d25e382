"""How something ended that was waited for: the word, whether that is well, and what to type next."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.app.journal_care import Analysed
from rekindle.app.waiting import journal_outcome, run_outcome, session_outcome
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import fold
from rekindle.ports.errors import NoOpenRun
from tests.journals import line


def shown(**changes: Any) -> dict[str, Any]:
    at_rest = {"id": "24121c", "status": "waiting", "asks": None, "needs_you": False, "why": "", "next": ""}
    return {**at_rest, "message": "", **changes}


def question(name: str = "q1", session: str = "s1") -> dict[str, Any]:
    return {"id": name, "session": session, "title": "May I?"}


@pytest.mark.parametrize(
    ("told", "how", "is_well", "next_"),
    [
        (shown(), "finished", True, "rekindle logs 24121c"),
        (shown(status="asleep"), "finished", True, "rekindle logs 24121c"),
        (shown(status="completed"), "completed", True, "rekindle logs 24121c"),
        (shown(status="cancelled"), "cancelled", False, "rekindle resume 24121c"),
        (shown(status="failed", needs_you=True, why="no", next="n"), "failed", False, "n"),
        (shown(status="interrupted", why="killed"), "interrupted", False, "rekindle resume 24121c"),
        (shown(status="asleep", needs_you=True, why="limit", next="n"), "stopped short", False, "n"),
        (shown(status="asking", asks=question(), needs_you=True), "asking", False, "rekindle answer q1"),
    ],
)
def test_the_end_of_a_turn_is_called_what_it_is(told: dict[str, Any], how: str, is_well: bool, next_: str) -> None:
    found = session_outcome(told)
    assert (found.how, found.is_well, found.next) == (how, is_well, next_)
    assert found.document["how"] == how and found.document["id"] == "24121c"


def run(*states: str, **changes: Any) -> dict[str, Any]:
    tasks = [{"id": str(number), "state": state, "session": "s1"} for number, state in enumerate(states)]
    about = {"feature": "shop", "branch": "feature/shop", "over": False, "reason": None, "message": "", "tasks": tasks}
    return {**about, **changes}


def test_a_run_that_is_over_names_the_merge_or_the_resume() -> None:
    done = run_outcome(run("merged", over=True, reason="completed"), [])
    assert done is not None and (done.is_well, done.next) == (True, "git merge feature/shop")
    failed = run_outcome(run("failed", over=True, reason="error", message="task 0 failed"), [])
    assert failed is not None and not failed.is_well
    assert (failed.how, failed.why, failed.next) == ("error", "task 0 failed", "rekindle resume shop")


def test_a_run_asks_only_when_nothing_else_moves_in_it() -> None:
    assert run_outcome(run("asking", "working"), [question()]) is None
    assert run_outcome(run("working"), []) is None
    asking = run_outcome(run("asking", "merged", "waiting"), [question()])
    assert asking is not None and asking.question == question()


def journal(*lines: bytes) -> Analysed:
    return Analysed(analyse(fold(map(decode_line, lines))), None)


def test_without_a_daemon_the_journal_says_how_a_run_ended() -> None:
    cut = journal_outcome("shop", journal(line("session.start")))
    assert cut is not None and (cut.how, cut.is_well, cut.next) == ("interrupted", False, "rekindle resume shop")
    ended = journal_outcome("shop", journal(line("session.start"), line("session.end", seq=1, reason="error")))
    assert ended is not None and ended.how == "error" and not ended.is_well
    done = journal_outcome("shop", journal(line("session.start"), line("session.end", seq=1, reason="completed")))
    assert done is not None and done.is_well
    with pytest.raises(NoOpenRun):
        journal_outcome("shop", journal())
