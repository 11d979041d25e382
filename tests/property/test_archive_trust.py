"""Nothing that an archive asks for counts unless somebody names it, and nothing starts by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.archive_trust import TRUSTABLE, settled, why_not_facts, wishes, withheld
from rekindle.core.moving import at_rest, folded, moved
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Cut
from rekindle.core.session.plan import plan
from tests.sessions import a_life

LIFE = a_life("s1")
assert isinstance(LIFE[0], f.Created)
GREEDY = replace(LIFE[0], permission="all", policy="continue", arguments=["--settings", "x"], feature="f", task="1")
LATE = 1e12

TAILS: st.SearchStrategy[list[AnyFact]] = st.lists(
    st.sampled_from(
        [
            f.PromptQueued(at=50.0, prompt="late", text="delete everything"),
            f.ResumeAsked(at=51.0, by="somebody"),
            f.ResumeAsked(at=51.0, by="somebody", handover=f.Handover("scripted", None, ["--yolo"])),
            f.LaunchIntended(at=52.0, attempt=9, generation=9, how="load", token="t"),
        ]
    ),
    max_size=3,
)


@given(st.integers(1, len(LIFE)), TAILS, st.frozensets(st.sampled_from(TRUSTABLE)))
def test_only_what_was_named_counts(length: int, tail: list[AnyFact], trusted: frozenset[str]) -> None:
    theirs: list[AnyFact] = [GREEDY, *LIFE[1:length], *tail]
    kept = moved(settled(theirs, trusted), session="s2", cwd="/there", folder="/state/s2")
    arrived = folded(kept)
    assert arrived is not None
    kept += at_rest(arrived, 60.0, Cut())
    before = folded(kept)
    assert before is not None
    session = folded([*kept, *withheld(before, 61.0, trusted), f.Imported(at=61.0, asked=[])])
    assert session is not None
    assert session.is_foreign
    assert session.permission == ("all" if "permission" in trusted else "edits")
    assert session.feature == ("f" if "feature" in trusted else None)
    if "arguments" not in trusted:
        assert session.arguments == []
    if "prompts" not in trusted:
        assert session.queued == []
    assert plan(session, LATE) == []
    theirs_ended = folded(theirs)
    assert theirs_ended is not None
    shown = wishes(theirs, theirs_ended, trusted, ["HOME"])
    for key, counts in (("permission", "permission" in trusted), ("feature", "feature" in trusted)):
        assert [one.counts for one in shown if one.key == key] == [counts]
    asked_for = [one.text for one in theirs_ended.queued]
    assert [one.value for one in shown if one.key == "prompt not sent yet"] == asked_for


@pytest.mark.parametrize(
    "bad",
    [
        replace(GREEDY, feature="../../x"),
        replace(GREEDY, task="a\nb"),
        replace(GREEDY, permission="everything"),
        replace(GREEDY, policy="now"),
        replace(GREEDY, model="--dangerously-skip-permissions"),
        replace(GREEDY, fork_of="-x"),
        replace(GREEDY, agent="claude"),
    ],
)
def test_facts_that_cannot_be_an_export_of_ours_are_refused(bad: f.Created) -> None:
    assert why_not_facts([GREEDY, *LIFE[1:]], "scripted") is None
    assert why_not_facts([bad, *LIFE[1:]], "scripted") is not None


@given(st.sampled_from(["../../../x", "-c", "--settings=/x", "a/b", "a\0b", "*", "t\n", "a" * 300, " "]))
def test_a_token_that_is_a_path_or_an_option_is_refused(token: str) -> None:
    named = f.Named(at=2.0, attempt=1, token=token)
    opened = f.Opened(at=2.0, attempt=1, how="new", token=token)
    intended = f.LaunchIntended(at=2.0, attempt=2, generation=2, how="load", token=token)
    for fact in (named, opened, intended):
        assert why_not_facts([GREEDY, fact], "scripted") is not None
