"""The questions of features as facts: the first answer counts, replays change nothing, a new run closes a question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.inbox.features import (
    FeatureAnswerDone,
    FeatureAnswered,
    FeatureAsked,
    FeatureBegan,
    FeatureClosed,
    FeatureEnded,
    FeatureFact,
    WatchedFeature,
    as_question,
    booked,
    news_of,
)

OPTIONS = [("A", "Fix", "go"), ("C", "Say how", "instruct"), ("leave", "Leave it", "leave")]


def began(run: str = "r1", at: float = 1.0) -> FeatureBegan:
    return FeatureBegan(at=at, repository="/repo", feature="F", run=run)


def asked(at: float = 3.0, mark: str = "m") -> FeatureAsked:
    return FeatureAsked(
        at=at,
        run="r1",
        kind="case_b",
        title="F: task b failed",
        detail="",
        options=OPTIONS,
        recommended="A",
        otherwise="nothing happens",
        mark=mark,
    )


def folded(*facts: FeatureFact) -> WatchedFeature:
    state: WatchedFeature | None = None
    for fact in facts:
        state = booked(state, fact)
    assert state is not None
    return state


def open_id(state: WatchedFeature) -> str:
    assert state.question is not None
    return state.question[0]


runs, times = st.sampled_from(["r1", "r2"]), st.floats(0, 50)
questions = st.sampled_from(["q", open_id(folded(began(), asked()))])
facts = st.lists(
    st.one_of(
        st.builds(began, runs, times),
        st.builds(FeatureEnded, at=times, run=runs, reason=st.sampled_from(["completed", "error", ""])),
        st.builds(asked, st.sampled_from([3.0, 4.0]), st.sampled_from("mn")),
        st.builds(
            FeatureAnswered,
            at=times,
            question=questions,
            option=st.sampled_from(["A", "leave"]),
            by=st.sampled_from(["one", "two"]),
        ),
        st.builds(FeatureAnswerDone, at=times, question=questions),
        st.builds(FeatureClosed, at=times, question=questions),
    ),
    max_size=12,
)


@given(facts)
def test_a_fact_that_is_replayed_changes_nothing(said: list[FeatureFact]) -> None:
    state: WatchedFeature | None = booked(None, began())
    for fact in said:
        state = booked(state, fact)
        assert booked(state, fact) == state
        assert len({one.id for one in state.settled}) == len(state.settled), "each question is over once"


def test_the_first_answer_stands_and_is_to_be_carried_out_until_it_is_done() -> None:
    state = folded(began(), FeatureEnded(at=2.0, run="r1", reason="error", message="b failed"), asked())
    name = open_id(state)
    state = booked(state, FeatureAnswered(at=4.0, question=name, option="A", by="one"))
    state = booked(state, FeatureAnswered(at=5.0, question=name, option="leave", by="two"))
    assert state.undone is not None
    assert (state.undone.option, state.undone.by, as_question(state)) == ("A", "one", None)
    assert booked(state, FeatureAnswerDone(at=6.0, question=name)).undone is None


def test_a_new_run_closes_the_question_and_ends_the_news() -> None:
    state = folded(began(), FeatureEnded(at=2.0, run="r1", reason="error", message="b failed"), asked())
    assert [(one.about, one.key) for one in news_of(state)] == [
        ("question", open_id(state)),
        ("feature", open_id(state)),
    ], "one occasion, told once, whichever the settings name"
    answered = booked(state, FeatureAnswered(at=4.0, question=open_id(state), option="leave", by="one"))
    assert news_of(answered) == []
    after = booked(state, began("r2", 9.0))
    assert (after.question, [one.how for one in after.settled], news_of(after)) == (None, ["expired"], [])


def test_what_is_left_is_remembered_by_what_it_was_about() -> None:
    state = folded(began(), asked())
    state = booked(state, FeatureAnswered(at=4.0, question=open_id(state), option="leave", by="one"))
    assert (state.is_left("m"), state.is_left("n"), state.undone) == (True, False, None)


def test_the_question_has_the_shape_of_all_questions() -> None:
    found = as_question(folded(began(), asked()))
    assert found is not None
    document = found.document
    fields = {"id", "session", "feature", "kind", "title", "detail", "options", "recommended", "expires_at", "asked_at"}
    assert fields <= document.keys()
    assert document["options"][0] == {"id": "A", "label": "Fix", "kind": "go"}
    assert found.takes_text == ("C",)
