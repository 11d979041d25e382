"""A list that is asked for again and again says what it would say if nobody had ever asked."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rekindle.app import session_view
from rekindle.app.kept_views import KeptViews
from rekindle.app.session_view import SessionView
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.state import Session

BEGUN = (
    f.Created(at=1.0, session="a", agent="scripted", cwd="/", title="idle"),
    f.PromptQueued(at=2.0, prompt="p", text="say hello"),
    f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
    f.Launched(at=4.0, attempt=1, folder="x", pid=1),
    f.Opened(at=5.0, attempt=1, how="new", token="t"),
    f.PromptSent(at=6.0, attempt=1, prompt="p", message=3, text="say hello"),
    f.TurnFinished(at=7.0, attempt=1, prompt="p", stop_reason="end_turn"),
    f.Exited(at=8.0, attempt=1, how_ended="stopped (asleep)", by_us=True),
)


def life(name: str, length: int) -> Session:
    session = None
    for fact in (msgspec.structs.replace(BEGUN[0], session=name), *BEGUN[1:length]):
        session = evolve(session, fact)
    assert session is not None
    return session


class Daemon:
    """What a list depends on: the time, and whose agent is followed."""

    def __init__(self) -> None:
        self.now, self.made = 10.0, 0
        self.followed: frozenset[str] = frozenset()
        self.views = KeptViews(self.shown, lambda name: name in self.followed)

    def shown(self, session: Session) -> SessionView:
        self.made += 1
        alive = session.id in self.followed
        return session_view.shown(session, self.now, alive=alive, seen_seconds_ago=None)


@st.composite
def moments(draw: st.DrawFn) -> list[tuple[dict[str, int], frozenset[str], float]]:
    names = st.sampled_from("abc")
    moment = st.tuples(
        st.dictionaries(names, st.integers(1, len(BEGUN))), st.frozensets(names), st.floats(0, 1e6, allow_nan=False)
    )
    return draw(st.lists(moment, max_size=6))


@given(moments())
def test_a_list_with_kept_views_is_the_list_made_anew(
    story: list[tuple[dict[str, int], frozenset[str], float]],
) -> None:
    daemon = Daemon()
    lives = {(name, length): life(name, length) for name in "abc" for length in range(1, len(BEGUN) + 1)}
    for lengths, followed, now in story:
        daemon.followed, daemon.now = followed, now
        sessions = [lives[one] for one in sorted(lengths.items())]
        assert daemon.views.of(sessions) == [daemon.shown(session) for session in sessions]


def test_sessions_at_rest_are_not_looked_at_again() -> None:
    daemon = Daemon()
    idle, busy = life("a", len(BEGUN)), life("b", len(BEGUN) - 2)
    for _ in range(3):
        daemon.views.of([idle, busy])
    assert daemon.made == 1 + 3
