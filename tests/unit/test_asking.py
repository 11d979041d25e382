"""An answer that is given again, because nobody heard whether the first one arrived, is the same answer."""

from __future__ import annotations

import pytest

from rekindle.core.session import asking
from rekindle.core.session import facts as f
from rekindle.core.session.booking import questions
from rekindle.core.session.state import Settled
from tests.sessions import created, folded

OPTIONS = [("o-1", "Yes", "allow_once"), ("o-2", "Always", "allow_always"), ("o-3", "No", "reject_once")]


def settled(option: str) -> Settled:
    session = folded([created()])
    session = questions.booked(
        session, f.PermissionAsked(at=1, attempt=1, request="7", title="rm", kind="execute", options=OPTIONS)
    )
    session = questions.booked(session, f.PermissionAnswered(at=2, request="7", option=option, by="ann"))
    [over] = session.settled
    return over


@pytest.mark.parametrize(
    ("answered", "again"), [("o-1", "allow"), ("o-1", "allow_once"), ("o-1", "o-1"), ("o-3", "deny")]
)
def test_the_same_answer_in_the_word_that_was_typed(answered: str, again: str) -> None:
    assert asking.is_same_answer(settled(answered), again)


@pytest.mark.parametrize(("answered", "again"), [("o-2", "allow"), ("o-1", "deny"), ("o-1", "o-2"), ("o-3", "allow")])
def test_another_answer_is_another_one(answered: str, again: str) -> None:
    assert not asking.is_same_answer(settled(answered), again)
