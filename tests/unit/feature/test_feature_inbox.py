"""The questions of features in the daemon: when they are over, and when nobody can tell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rekindle.app.feature_inbox import FeatureInbox
from rekindle.app.features import Features
from rekindle.core.inbox import features as w
from rekindle.core.streams import FEATURE
from rekindle.ports.errors import GitLocked, NoRepository, NoSuchFeature, RekindleError, UsageError
from rekindle.ports.store import StoreChange
from rekindle.ports.workspace import Workspace
from tests.fakes.store import FakeStore, InlineAccess

ASKED = w.FeatureAsked(
    at=2.0,
    run="r1",
    kind="case_b",
    title="shop has an issue",
    detail="",
    options=[("A", "Fix it", "fix"), ("leave", "Leave it", "leave")],
    recommended="A",
    otherwise="nothing happens",
    mark="m",
)


async def listed_twice(problem: Exception) -> tuple[int, int]:
    """How many questions are listed while the repository cannot be read because of this, and after that."""
    store = FakeStore()
    facts = [w.FeatureBegan(at=1.0, repository="/r", feature="shop", run="r1"), ASKED]
    store.commit([StoreChange(FEATURE.kind, w.subject("/r", "shop"), facts)])
    problems = [problem]

    def open_here(_path: str) -> Workspace:
        if problems:
            raise problems.pop()
        run = SimpleNamespace(sid="r1", ended=False, end_reason=None)
        return cast(Workspace, SimpleNamespace(analysis=lambda _feature: (SimpleNamespace(run=run), None)))

    features: Any = SimpleNamespace(watcher=None)
    inbox = FeatureInbox(cast(Features, features), InlineAccess(store), open_here, lambda: 3.0, {})
    await inbox.open()
    return len(await inbox.questions()), len(await inbox.questions())


@pytest.mark.parametrize("problem", [UsageError("settings.toml, line 3: not TOML", "mend it"), OSError(24, "too many")])
def test_a_question_stays_open_while_nobody_can_see_whether_its_feature_has_moved_on(problem: Exception) -> None:
    assert asyncio.run(listed_twice(problem)) == (1, 1)


@pytest.mark.parametrize("problem", [NoRepository("/r is gone", ""), NoSuchFeature("there is no shop", "")])
def test_a_question_is_over_when_its_repository_or_journal_is_gone(problem: Exception) -> None:
    assert asyncio.run(listed_twice(problem)) == (0, 0)


class CountingStore(FakeStore):
    """Notes how many facts each change had."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[int] = []

    def commit(self, changes: Sequence[StoreChange]) -> Any:
        self.made += [len(one.facts) for one in changes]
        return super().commit(changes)


class Answered:
    """An inbox with one question. `problems` are what goes wrong at each look at the repository, then nothing does."""

    def __init__(self, problems: list[Exception], resumes: Exception | None = None) -> None:
        self.store = CountingStore()
        facts = [w.FeatureBegan(at=1.0, repository="/r", feature="shop", run="r1"), ASKED]
        self.store.commit([StoreChange(FEATURE.kind, w.subject("/r", "shop"), facts)])
        self.problems, self.resumes, self.now = problems, resumes, 3.0

    async def inbox(self) -> FeatureInbox:
        async def known_as(_repository: str) -> str:
            if self.problems:
                raise self.problems.pop(0)
            raise self.resumes or AssertionError("nobody looks any further")

        def open_here(_path: str) -> Workspace:
            run = SimpleNamespace(sid="r1", ended=False, end_reason=None)
            return cast(Workspace, SimpleNamespace(analysis=lambda _feature: (SimpleNamespace(run=run), None)))

        features: Any = SimpleNamespace(watcher=None, known_as=known_as)
        made = FeatureInbox(cast(Features, features), InlineAccess(self.store), open_here, lambda: self.now, {})
        await made.open()
        return made


@pytest.mark.parametrize("problem", [GitLocked("git is locked", "wait"), OSError(28, "no space left")])
def test_an_answer_that_could_not_be_carried_out_leaves_a_question_in_the_inbox(problem: Exception) -> None:
    async def story() -> None:
        stage = Answered([problem, problem])
        inbox = await stage.inbox()
        [first] = await inbox.questions()
        with pytest.raises(RekindleError, match="could not go on"):
            await inbox.answer(first.id, "A", by="me", text="", env=None)
        [again] = await inbox.questions()
        assert (again.title, again.id != first.id) == (first.title, True)
        [kept] = await (await stage.inbox()).questions()
        assert kept.id == again.id, "a new daemon asks the same, and carries nothing out a second time"

    asyncio.run(story())


def test_the_end_of_an_answer_and_the_question_after_it_are_recorded_together() -> None:
    async def story() -> None:
        stage = Answered([GitLocked("git is locked", "wait")] * 2)
        inbox = await stage.inbox()
        [first] = await inbox.questions()
        with pytest.raises(RekindleError):
            await inbox.answer(first.id, "A", by="me", text="", env=None)
        assert stage.store.made[-2:] == [1, 2], "the answer; then its end, with the next question"

    asyncio.run(story())
