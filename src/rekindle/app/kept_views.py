"""Sessions at rest look the same in every list until they change, so a list makes only the views of the others anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rekindle.app.session_view import SessionView
from rekindle.core.session.activity import rests
from rekindle.core.session.state import Session


class KeptViews:
    """The views of the last list."""

    def __init__(self, shown: Callable[[Session], SessionView], is_followed: Callable[[str], bool]) -> None:
        self._shown = shown
        self._is_followed = is_followed
        self._kept: dict[str, tuple[Session, SessionView]] = {}

    def of(self, sessions: Iterable[Session]) -> list[SessionView]:
        """The views of these sessions, in their order."""
        pairs = [(session, self._view(session)) for session in sessions]
        self._kept = {session.id: (session, view) for session, view in pairs if self._rests(session, view)}
        return [view for _, view in pairs]

    def _view(self, session: Session) -> SessionView:
        known = self._kept.get(session.id)
        is_same = known is not None and known[0] is session and not self._is_followed(session.id)
        return known[1] if known is not None and is_same else self._shown(session)

    def _rests(self, session: Session, view: SessionView) -> bool:
        """Whether only a change of the session can change its view: not time, its agent, or other sessions."""
        is_alone = not session.is_up and not self._is_followed(session.id)
        return is_alone and view.waits_until is None and rests(session)
