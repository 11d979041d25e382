"""Which prompts of a session a feature's run takes for its own, and whose stop it takes for its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.feature.talks import merge_prompt, review_prompt, round_prompt, signed, talk
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.prompt_ids import why_not_id
from rekindle.core.session.state import UNKNOWN, Session
from tests.sessions import folded

ASKED = round_prompt(1)


def session(*facts: AnyFact, feature: str | None = "shop") -> Session:
    created = f.Created(at=1, session="s1", agent="claude", cwd="/w", feature=feature)
    queued = f.PromptQueued(at=2, prompt=ASKED, text="build it")
    launch = f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t")
    up = (f.Launched(at=4, attempt=1, folder="/k/1", pid=1), f.Opened(at=5, attempt=1, how="new", token="t"))
    return folded([created, queued, launch, *up, *facts])


def sent(prompt: str, at: float = 6) -> f.PromptSent:
    return f.PromptSent(at=at, attempt=1, prompt=prompt, message=int(at), text="build it")


def stopped(by: str) -> list[AnyFact]:
    return [
        sent(ASKED),
        f.StopAsked(at=7, by=by, to="cancelled"),
        f.Exited(at=8, attempt=1, how_ended="signal 15", by_us=True),
    ]


@given(st.integers(1, 99), st.sampled_from(["", "8f00ba11"]), st.integers(0, 9))
def test_nobody_can_give_a_prompt_the_id_of_one_of_the_run(number: int, told: str, attempt: int) -> None:
    assert why_not_id(round_prompt(number, told, attempt)) is not None
    assert why_not_id(review_prompt("0123456789abcdef")) is not None
    assert why_not_id(merge_prompt("0123456789abcdef", told)) is not None


@pytest.mark.parametrize("by", ["maria", "feature", "feature of the week", "feature other"])
def test_what_somebody_else_has_stopped_is_not_brought_back(by: str) -> None:
    assert talk("s1", session(*stopped(by)), ASKED).phase == "stopped"
    assert talk("s1", session(*stopped(by), feature=None), ASKED).phase == "stopped"


def test_what_nobody_knows_who_stopped_is_brought_back_by_whoever_resumes_the_feature() -> None:
    """A store that was lost and rebuilt cannot tell."""
    assert talk("s1", session(*stopped(UNKNOWN)), ASKED).phase != "stopped"


def test_what_the_feature_has_stopped_itself_is_brought_back() -> None:
    assert talk("s1", session(*stopped(signed("shop"))), ASKED).phase == "cut"


def test_a_prompt_of_a_person_is_no_try_of_the_run() -> None:
    """It fails, and the round that the run waits for is none the wiser."""
    theirs = f"{ASKED}~mine"
    begun = session(
        sent(ASKED),
        f.TurnFinished(at=7, attempt=1, prompt=ASKED, stop_reason="end_turn"),
        f.PromptQueued(at=8, prompt=theirs, text="what is this?"),
        sent(theirs, 9),
    )
    assert talk("s1", begun, ASKED).phase == "done"
    assert talk("s1", begun, ASKED).tries == 0


def test_a_further_try_and_what_rekindle_said_to_go_on_count_for_the_round() -> None:
    again = round_prompt(1, attempt=1)
    begun = session(
        sent(ASKED),
        f.TurnFailed(at=7, attempt=1, prompt=ASKED, error="other", message="no"),
        f.PromptQueued(at=8, prompt=again, text="build it"),
        sent(again, 9),
        f.TurnFailed(at=10, attempt=1, prompt=again, error="rate_limited", message="later"),
    )
    found = talk("s1", begun, ASKED)
    assert (found.tries, found.phase) == (1, "working")
    assert begun.prompts[-1].of == again
