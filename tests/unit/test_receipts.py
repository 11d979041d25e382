"""A receipt adds up: whatever happened since the last receipt that was proved and acted on stands in the next one."""

from __future__ import annotations

import pytest

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Cut
from rekindle.core.session.react import taken
from rekindle.core.session.state import Session
from tests.sessions import created, folded

MAKE = "was started, outcome unknown: run: make"


def first(cut: Cut | None = None, text: str = "build it") -> list[AnyFact]:
    """An attempt that was killed in the middle of its only turn."""
    return [
        created(),
        f.PromptQueued(at=2, prompt="p1", text=text),
        f.LaunchIntended(at=3, attempt=1, generation=1, how="new"),
        f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=5, attempt=1, how="new", token="t"),
        f.PromptSent(at=6, attempt=1, prompt="p1", message=1, text=text),
        f.TurnBegan(at=7, attempt=1, prompt="p1"),
        killed(1, cut or Cut(said="I build", tools=["run: make"])),
    ]


def started(attempt: int, *notes: str) -> list[AnyFact]:
    return [
        f.ResumeAsked(at=9, by="me"),
        f.LaunchIntended(at=9, attempt=attempt, generation=attempt, how="load", token="t", notes=list(notes)),
        f.Launched(at=9, attempt=attempt, folder=f"/k/{attempt}", pid=attempt),
    ]


def opened(attempt: int, *known: str, proof: str = "replay") -> f.Opened:
    return f.Opened(at=9, attempt=attempt, how="load", token="t", known=list(known), proof=proof)  # type: ignore[arg-type]


def killed(attempt: int, cut: Cut | None = None, truncated: int = 0) -> f.Exited:
    return f.Exited(at=9, attempt=attempt, how_ended="killed", by_us=False, cut=cut, truncated=truncated)


def turn(attempt: int, prompt: str, text: str) -> list[AnyFact]:
    sent = f.PromptSent(at=9, attempt=attempt, prompt=prompt, message=1, text=text)
    return [sent, f.TurnFinished(at=9, attempt=attempt, prompt=prompt, stop_reason="end_turn")]


def played(facts: list[AnyFact]) -> tuple[Session, list[f.Receipt]]:
    """The session that the facts lead to, with every receipt they give rise to, written as the engine does."""
    session, kept = taken(None, facts)
    return session, [fact.receipt for fact in kept if isinstance(fact, f.ReceiptWritten)]


def test_an_unknown_outcome_survives_an_agent_that_dies_before_it_opens_anything() -> None:
    _, found = played([*first(), *started(2), killed(2), *started(3), opened(3, "build it")])
    assert (found[-1].kind, found[-1].unknown) == ("same", [f"{MAKE} (in attempt 1)"])


def test_an_unknown_outcome_survives_an_agent_that_dies_right_after_its_receipt() -> None:
    _, found = played([*first(), *started(2), opened(2, "build it"), killed(2), *started(3), opened(3, "build it")])
    assert [one.kind for one in found] == ["same", "same"]
    assert [one.unknown for one in found] == [[MAKE], [f"{MAKE} (in attempt 1)"]]


def test_unknown_outcomes_of_several_attempts_add_up_in_their_order_in_receipt_and_continuation() -> None:
    facts = [*first(), *started(2), opened(2, "build it")]
    told = folded(facts).queued[0]
    facts += [f.PromptSent(at=9, attempt=2, prompt=told.id, message=1, text=told.text)]
    facts += [killed(2, Cut(said="again", tools=["run: test"])), *started(3), opened(3, "build it", told.text)]
    session, found = played(facts)
    assert found[-1].unknown == [f"{MAKE} (in attempt 1)", "was started, outcome unknown: run: test"]
    [go_on] = session.queued
    assert go_on.text.index("run: make") < go_on.text.index("run: test")


def test_what_was_told_and_answered_is_not_told_again() -> None:
    facts = [*first(), *started(2), opened(2, "build it")]
    told = folded(facts).queued[0]
    facts += [*turn(2, told.id, told.text), killed(2), *started(3), opened(3, "build it", told.text)]
    _, found = played(facts)
    assert [one.unknown for one in found] == [[MAKE], []]


def test_a_receipt_that_was_not_proved_covers_nothing() -> None:
    facts = [*first(), *started(2), opened(2, "build it", proof="transcript")]
    told = folded(facts).queued[0]
    facts += [*turn(2, told.id, told.text), killed(2), *started(3), opened(3, "build it", told.text)]
    _, found = played(facts)
    assert [one.kind for one in found] == ["unproven", "same"]
    assert found[-1].unknown == [f"{MAKE} (in attempt 1)"]


def test_what_was_done_to_the_record_and_what_was_lost_is_named_until_a_receipt_tells_it() -> None:
    facts = [*first(), *started(2, "the record was put back"), killed(2, truncated=7), *started(3, "it was mended")]
    _, found = played([*facts, opened(3, "build it")])
    told = "\n".join(found[-1].unknown)
    assert all(words in told for words in ("the record was put back", "it was mended", "7 bytes"))


