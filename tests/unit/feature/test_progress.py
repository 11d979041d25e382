"""What the decisions of a person make of a task's progress."""

from __future__ import annotations

from rekindle.core.feature.plan import Plan, Task
from rekindle.core.feature.progress import progress
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import fold
from tests.journals import line


def test_instructions_that_are_given_twice_do_not_make_the_earlier_rounds_come_again() -> None:
    told = {"choice": "C", "tasks": ["a"], "instructions": "so"}
    lines = [
        line("session.start", sid="aaaa0001"),
        line("qa.failed", sid="aaaa0001", seq=1, taskId="a", round=2, issues=["bad"]),
        line("session.start", sid="aaaa0002", resumes="aaaa0001"),
        line("resume.decided", sid="aaaa0002", seq=1, **told),
        line("session.start", sid="aaaa0003", resumes="aaaa0002"),
        line("resume.decided", sid="aaaa0003", seq=1, **told),
    ]
    runs = fold(map(decode_line, lines)).runs
    plan = Plan((Task("a"),), (("a",),))
    rounds = [progress("shop", plan, runs[:many])["a"].rounds_before for many in (1, 2, 3)]
    assert rounds == [0, 2, 2]
