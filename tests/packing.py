"""A session that can be packed into an archive, with everything that goes along."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from rekindle.adapters.moving.export import export
from rekindle.adapters.session_folder.session_file import write_session_file
from rekindle.adapters.snapshots import taking
from rekindle.adapters.sql_store.codec import encode_fact
from rekindle.core.moving import Manifest, folded
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.ports.archives import ImportTarget
from tests.sessions import a_life


class Ground:
    """A session's folder, a repository with a snapshot, and an agent's record."""

    def __init__(self, folder: Path, sessions: Path | None = None) -> None:
        self.repo, self.home = folder / "repo", folder / "agent"
        self.sessions = sessions or folder / "sessions"
        self.archive = folder / "a.tar.gz"
        self.environment = {"REKINDLE_SCRIPTED_HOME": str(self.home), "HOME": str(folder)}
        for one in (self.repo, self.home, self.sessions / "s1"):
            one.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        (self.repo / "a.txt").write_text("not committed")
        stayed = [fact for fact in a_life("s1")[1:] if not isinstance(fact, f.Relocated | f.TakenOver)]
        self.facts: list[AnyFact] = [f.Created(at=1.0, session="s1", agent="scripted", cwd=str(self.repo)), *stayed]
        write_session_file(self.sessions / "s1", f.Created(at=1.0, session="s1", agent="scripted", cwd=str(self.repo)))
        session = folded(self.facts)
        assert session is not None and session.token is not None
        self.record = self.home / f"{session.token}.jsonl"
        self.record.write_text('{"kind":"user","text":"do it"}\n')
        assert taking.take(str(self.repo), "s1", "turn 1 has ended", 1.0) is not None

    def git(self, *words: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        done = subprocess.run(
            ["git", *words], cwd=self.repo, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def texts(self) -> list[str]:
        return [encode_fact(fact) for fact in self.facts]

    def export(self) -> Manifest:
        folder = str(self.sessions / "s1")
        return export(folder, self.texts(), str(self.archive), self.environment, with_secrets=False).manifest

    def place(self, session: str, token: str | None = None) -> ImportTarget:
        return ImportTarget(str(self.sessions), session, str(self.repo), self.environment, token)
