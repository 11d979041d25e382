"""Another agent goes on with a session, and an agent whose own load is not trusted: pure decisions."""

from __future__ import annotations

from pathlib import Path

from rekindle.adapters.session_folder import handovers
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.plan import next_attempt
from rekindle.core.session.receipt import receipt
from rekindle.core.session.state import Session
from rekindle.core.session.status import status
from rekindle.core.session.strategy import Evidence, candidates, choose
from tests.sessions import created, folded


def worked(**changes: object) -> list[f.AnyFact]:
    """A session with one finished turn whose agent sleeps."""
    return [
        created(**changes),  # type: ignore[arg-type]
        f.PromptQueued(at=2, prompt="p1", text="do it"),
        f.LaunchIntended(at=3, attempt=1, generation=1, how="new", agent="scripted"),
        f.Launched(at=4, attempt=1, folder="/1", pid=42),
        f.Opened(at=5, attempt=1, how="new", token="old", compact="/compact"),
        f.PromptSent(at=6, attempt=1, prompt="p1", message=1, text="do it"),
        f.TurnBegan(at=7, attempt=1, prompt="p1"),
        f.TurnFinished(at=8, attempt=1, prompt="p1", stop_reason="end_turn"),
        f.StopAsked(at=9, by="user", to="asleep"),
        f.Exited(at=10, attempt=1, how_ended="exit code 0", by_us=True),
    ]


def handed_over() -> Session:
    handover = f.Handover("other", "m2", ["--x"])
    return folded([*worked(), f.ResumeAsked(at=11, by="user", handover=handover)])


def test_the_new_agent_begins_a_conversation_of_its_own_and_keeps_nothing_of_the_old_one() -> None:
    session = handed_over()
    assert (session.agent, session.model, session.arguments) == ("other", "m2", ["--x"])
    assert candidates(session) == []
    assert next_attempt(session) == 2
    choice = choose(session, [], 12)
    assert choice.how == "new"
    assert choice.why == "scripted has handed over to other"


def test_the_receipt_of_a_handover_says_rebuilt_if_the_history_was_told_and_else_fresh() -> None:
    for history, kind in (("told\0prompt\0", "rebuilt"), ("", "fresh")):
        intended = f.LaunchIntended(
            at=12, attempt=2, generation=2, how="new", agent="other", history=history, why="scripted has handed over"
        )
        session = evolve(evolve(handed_over(), intended), f.Launched(at=13, attempt=2, folder="/2", pid=43))
        written = receipt(session, f.Opened(at=14, attempt=2, how="new", token="new"))
        assert written is not None
        assert written.kind == kind
        assert "handed over" in written.reason


def test_an_earlier_conversation_of_another_agent_is_never_resumed() -> None:
    session = evolve(handed_over(), f.LaunchIntended(at=12, attempt=2, generation=2, how="new", agent="other"))
    session = evolve(session, f.Launched(at=13, attempt=2, folder="/2", pid=43))
    session = evolve(session, f.Opened(at=14, attempt=2, how="new", token="new"))
    session = evolve(session, f.Exited(at=15, attempt=2, how_ended="gone", by_us=False))
    assert candidates(session) == ["new"]


def test_a_token_of_an_agent_that_is_not_trusted_is_kept_and_not_used() -> None:
    session = folded(worked(native=False))
    assert session.token == "old"
    assert candidates(session) == []
    assert "not trusted" in choose(session, [], 12).why
    assert status(session, alive=False, seen_seconds_ago=None).reason == "agent_not_running_fresh_start"


def test_its_own_load_can_be_asked_for() -> None:
    session = folded([*worked(native=False), f.ResumeAsked(at=11, by="user", native=True)])
    assert candidates(session) == ["old"]
    assert choose(session, [Evidence("old", "unsupported")], 12).how == "load"
    assert status(session, alive=False, seen_seconds_ago=None).reason == "agent_not_running"


def test_what_an_agent_shows_is_believed_only_as_far_as_its_record_has_it() -> None:
    asked = folded([*worked(), f.ResumeAsked(at=11, by="user")])
    for known, kind in ((["do it"], "same"), (["something else"], "unproven"), (None, "same")):
        intended = f.LaunchIntended(
            at=12, attempt=2, generation=2, how="load", token="old", known=known, agent="scripted"
        )
        session = evolve(evolve(asked, intended), f.Launched(at=13, attempt=2, folder="/2", pid=43))
        written = receipt(session, f.Opened(at=14, attempt=2, how="load", token="old", known=["do it"]))
        assert written is not None
        assert written.kind == kind


def test_which_agent_an_attempt_was_of_is_read_from_its_folder(tmp_path: Path) -> None:
    folder = str(tmp_path)
    handovers.keep(folder, 3, f.Handover("b"))
    handovers.keep(folder, 5, f.Handover("c"))
    handovers.keep(folder, 5, f.Handover("d", "m"))
    assert [handovers.agent_of(folder, number, "a") for number in range(1, 7)] == ["a", "a", "b", "b", "d", "d"]
    (tmp_path / "handovers.json").write_text("[{")
    assert handovers.agent_of(folder, 5, "a") == "a"
