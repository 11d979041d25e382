"""Two who resume the same feature: whatever the schedule, one run comes of it, and the other one is told why not."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.feature_git.git_feature import GitFeature
from rekindle.adapters.git import identity, repository
from rekindle.adapters.journal_file import run_owner
from rekindle.adapters.machine import commands, team
from rekindle.adapters.vault import relocating
from rekindle.adapters.workspace.git_workspace import GitWorkspace, open_workspace
from rekindle.agents.registry import AGENTS
from rekindle.app.features import FeaturePorts, Features
from rekindle.app.journals import JournalWriters
from rekindle.app.relocation import Relocations
from rekindle.app.requests import FeatureResumeRequest
from rekindle.core.journal.analysis import Analysis
from rekindle.core.session.facts import AnyFact, Created
from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError, QuestionError, RekindleError
from rekindle.ports.journal import Journal
from rekindle.runtime.engine import Engine
from rekindle.runtime.feature.runner import FeatureRunner
from rekindle.runtime.outbox import Outbox
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.conversations import FakeConversations
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.journals import line
from tests.unit.feature.repositories import FEATURE, Repo, make

FIRST = "aaaa0001"


class Watched(GitWorkspace):
    """A workspace that lets something happen around the moment at which the journal is read."""

    before: Callable[[], None] | None = None
    behind: Callable[[], None] | None = None

    def analysis(self, feature: str, *, lock_is_ours: bool = False) -> tuple[Analysis, run_owner.Owner | None]:
        if self.before is not None:
            self.before()
        found = super().analysis(feature, lock_is_ours=lock_is_ours)
        if self.behind is not None:
            self.behind()
        return found


class Daemon:
    """The features of a daemon whose agents never begin."""

    def __init__(self, repo: Repo, home: Path) -> None:
        self.home = home
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], **_state(repo.root)}
        self.root = str(repo.root)
        self.around: dict[str, Callable[[], None]] = {}
        access = InlineAccess()
        engine = Engine(access, itertools.count(1.0).__next__)
        journals = JournalWriters(self._journal)
        self.supervisor = Supervisor(engine, FakeKeepers(FakeWorld()), FakeWorkplace(), {}, FakeRecords())
        self.features = Features(
            FeaturePorts(
                self.supervisor,
                journals,
                Outbox(access, journals, engine.where),
                self._open,
                Relocations(self.supervisor, self._open, repository.find, identity, relocating, NoPlaces()).arrive,
                NoPlaces(),
                commands,
                FakeConversations("scripted"),
                team,
                {"scripted": AGENTS["scripted"]},
                lambda _kind, _env: None,
                "scripted",
            )
        )

    def _journal(self, cwd: str, feature: str) -> Journal:
        return open_workspace(self.env, cwd).writable(feature)

    def _open(self, cwd: str) -> Watched:
        opened = open_workspace(self.env, cwd)
        here = Watched(opened.repository, opened.settings, self.env)
        here.before, here.behind = self.around.get("before"), self.around.get("behind")
        self.around = {}
        return here

    async def resume(self, **more: Any) -> str:
        asked = FeatureResumeRequest(cwd=self.root, feature=FEATURE, env=self.env, **more)
        told = await self.features.resume(asked)
        return told.sid

    async def end(self) -> None:
        await self.features.stop(cwd=self.root, feature=FEATURE)


def _state(root: Path) -> dict[str, str]:
    """All daemons are the same user's."""
    return {"XDG_STATE_HOME": str(root.parent / "state")}


class NoPlaces:
    """Nobody can begin a session here."""

    def prepare(self, created: Created, env: dict[str, str]) -> None:
        raise RekindleError("no agent here", "none is needed")

    def take_over(self, session: str, staged: str, env: dict[str, str]) -> list[AnyFact]:
        raise RekindleError("no agent here", "none is needed")

    def change_environment(self, session: Session, env: dict[str, str]) -> None: ...

    def environment(self, session: Session) -> dict[str, str]:
        return {}

    def note_place(self, session: Session) -> None: ...


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make(tmp_path / "repo")
    folder = made.root / ".claude" / "progress" / FEATURE
    folder.mkdir(parents=True)
    tasks = [{"id": "a", "summary": "Task a", "prompt": "write a.txt a"}]
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement"}),
        ("plan.created", {"tasks": tasks, "waves": [], "dependencies": []}),
        ("checkpoint", {"label": "plan-ready", "plan_step": "wave-1-start"}),
    ]
    lines = [line(type_, FIRST, seq, **data) for seq, (type_, data) in enumerate(events)]
    (folder / "events.jsonl").write_bytes(b"".join(one + b"\n" for one in lines))
    here = open_workspace({"HOME": str(tmp_path), **_state(made.root)}, str(made.root))
    here.approve(FEATURE, here.unapproved(FEATURE, [FIRST]) or "")
    return made