def test_a_prompt_that_is_sent_again_is_named_by_every_receipt_until_its_turn_is_over() -> None:
    begun = [*first(text="one")[:6], *turn(1, "p1", "one")[1:], f.PromptQueued(at=8, prompt="p2", text="two")]
    begun += [f.PromptSent(at=8, attempt=1, prompt="p2", message=2, text="two"), killed(1, Cut())]
    facts = [*begun, *started(2), opened(2, "one"), killed(2), *started(3), opened(3, "one")]
    _, found = played(facts)
    assert [one.kind for one in found] == ["same", "same"]
    assert [one.repeated for one in found] == [["not in the agent's record: two"]] * 2
    facts += [f.PromptSent(at=9, attempt=3, prompt="p2", message=1, text="two"), killed(3, Cut(said="x"))]
    _, found = played([*facts, *started(4), opened(4, "one", "two")])
    assert found[-1].repeated == ["not in the agent's record: two"], "it was said twice, and nothing came of it yet"


@pytest.mark.parametrize("error", ["boom", "the stream was cut off"])
def test_the_words_of_an_error_do_not_change_what_is_proved(error: str) -> None:
    failed = f.TurnFailed(at=7, attempt=1, prompt="p1", error="other", message=error)
    facts = [*first(text="one")[:7], failed, f.PromptQueued(at=8, prompt="p2", text="two")]
    facts += [f.PromptSent(at=8, attempt=1, prompt="p2", message=2, text="two")]
    facts += [f.TurnFinished(at=8, attempt=1, prompt="p2", stop_reason="end_turn"), killed(1, Cut())]
    _, found = played([*facts, *started(2), opened(2, "two")])
    assert found[-1].kind == "unproven"


def test_a_prompt_that_was_lost_once_does_not_spoil_every_later_receipt() -> None:
    begun = [*first(text="one")[:6], *turn(1, "p1", "one")[1:], f.PromptQueued(at=8, prompt="p2", text="two")]
    begun += [f.PromptSent(at=8, attempt=1, prompt="p2", message=2, text="two"), killed(1, Cut(said="half"))]
    facts = [*begun, *started(2), opened(2, "one"), f.PromptQueued(at=9, prompt="p3", text="three")]
    facts += [*turn(2, "p3", "three"), killed(2), *started(3), opened(3, "one", "three")]
    _, found = played(facts)
    assert [one.repeated for one in found] == [["not in the agent's record: two"], []]
    assert found[-1].kind == "same"
    assert "but for 1" in found[-1].reason


def test_a_persons_own_command_counts_as_theirs_whatever_id_they_gave_it() -> None:
    up: list[AnyFact] = [f.Launched(at=4, attempt=2, folder="/k/2", pid=1)]
    up += [f.Opened(at=5, attempt=2, how="new", token="t", compact="/compact")]
    facts: list[AnyFact] = [created(), f.PromptQueued(at=2, prompt="a+b", text="/compact"), *first()[2:4], killed(1)]
    facts += [f.LaunchIntended(at=5, attempt=2, generation=2, how="new"), *up]
    assert folded(facts).left("restarts") == 2
    assert folded([*facts, *turn(2, "a+b", "/compact")]).left("restarts") == 3


def test_the_same_words_in_a_conversation_that_was_left_are_not_taken_for_those_of_this_one() -> None:
    """A job that starts afresh says the same again, in a new conversation; that is the one that goes on."""
    text, cut = "build it", Cut(said="I build", tools=["run: make"])
    fresh: list[AnyFact] = [
        f.ResumeAsked(at=9, by="me"),
        f.TurnSettled(at=9, prompt="p1", to="failed", outcome="its job started fresh", cut="lost"),
        f.PromptQueued(at=9, prompt="p1+j1", text=text),
        f.LaunchIntended(at=9, attempt=2, generation=2, how="new"),
        f.Launched(at=9, attempt=2, folder="/k/2", pid=2),
        f.Opened(at=9, attempt=2, how="new", token="t2"),
        f.PromptSent(at=9, attempt=2, prompt="p1+j1", message=1, text=text),
        f.TurnBegan(at=9, attempt=2, prompt="p1+j1"),
        killed(2, cut),
    ]
    again: list[AnyFact] = [
        f.ResumeAsked(at=10, by="me"),
        f.LaunchIntended(at=10, attempt=3, generation=3, how="load", token="t2"),
        f.Launched(at=10, attempt=3, folder="/k/3", pid=3),
        f.Opened(at=10, attempt=3, how="load", token="t2", known=[text], proof="replay"),
    ]
    session, found = played([*first(text=text), *fresh, *again])
    assert found[-1].kind == "same"
    cut_off = next(one for one in session.prompts if one.id == "p1+j1")
    assert cut_off.outcome == "cut off; the agent was told to go on"
    assert [one.of for one in session.queued] == ["p1+j1"]
