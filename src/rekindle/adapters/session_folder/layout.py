"""Where everything of a session lies: every file and folder of it is named here, once. Light standard library only.

SESSION/
  session.json       how the session was begun                imported.jsonl   the facts that it came with
  environment.json   what its agents get (0600)               handovers.json   from when on another agent has it
  lock               held by the keeper that lives            snapshot.owed    a snapshot that is still to be taken
  1/ 2/ …            one per attempt: see `rekindle.keeper.spec.Layout`
  vault/ vault.json  checked copies of spools and records: see `rekindle.adapters.vault`
  terminals/         commands that the agent has us run: see `rekindle.adapters.callbacks.terminals`
  snapshots.bundle   snapshots that came with it and have no repository yet
"""

from __future__ import annotations

import os

#: What was told to the agent of an attempt, and what it said.
SPOOLS = ("in", "out")


class SessionFolder:
    """The paths of one session. Nothing is read or made but where that is said."""

    __slots__ = ("path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    @property
    def session_file(self) -> str:
        """How the session was started: its first fact."""
        return self._of("session.json")

    @property
    def imported(self) -> str:
        """The facts that a session from another machine came with."""
        return self._of("imported.jsonl")

    @property
    def environment(self) -> str:
        """The environment of its agents."""
        return self._of("environment.json")

    @property
    def handovers(self) -> str:
        """From which attempt on another agent continued."""
        return self._of("handovers.json")

    @property
    def lock(self) -> str:
        """Its holder is the session's keeper."""
        return self._of("lock")

    @property
    def owed_snapshot(self) -> str:
        """Why a snapshot is still to be taken."""
        return self._of("snapshot.owed")

    @property
    def vault(self) -> str:
        """The folder of checked copies."""
        return self._of("vault")

    @property
    def terminals(self) -> str:
        """The folder of the commands that its agent has us run."""
        return self._of("terminals")

    @property
    def snapshots(self) -> str:
        """Snapshots that wait for a repository."""
        return self._of("snapshots.bundle")

    def attempt(self, number: int) -> str:
        """The keeper's folder of an attempt."""
        return self._of(str(number))

    def attempts(self) -> list[int]:
        """The attempts that there is something of, oldest first. Looks into the folder."""
        try:
            names = os.listdir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(int(name) for name in names if name.isascii() and name.isdigit() and name[0] != "0")

    def _of(self, name: str) -> str:
        return os.path.join(self.path, name)


def session_folder(sessions: str, session: str) -> SessionFolder:
    """The folder of a session, in the folder of all sessions."""
    return SessionFolder(os.path.join(sessions, session))


def attempt_of(folder: str) -> tuple[SessionFolder, int]:
    """Whose a keeper's folder is, and of which attempt."""
    session, number = os.path.split(folder)
    return SessionFolder(session), int(number)
