"""Who takes a place among the agents that may work at once, and who gives it to others while it waits."""

from __future__ import annotations

import pytest

from rekindle.core.governor.places import is_at_work
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from tests.sessions import told
from tests.unit.test_reactions import at_work, failed, finished, idled, killed, ruled

OPTIONS = [("yes", "Yes", "allow_once"), ("no", "No", "reject_once")]


def asking() -> Session:
    working = at_work(ruled())
    return told(working, f.PermissionAsked(at=9, attempt=1, request="r1", title="?", kind="edit", options=OPTIONS))


def test_an_agent_in_its_turn_takes_a_place_and_one_that_is_gone_takes_none() -> None:
    assert is_at_work(at_work(ruled()))
    assert not is_at_work(killed(at_work(ruled(dead=Reaction("escalate")))))


def test_an_agent_that_waits_for_a_permission_takes_none_until_it_is_answered() -> None:
    session = asking()
    assert not is_at_work(session)
    assert is_at_work(told(session, f.PermissionAnswered(at=10, request="r1", option="yes", by="me")))


@pytest.mark.parametrize("trigger", ["idle", "error"])
def test_an_agent_about_which_a_person_is_asked_takes_none(trigger: str) -> None:
    session = at_work(ruled(**{trigger: Reaction("escalate")}))
    session = idled(finished(session)) if trigger == "idle" else failed(session)
    assert session.escalation is not None
    assert not is_at_work(session)


def test_an_agent_that_waits_for_the_end_of_a_limit_takes_none() -> None:
    session = failed(at_work(ruled(error=Reaction("wait", cooldown=(60.0,)))), "rate_limited", retry_at=3600.0)
    assert session.queued
    assert not is_at_work(session)
