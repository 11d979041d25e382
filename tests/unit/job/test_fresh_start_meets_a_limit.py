"""A fresh start that meets a limit goes on when the limit ends: its prompt is not told twice."""

from __future__ import annotations

from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS
from tests.sessions import folded, told


def test_a_fresh_start_that_meets_a_limit_is_told_to_go_on_and_not_given_its_prompt_again() -> None:
    session = folded(
        [
            f.Created(at=1, session="s1", agent="claude", cwd="/w", job="j00000001"),
            f.PromptQueued(at=2, prompt="p0", text="write the parser"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="t"),
            f.CancelAsked(at=6, prompt="p0"),
            f.PromptQueued(at=7, prompt="p0+j1", text="write the parser", by=OURS, of="p0", first=True),
            f.PromptSent(at=8, attempt=1, prompt="p0+j1", message=2, text="write the parser"),
        ]
    )
    limited = f.TurnFailed(at=9, attempt=1, prompt="p0+j1", error="rate_limited", message="later", retry_at=60.0)
    found = told(session, limited)
    [waits] = found.queued
    assert waits.text.startswith("Your last turn ended early"), waits.text
    assert "What you were asked: write the parser" in waits.text
    sent = told(found, f.PromptSent(at=61, attempt=1, prompt=waits.id, message=3, text=waits.text))
    again = told(sent, f.TurnFailed(at=62, attempt=1, prompt=waits.id, error="overloaded", message="busy"))
    assert [one.text for one in again.queued] == [waits.text], "what says how to go on can be said again"
