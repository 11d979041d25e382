"""The questions of features in the daemon: when they are over, and when nobody can tell."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rekindle.app.feature_inbox import FeatureInbox
from rekindle.app.features import Features
from rekindle.core.inbox import features as w
from rekindle.core.streams import FEATURE
from rekindle.ports.errors import NoRepository, NoSuchFeature, UsageError
from rekindle.ports.store import StoreChange
from rekindle.ports.workspace import Workspace
from tests.fakes.store import FakeStore, InlineAccess


async def listed_twice(problem: Exception) -> tuple[int, int]:
    """How many questions are listed while the repository cannot be read because of this, and after that."""
    store = FakeStore()
    asked = w.FeatureAsked(
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
    facts = [w.FeatureBegan(at=1.0, repository="/r", feature="shop", run="r1"), asked]
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
