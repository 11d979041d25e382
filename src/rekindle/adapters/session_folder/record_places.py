"""Where the agents of this machine keep their own records of a session's conversations, and in which language."""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Callable, Mapping

from rekindle.adapters.session_folder.layout import session_folder
from rekindle.adapters.vault import agent_database, record_files
from rekindle.agents.base.kind import DatabaseDialect
from rekindle.agents.base.transcript import NoPlace, Record, TranscriptDialect
from rekindle.core.session.state import Session
from rekindle.ports.records import RecordsError

log = logging.getLogger(__name__)


class RecordPlaces:
    """`sessions` is the folder of all sessions, `environment` that of a session's agent.

    `dialects` tells how an agent's record is read, `databases` how that of an agent which has no file for each.
    """

    def __init__(
        self,
        sessions: str,
        environment: Callable[[Session], Mapping[str, str]],
        dialects: Mapping[str, TranscriptDialect | None],
        databases: Mapping[str, DatabaseDialect],
    ) -> None:
        self._sessions = sessions
        self._environment = environment
        self._dialects = dialects
        self._databases = databases

    def understood(
        self, session: Session, token: str, *, thorough: bool = False
    ) -> tuple[TranscriptDialect, str] | None:
        """How the record of a conversation is read, and where it is; None where nobody can tell."""
        dialect, path = self._dialects.get(session.agent), self.place(session, token, thorough=thorough)
        return (dialect, path) if dialect is not None and path is not None else None

    def place(self, session: Session, token: str, agent: str = "", *, thorough: bool = False) -> str | None:
        """Where the record of a conversation is, of the session's agent or of one that had it before."""
        dialect = self._dialects.get(agent or session.agent)
        if dialect is None:
            return None
        vault = session_folder(self._sessions, session.id).vault
        try:
            place = dialect.place(self._environment(session), os.path.realpath(session.cwd), token)
            found = record_files.match(dialect, place, vault, thorough=thorough) if "*" in place else place
            return os.path.realpath(found) if found is not None else None
        except NoPlace as error:
            log.warning("%s: its record has no place: %s", session.id, error)
            return None

    def shells(self, session: Session, token: str) -> list[str]:
        """Files that could be the conversation's record by their names, and in which nobody has said anything."""
        dialect = self._dialects.get(session.agent)
        if dialect is None:
            return []
        pattern = dialect.place(self._environment(session), os.path.realpath(session.cwd), token)
        found = glob.glob(pattern) if "*" in pattern else []
        return [os.path.realpath(one) for one in found if not record_files.is_spoken(dialect, one)]

    def rows(self, session: Session, token: str) -> Record | None:
        """The record of an agent that keeps it in a database. Raises RecordsError."""
        dialect = self._databases.get(session.agent)
        if dialect is None:
            return None
        try:
            place = dialect.place(self._environment(session), os.path.realpath(session.cwd))
        except NoPlace as error:
            raise RecordsError(f"the record of {session.agent} has no place: {error}", "check its settings") from error
        return agent_database.read(dialect, place, token)
