"""Which snapshots show that a work tree was still there when the last turn ended."""

from __future__ import annotations

from rekindle.core.session import facts as f
from rekindle.core.snapshot_reasons import attempt_ended, show_last_end, turn_ended
from tests.sessions import created, folded, told

_BEGUN = (
    created(),
    f.PromptQueued(at=2.0, prompt="p1", text="do it"),
    f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
    f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
    f.Opened(at=5.0, attempt=1, how="new", token="tok"),
    f.PromptSent(at=6.0, attempt=1, prompt="p1", message=3, text="do it"),
)


def test_a_snapshot_shows_the_end_of_a_turn_if_it_was_taken_after_it() -> None:
    done = folded([*_BEGUN, f.TurnFinished(at=7.0, attempt=1, prompt="p1", stop_reason="end_turn")])
    assert show_last_end(done, [turn_ended(1)])
    assert not show_last_end(done, [])
    assert not show_last_end(done, ["the session begins", "a turn is running", attempt_ended(0), turn_ended(0)])
    gone = told(done, f.Exited(at=8.0, attempt=1, how_ended="asked", by_us=True))
    assert show_last_end(gone, [turn_ended(1)])
    assert show_last_end(gone, [attempt_ended(1)]), "one snapshot was enough for both"


def test_the_end_of_an_earlier_turn_or_attempt_shows_nothing_of_the_last_turn() -> None:
    done = folded([*_BEGUN, f.TurnFinished(at=7.0, attempt=1, prompt="p1", stop_reason="end_turn")])
    again = told(done, f.PromptQueued(at=8.0, prompt="p2", text="go on"))
    again = told(again, f.PromptSent(at=9.0, attempt=1, prompt="p2", message=4, text="go on"))
    again = told(again, f.TurnFinished(at=10.0, attempt=1, prompt="p2", stop_reason="end_turn"))
    assert not show_last_end(again, [turn_ended(1)])
    assert show_last_end(again, [turn_ended(1), turn_ended(2)])


def test_a_turn_that_was_cut_and_finished_in_the_next_attempt_is_not_shown_by_the_end_of_the_first() -> None:
    cut = folded([*_BEGUN, f.Exited(at=7.0, attempt=1, how_ended="killed", by_us=False)])
    back = told(cut, f.LaunchIntended(at=8.0, attempt=2, generation=2, how="load"))
    back = told(back, f.Launched(at=8.0, attempt=2, folder="/keep/2", pid=43))
    back = told(back, f.Opened(at=8.0, attempt=2, how="load", token="tok", known=["do it"]))
    [turn] = [prompt.id for prompt in back.queued] or ["p1"]
    back = told(back, f.PromptSent(at=9.0, attempt=2, prompt=turn, message=4, text="go on"))
    back = told(back, f.TurnFinished(at=9.0, attempt=2, prompt=turn, stop_reason="end_turn"))
    assert not show_last_end(back, [attempt_ended(1)])
    gone = told(back, f.Exited(at=9.5, attempt=2, how_ended="asked", by_us=True))
    assert not show_last_end(gone, [attempt_ended(1)])
    assert show_last_end(gone, [attempt_ended(1), attempt_ended(2)])
