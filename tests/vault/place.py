"""A session's folder as keepers and the vault leave it, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

from rekindle.adapters.session_folder import retention
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.session_folder.spool_files import spool
from rekindle.adapters.vault.vault import Vault, transcript
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.retention import RemovableItem, RoomSurvey
from tests.sessions import created, folded
from tests.spooled import put_exit

DAYS = 86400.0
NOW = 1000 * DAYS
OVER: list[f.AnyFact] = [
    created(),
    f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
    f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
    f.Opened(at=5.0, attempt=1, how="new", token="tok"),
    f.Exited(at=10.0, attempt=1, how_ended="exit code 0", by_us=True),
]


class Place:
    """`folder` becomes the state folder, with one session in it."""

    def __init__(self, folder: Path) -> None:
        self.sessions = folder / "sessions"
        self.own = self.sessions / "s1"
        self.attempt = self.own / "1"
        self.vault = Path(SessionFolder(self.own).vault)
        self.record = folder / "record"
        self.stamp = uuid4().hex  # tests that run at the same time see each other's processes
        self.attempt.mkdir(parents=True)

    def spools(self, out: bytes = b"said\n" * 1000, *, ended: bool = True) -> None:
        (self.attempt / "out").write_bytes(out)
        (self.attempt / "in").write_bytes(b"")
        (self.attempt / "spec.json").write_text(_spec(self.attempt, self.stamp))
        if ended:
            put_exit(self.attempt)

    def copy(self) -> None:
        with Vault(str(self.vault), "s1") as vault:
            vault.copy(spool(SessionFolder(self.own), 1, "out"))
            vault.copy(spool(SessionFolder(self.own), 1, "in"))
            vault.copy(transcript(str(self.record)))

    def look(self, session: Session | None = None, older_than: float | None = None) -> RoomSurvey:
        return retention.survey(str(self.sessions), [session or folded(OVER)], NOW, older_than)

    def collect(self, session: Session | None = None, older_than: float | None = None) -> list[RemovableItem]:
        return retention.remove(str(self.sessions), self.look(session, older_than).items)[0]


def _spec(folder: Path, stamp: str) -> str:
    value = {
        "session": "s1", "attempt": 1, "generation": 1, "argv": ["x"], "cwd": "/", "env": {}, "folder": str(folder),
        "lock": str(folder.parent / "lock"), "socket_dir": "/tmp", "stamp": stamp, "pty": False, "rows": 24, "cols": 80,
        "grace_seconds": 1.0, "reserve_bytes": 65536, "background": "end", "socket": "",
    }  # fmt: skip
    return json.dumps(value)
