"""Sessions without the daemon. See `rekindle.ports.kept_sessions.KeptSessions`. Light standard library only."""

from __future__ import annotations

import json
import os

from rekindle import files
from rekindle.adapters.session_folder.layout import SessionFolder, session_folder
from rekindle.ports.errors import RekindleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any, TypeVar

    from rekindle.core.daemon_lives import DaemonLives
    from rekindle.core.fact import Fact
    from rekindle.core.inbox.told import Tellings
    from rekindle.core.session.state import Session
    from rekindle.core.streams import StreamKind
    from rekindle.places import Places

    Found = TypeVar("Found")


class SessionsOnDisk:
    """The sessions of one store."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def is_there(self) -> bool:
        """Whether there is a store."""
        return os.path.exists(self._places.store)

    def has_folders(self) -> bool:
        """Whether any session has a folder."""
        return os.path.isdir(self._places.sessions)

    def rows(self) -> list[dict[str, Any]]:
        """The sessions, oldest first, as columns of the store."""
        from rekindle.adapters.sql_store import quick

        return self._whole(self._read(lambda: quick.rows(self._places.store)))

    def bodies(self) -> list[str]:
        """The sessions as the store keeps them, whole."""
        from rekindle.adapters.sql_store import quick

        return self._whole(self._read(lambda: quick.bodies(self._places.store)))

    def sessions(self) -> list[Session]:
        """The sessions, oldest first, except those that cannot be read."""
        from rekindle.adapters.sql_store.codec import Unreadable, decode_session

        found = []
        for body in self.bodies():
            try:
                found.append(decode_session(body))
            except Unreadable:
                continue
        return found

    def facts(self, session: str) -> list[str]:
        """The facts of a session as JSON texts, oldest first."""
        from rekindle.adapters.sql_store import quick

        return self._read(lambda: quick.facts(self._places.store, "session", session)) if self.is_there() else []

    def placed(
        self, stream: StreamKind, subject: str | None = None, kinds: Collection[str] = ()
    ) -> list[tuple[int, str, Fact]]:
        """The facts of a stream, with their places and subjects, in order."""
        from rekindle.adapters.sql_store import quick
        from rekindle.adapters.sql_store.codec import Unreadable, decode_told

        found: list[tuple[int, str, Fact]] = []
        for seq, about, body in self._read(lambda: quick.placed(self._places.store, stream, subject, tuple(kinds))):
            try:
                found.append((seq, about, decode_told(stream, body)))
            except Unreadable:
                continue
        return found

    def daemon_lives(self) -> DaemonLives | None:
        """How the daemons of this store have come and gone; None if there was none."""
        from rekindle.adapters.sql_store import quick
        from rekindle.adapters.sql_store.codec import Unreadable, decode_told
        from rekindle.core.daemon_lives import SUBJECT
        from rekindle.core.streams import MACHINE

        if not self.is_there():
            return None
        told = self._read(lambda: quick.facts(self._places.store, MACHINE.kind, SUBJECT))
        try:
            return MACHINE.folded(decode_told(MACHINE.kind, one) for one in told)  # type: ignore[misc]
        except Unreadable:
            return None

    def tellings(self, now: float) -> Tellings:
        """What people were told outside the terminal."""
        from rekindle.adapters.sql_store import quick
        from rekindle.adapters.sql_store.codec import Unreadable, decode_told
        from rekindle.core.inbox.told import Tellings, subjects
        from rekindle.core.streams import TELLING

        if not self.is_there():
            return Tellings()
        texts = [
            text
            for subject in subjects(now)
            for text in self._read(lambda subject=subject: quick.facts(self._places.store, TELLING.kind, subject))  # type: ignore[misc]
        ]
        try:
            return TELLING.folded(decode_told(TELLING.kind, one) for one in texts) or Tellings()  # type: ignore[misc]
        except Unreadable:
            return Tellings()

    def is_alive(self, session: str) -> bool:
        """Whether somebody holds the session's lock."""
        return files.is_locked(self._of(session).lock)

    def has_keeper(self, session: str, attempt: int) -> bool:
        """Whether the keeper of this attempt lives."""
        from rekindle.keeper import launch

        return launch.is_alive(self._of(session).attempt(attempt))

    def folders(self) -> list[str]:
        """The sessions that have a folder, by name."""
        names = sorted(os.listdir(self._places.sessions)) if self.has_folders() else []
        return [name for name in names if os.path.isdir(self.folder(name))]

    def record(self, place: str) -> bytes | None:
        """An agent's own record of a conversation as it is now."""
        try:
            return files.read(place)
        except OSError:
            return None

    def begun(self, session: str) -> Mapping[str, Any]:
        """What was recorded when the session was started."""
        try:
            found = json.loads(files.read(self._of(session).session_file))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def environment(self, session: str) -> Mapping[str, str] | None:
        """The environment that the session's agent gets."""
        from rekindle.adapters.session_folder import environment

        return environment.read(self.folder(session))

    def hosts(self) -> Mapping[str, str]:
        """One machine has them all."""
        return {}

    def folder(self, session: str) -> str:
        """Where the session's files are, or were."""
        return self._of(session).path

    def _of(self, session: str) -> SessionFolder:
        return session_folder(self._places.sessions, session)

    def _whole(self, found: list[Found]) -> list[Found]:
        """What was found, if that is all. One that was emptied or removed lacks sessions whose folders are there."""
        from rekindle.adapters.sql_store import quick

        store = self._places.store
        half = quick.is_half_rebuilt(store)
        folders = self.folders() if half or not found else []
        if folders and (half or not self._read(lambda: quick.is_made(store))):
            what = "is not rebuilt yet" if half else "is empty or gone"
            raise RekindleError(
                f"{store} {what}, and there are folders of sessions: {', '.join(folders[:10])}",
                "the daemon rebuilds it from them when it starts, for example with `rekindle serve`",
            )
        return found

    def _read(self, read: Callable[[], Found]) -> Found:
        import sqlite3

        try:
            return read()
        except sqlite3.Error as error:
            raise RekindleError(
                f"{self._places.store}: {error}", "`rekindle serve` sets a damaged store aside and rebuilds it"
            ) from error