def resumed(repo: Repo) -> list[tuple[str, str]]:
    """Every resume in the journal: its run, and the run that it goes on with."""
    state = open_workspace({"HOME": str(repo.root)}, str(repo.root)).journal(FEATURE).state()
    starts = ((sid, run.start) for sid, run in state.sids.items())
    return [(sid, start.resumes or "") for sid, start in starts if start is not None and start.command == "resume"]


@pytest.mark.parametrize("moment", ["before", "behind"])
@pytest.mark.parametrize("daemons", [1, 2])
def test_who_resumes_while_another_one_looks_is_refused_and_one_run_comes_of_it(
    repo: Repo, tmp_path: Path, moment: str, daemons: int
) -> None:
    """The second one comes just before or behind the moment at which the first one reads the journal."""
    first = Daemon(repo, tmp_path)
    second = first if daemons == 1 else Daemon(repo, tmp_path / "other")
    refused: list[str] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()

        async def come_between() -> None:
            try:
                await second.resume()
                await second.end()
            except OwnedError as error:
                refused.append(error.message)

        first.around[moment] = lambda: asyncio.run_coroutine_threadsafe(come_between(), loop).result(60)
        sid = await first.resume()
        assert refused == [f"another process holds {FEATURE}"]
        assert resumed(repo) == [(sid, FIRST)]
        await first.end()

    asyncio.run(story())


def test_an_answer_is_not_taken_for_the_answer_to_another_question(repo: Repo, tmp_path: Path) -> None:
    daemon = Daemon(repo, tmp_path)

    async def story() -> None:
        sid = await daemon.resume(seen=FIRST)
        await daemon.end()
        with pytest.raises(OwnedError, match=f"somebody else has resumed {FEATURE} meanwhile"):
            await daemon.resume(seen=FIRST, choice="A")
        assert resumed(repo) == [(sid, FIRST)]

    asyncio.run(story())


def test_a_resume_that_ends_with_a_question_lets_go_of_the_feature(repo: Repo, tmp_path: Path) -> None:
    journal = repo.root / ".claude" / "progress" / FEATURE / "events.jsonl"
    with journal.open("ab") as file:
        file.write(line("blocker.reported", FIRST, 3, description="which key?", task="a") + b"\n")
    daemon = Daemon(repo, tmp_path)

    async def story() -> None:
        with pytest.raises(QuestionError):
            await daemon.resume()
        assert run_owner.owner(str(journal.parent)) is None
        await Daemon(repo, tmp_path / "other").resume(choice="C", instructions="take the blue one")

    asyncio.run(story())
    assert len(resumed(repo)) == 1


def test_a_decision_is_recorded_after_what_it_leaves_out_so_that_a_kill_in_between_asks_again(
    repo: Repo, tmp_path: Path
) -> None:
    journal = repo.root / ".claude" / "progress" / FEATURE / "events.jsonl"
    with journal.open("ab") as file:
        file.write(line("blocker.reported", FIRST, 3, description="which key?", task="a") + b"\n")

    async def story() -> None:
        daemon = Daemon(repo, tmp_path)
        await daemon.resume(choice="B")
        await daemon.end()

    asyncio.run(story())
    written = [json.loads(one) for one in journal.read_bytes().splitlines()]
    types = [one["type"] for one in written if one["sid"] != FIRST]
    assert types.index("task.skipped") < types.index("resume.decided")


def test_a_resume_whose_run_cannot_begin_lets_go_of_the_feature(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = Daemon(repo, tmp_path)

    def full(_: GitFeature) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    async def story() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(GitFeature, "keep_untracked", full)
            with pytest.raises(OSError, match="no space"):
                await daemon.resume()
        await daemon.resume()
        await asyncio.sleep(0)
        await daemon.features.close()

    asyncio.run(story())


def test_a_fault_that_nobody_foresaw_ends_a_run_in_words_and_it_can_be_resumed(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    daemon = Daemon(repo, tmp_path)

    async def fail(_: FeatureRunner) -> None:
        raise ArithmeticError("nobody foresaw this")

    async def story() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(FeatureRunner, "drive", fail)
            first = await daemon.resume()
            await asyncio.sleep(0)
        assert "could not go on" in caplog.text and "nobody foresaw this" in caplog.text
        second = await daemon.resume()
        assert resumed(repo) == [(first, FIRST), (second, first)]
        await daemon.features.close()

    asyncio.run(story())


def test_a_run_that_cannot_go_on_is_free_to_be_resumed_although_its_daemon_lives(repo: Repo, tmp_path: Path) -> None:
    daemon = Daemon(repo, tmp_path)

    async def story() -> None:
        first = await daemon.resume()
        await asyncio.sleep(0)  # it begins, and is cut
        await daemon.features.close()
        second = await daemon.resume()
        assert resumed(repo) == [(first, FIRST), (second, first)]
        await asyncio.sleep(0)
        await daemon.features.close()

    asyncio.run(story())
