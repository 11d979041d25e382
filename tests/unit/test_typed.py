"""What a line means that is typed at a session: never the answer to a question that its writer cannot have seen."""

from __future__ import annotations

from typing import Any

from rekindle.doors.cli.typed import ARMED_AFTER, QuestionAtHand, TooSoon, TypedAnswer, TypedPrompt, UnusedLine


def question(name: str) -> dict[str, Any]:
    options = [("allow_once", "Allow once"), ("reject_once", "Reject")]
    offered = [{"id": id_, "label": label, "kind": id_} for id_, label in options]
    return {"id": name, "kind": "permission", "options": offered}


def test_a_line_answers_the_question_on_the_screen_or_is_a_prompt_where_there_is_none() -> None:
    at_hand = QuestionAtHand("s1")
    assert at_hand.take("1", 0.0) == TypedPrompt("1")
    assert at_hand.see(question("q1"), 0.0)
    assert not at_hand.see(question("q1"), 1.0), "it is there already"
    assert isinstance(at_hand.take("go on", 1.0), UnusedLine)
    answer = at_hand.take("2", 1.0)
    assert answer == TypedAnswer(question("q1"), "reject_once")
    assert isinstance(answer, TypedAnswer)
    assert answer.label == "Reject"


def test_a_question_takes_no_answer_in_the_moment_in_which_it_appears() -> None:
    at_hand = QuestionAtHand("s1")
    at_hand.see(question("q1"), 10.0)
    assert not at_hand.takes_answers(10.0)
    assert isinstance(at_hand.take("1", 10.0 + ARMED_AFTER / 2), TooSoon)
    assert at_hand.takes_answers(10.0 + ARMED_AFTER)
    assert isinstance(at_hand.take("1", 10.0 + ARMED_AFTER), TypedAnswer)


def test_an_answer_that_may_mean_the_question_before_is_not_used_and_the_question_is_shown_again() -> None:
    at_hand = QuestionAtHand("s1")
    at_hand.see(question("q1"), 0.0)
    assert at_hand.see(question("q2"), 5.0)
    assert isinstance(at_hand.take("1", 9.0), UnusedLine)
    assert at_hand.see(question("q2"), 10.0)
    assert at_hand.take("1", 11.0) == TypedAnswer(question("q2"), "allow_once")


def test_an_answer_to_a_question_that_is_over_becomes_no_prompt_and_other_words_do() -> None:
    for line, meant in (("1", TypedAnswer(question("q1"), "allow_once")), ("go on", TypedPrompt("go on"))):
        at_hand = QuestionAtHand("s1")
        at_hand.see(question("q1"), 0.0)
        at_hand.see(None, 1.0)
        assert at_hand.open is None
        assert at_hand.take(line, 2.0) == meant


def test_a_question_that_was_answered_here_is_shown_again_only_if_the_answer_was_not_given() -> None:
    at_hand = QuestionAtHand("s1")
    at_hand.see(question("q1"), 0.0)
    at_hand.take("1", 1.0)
    assert not at_hand.see(question("q1"), 1.1)
    assert at_hand.open is None
    at_hand.fail()
    assert at_hand.see(question("q1"), 1.2)
