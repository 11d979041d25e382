"""A retry that could not be made now is refused: it would be made later, when nobody expects it."""

from __future__ import annotations

import pytest

from rekindle.app.jobs import _refuse_retry
from rekindle.core.session import facts as f
from rekindle.ports.errors import OwnedError
from tests.job_stage import Stage, order


def test_a_retry_is_refused_while_the_agent_asks_and_allowed_once_it_is_gone() -> None:
    stage = Stage(order())
    while stage.session is None or stage.session.attempt is None or stage.session.attempt.status != "ready":
        stage.turn()
    name = stage.session.id
    stage.book(name, f.PromptSent(at=stage.now, attempt=1, prompt="p0", message=1, text="do it"))
    asked = f.PermissionAsked(
        at=stage.now,
        attempt=1,
        request="1",
        prompt="p0",
        title="rm",
        kind="execute",
        options=[("a", "Yes", "allow_once")],
    )
    stage.book(name, asked)
    assert stage.record.status == "waiting"
    with pytest.raises(OwnedError) as refused:
        _refuse_retry(stage.job, stage.session, resume=False)
    assert "it asks: rm" in refused.value.message
    stage.book(name, f.Exited(at=stage.now, attempt=1, how_ended="SIGKILL", by_us=False, cut=f.Cut()))
    stage.turn()
    _refuse_retry(stage.job, stage.session, resume=False)
