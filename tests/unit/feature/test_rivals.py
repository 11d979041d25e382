"""Who counts as somebody else's agent on a task, and who is one of the run's own."""

from __future__ import annotations

from msgspec.structs import replace

from rekindle.core.feature import effects as e
from rekindle.core.feature.plan import Plan, Task
from rekindle.core.feature.rivals import rival
from rekindle.core.session.state import Attempt, Session
from tests.fakes.feature_world import World


def test_only_a_live_agent_of_the_same_task_and_role_with_a_foreign_id_is_a_rival() -> None:
    world = World(Plan((Task("a"), Task("b")), (("a", "b"),)))
    own = world.situation().session_of("a", "work")
    say = e.Assign("a", own, "work", "", "round/1", "do it", 1)
    live = Session("f" * 10, "scripted", "/", 0.0, title="work: A", task="a", attempts=[Attempt(1, "new", "up")])

    def found(*sessions: Session) -> Session | None:
        world.sessions = {session.id: session for session in sessions}
        return rival(world.situation(), say)

    assert found(live) == live
    assert found(replace(live, id=own)) is None
    assert found(replace(live, id=world.situation().session_of("a", "review-1"), title="review: A")) is None
    assert found(replace(live, task="b")) is None
    assert found(replace(live, title="merge: A")) is None
    gone = replace(live, attempts=[Attempt(1, "new", "gone")])
    assert found(gone) is None
    assert found(replace(gone, resume_asked="user")) is not None, "it is about to come back"
    world.sessions = {own: replace(gone, id=own), live.id: live}
    assert rival(world.situation(), e.Revive("a", own)) == live
