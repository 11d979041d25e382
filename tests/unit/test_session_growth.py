"""A session is written as a whole with every fact: what a long one keeps must not grow with its resumes."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.machine import evolve
from rekindle.core.session.prompt_marks import mark
from rekindle.core.session.state import Session, prompts_in
from tests.sessions import created, folded


def life(attempt: int, texts: list[str]) -> list[AnyFact]:
    """An attempt that was told of much, was asked much, said much and was cut off."""
    prompt = f"p{attempt}"
    questions: list[AnyFact] = []
    for number in range(20):
        name = f"r{number}"
        questions += [
            f.PermissionAsked(
                at=5, attempt=attempt, request=name, title="edit", kind="edit", options=[], prompt=prompt
            ),
            f.PermissionAnswered(at=5, request=name, option="a", by="policy"),
        ]
    return [
        f.PromptQueued(at=1, prompt=prompt, text=texts[0]),
        f.ResumeAsked(at=2, by="user"),
        f.LaunchIntended(
            at=2,
            attempt=attempt,
            generation=attempt,
            how="new",
            known=texts,
            changed=["a/file.py"] * 100,
            history="h" * 5000,
        ),
        f.Launched(at=3, attempt=attempt, folder="/k", pid=1),
        f.Opened(at=4, attempt=attempt, how="new", token="t"),
        f.PromptSent(at=5, attempt=attempt, prompt=prompt, message=2, text=texts[0]),
        f.TurnBegan(at=5, attempt=attempt, prompt=prompt),
        *questions,
        f.TurnFinished(at=6, attempt=attempt, prompt=prompt, stop_reason="end_turn"),
        f.Exited(at=7, attempt=attempt, how_ended="killed", by_us=False, cut=f.Cut(said="s" * 4000)),
    ]


def size(session: Session) -> int:
    return len(msgspec.json.encode(session))


def test_a_session_grows_by_little_more_than_what_it_was_told() -> None:
    texts = [f"{number} {'x' * 500}" for number in range(100)]
    session = folded([created()])
    sizes: list[int] = []
    for attempt in range(1, 21):
        for fact in life(attempt, texts):
            session = evolve(session, fact)
        sizes.append(size(session))
    assert (sizes[-1] - sizes[9]) / 10 < 2000


def test_an_answered_question_ends_with_its_turn_and_telling_it_again_changes_nothing() -> None:
    facts = life(1, ["one"])[:-1]
    session = folded([created(), *facts])
    assert session.permissions == []
    for fact in facts[2:]:
        assert evolve(session, fact).permissions == []


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_mark_is_short_and_stands_for_one_text(one: str, other: str) -> None:
    assert len(mark(one)) <= 80
    assert mark(mark(one)) == mark(one)
    assert (mark(one) == mark(other)) is (one == other)


def test_a_long_prompt_is_found_in_a_record_by_its_mark_and_in_older_facts_by_its_text() -> None:
    text = "long " * 100
    facts = [created(), *life(1, [text])]
    for known in ([mark(text)], [text]):
        session = folded([*facts, f.PromptQueued(at=8, prompt="p2", text=text), f.ResumeAsked(at=8, by="user")])
        launch = f.LaunchIntended(at=9, attempt=2, generation=2, how="load", token="t", known=known)
        session = evolve(evolve(session, launch), f.Launched(at=9, attempt=2, folder="/k", pid=1))
        assert session.attempts[-1].known == known
        opened = evolve(session, f.Opened(at=10, attempt=2, how="load", token="t", known=known))
        assert opened.attempts[-1].known is None


def test_what_an_agent_is_handed_back_is_not_kept_when_its_turn_is_over() -> None:
    facts = life(1, ["one"])
    cut = [*facts[:-2], facts[-1], f.ResumeAsked(at=8, by="user")]
    launch = f.LaunchIntended(at=9, attempt=2, generation=2, how="load", token="t", known=["one"], said=["w" * 60_000])
    up: list[AnyFact] = [
        f.Launched(at=9, attempt=2, folder="/k", pid=1),
        f.Opened(at=10, attempt=2, how="load", token="t"),
    ]
    session = folded([created(), *cut, launch, *up])
    [told] = session.queued
    assert "w" * 60_000 in told.text
    sent = f.PromptSent(at=11, attempt=2, prompt=told.id, message=1, text=told.text)
    done = f.TurnFinished(at=12, attempt=2, prompt=told.id, stop_reason="end_turn")
    session = evolve(evolve(session, sent), done)
    assert size(session) < 10_000
    assert prompts_in(session, [told.text]) == {told.id}, "a record that has it is still recognised"
