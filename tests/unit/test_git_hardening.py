"""Nothing that a repository's own configuration names is started, whatever rekindle does with git there.

Each bait is shown to work first: plain git takes it. Then everything that starts git here is done in the same
repository, and the canary has stayed silent.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rekindle.adapters.feature_git.git_feature import GitFeature, Worktrees
from rekindle.adapters.feature_git.orphans import orphans
from rekindle.adapters.git import config as git_config
from rekindle.adapters.git import exclude, linked_worktrees, repository
from rekindle.adapters.git.git import Git
from rekindle.adapters.moving import bundle
from rekindle.adapters.snapshots import taking
from rekindle.adapters.snapshots.changes import look
from rekindle.adapters.snapshots.restoring import restore
from rekindle.adapters.snapshots.thinning import thin
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.masking import Masker
from rekindle.ports.errors import GitFailed, RekindleError

SESSION, NOW = "abcdef0123", 1_700_000_000.0


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (home / "gitconfig").write_text("[user]\n\tname = t\n\temail = t@example.invalid\n")


@dataclass(frozen=True)
class Stage:
    """A repository with a canary beside it."""

    folder: Path
    root: Path

    @property
    def canary(self) -> Path:
        return self.folder / "canary.sh"

    @property
    def sang(self) -> bool:
        return (self.folder / "sang").exists()

    def git(self, *words: str, cwd: Path | None = None, check: bool = True) -> str:
        """Plain git, as a user types it."""
        done = subprocess.run(["git", *words], cwd=cwd or self.root, capture_output=True, check=False, text=True)
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def silence(self) -> None:
        (self.folder / "sang").unlink(missing_ok=True)

    def touch(self) -> None:
        """Have git look into every file again."""
        for path in self.root.iterdir():
            if path.is_file():
                path.write_bytes(path.read_bytes() + b"more\n")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path, tmp_path / "repo")
    made.root.mkdir()
    made.canary.write_text(f'#!/bin/sh\necho "$0 $*" >> "{tmp_path}/sang"\nexit 1\n')
    made.canary.chmod(0o755)
    made.git("init", "-q", "-b", "main")
    (made.root / "a.txt").write_text("a\n")
    (made.root / ".gitattributes").write_text("*.txt filter=bait diff=bait merge=bait\n")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "begin")
    return made


def _with_hook(name: str) -> Callable[[Stage], None]:
    def make(stage: Stage) -> None:
        hook = stage.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.symlink_to(stage.canary)

    return make


def _conflict(stage: Stage) -> None:
    for branch, text in (("theirs", "b\n"), ("main", "c\n")):
        stage.git("checkout", "-q", *(["-b"] if branch == "theirs" else []), branch)
        (stage.root / "a.txt").write_text(text)
        stage.git("commit", "-q", "-am", branch)


def _missing_object(stage: Stage) -> None:
    """A clone that lacks objects, and says that its remote has them."""
    wanted = stage.git("rev-parse", "HEAD:a.txt").strip()
    (stage.root / ".git" / "objects" / wanted[:2] / wanted[2:]).unlink()
    (stage.root / "a.txt").unlink()


@dataclass(frozen=True)
class Bait:
    """Settings of a repository that name the canary, and a plain git command that proves that they would."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    proof: tuple[str, ...] = ()
    prepare: Callable[[Stage], None] | None = None


C = "{canary}"
BAITS = [
    Bait("fsmonitor", {"core.fsmonitor": C}, ("status",)),
    Bait("hooks path", {"core.hooksPath": "{folder}/hooks"}, ("commit", "-q", "--allow-empty", "-m", "x")),
    *(
        Bait(f"hook {name}", proof=proof, prepare=_with_hook(name))
        for name, proof in (
            ("pre-commit", ("commit", "--allow-empty", "-m", "x")),
            ("commit-msg", ("commit", "--allow-empty", "-m", "x")),
            ("post-commit", ("commit", "--allow-empty", "-m", "x")),
            ("post-checkout", ("checkout", "-q", "-b", "x")),
            ("post-index-change", ("add", "-A")),
            ("reference-transaction", ("update-ref", "refs/x/y", "HEAD")),
            ("post-merge", ()),
            ("pre-merge-commit", ()),
            ("post-rewrite", ("commit", "-q", "--amend", "--allow-empty", "-m", "x")),
        )
    ),
    Bait("filter clean", {"filter.bait.clean": C}, ("add", "-A")),
    Bait("filter smudge", {"filter.bait.smudge": C}, ("checkout", "-f", "HEAD", "--", ".")),
    Bait("filter process", {"filter.bait.process": C}, ("add", "-A")),
    Bait("filter required", {"filter.bait.clean": C, "filter.bait.required": "true"}, ("add", "-A")),
    Bait("text conversion", {"diff.bait.textconv": C}, ("diff",)),
    Bait("difference command", {"diff.bait.command": C}, ("diff",)),
    Bait("external difference", {"diff.external": C}, ("diff",)),
    Bait("merge driver", {"merge.bait.driver": C}, ("merge", "theirs"), _conflict),
    Bait("signed commits", {"commit.gpgSign": "true", "gpg.program": C}, ("commit", "--allow-empty", "-m", "x")),
    Bait(
        "signed by ssh",
        {"commit.gpgSign": "true", "gpg.format": "ssh", "gpg.ssh.program": C, "user.signingKey": "key::x"},
        ("commit", "--allow-empty", "-m", "x"),
    ),
    Bait("editor", {"core.editor": C}, ("commit", "--allow-empty")),
    Bait("pager", {"core.pager": C, "pager.log": C}),
    Bait("shown signatures", {"log.showSignature": "true", "gpg.program": C}),
    Bait(
        "promised objects",
        {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.url": "{root}",
            "remote.origin.promisor": "true",
            "remote.origin.uploadpack": C,
        },
        ("checkout", "-f", "HEAD", "--", "."),
        _missing_object,
    ),
    Bait(
        "promised objects by ssh",
        {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.url": "ssh://nowhere.invalid/x",
            "remote.origin.promisor": "true",
            "core.sshCommand": C,
        },
        ("checkout", "-f", "HEAD", "--", "."),
        _missing_object,
    ),
    Bait(
        "an address that is a command",
        {"protocol.ext.allow": "always", "url.ext::{canary} .insteadOf": "/"},
        ("fetch", "/elsewhere"),
    ),
    Bait("credential helper", {"credential.helper": "!{canary}"}),
    Bait("asked passwords", {"core.askPass": C}),
    Bait("alternate refs", {"core.alternateRefsCommand": C}),
    Bait("collected garbage", {"gc.auto": "1", "gc.autoDetach": "false"}, prepare=_with_hook("pre-auto-gc")),
]


def _bait(stage: Stage, bait: Bait) -> None:
    hooks = stage.folder / "hooks"
    hooks.mkdir(exist_ok=True)
    if not (hooks / "pre-commit").is_symlink():
        (hooks / "pre-commit").symlink_to(stage.canary)
    if bait.prepare is not None:
        bait.prepare(stage)
    filled = {"canary": stage.canary, "folder": stage.folder, "root": stage.root}
    for key, value in bait.settings.items():
        stage.git("config", key.format(**filled), value.format(**filled))
    stage.silence()


def everything(stage: Stage) -> None:
    """All that starts git, with its outcome left aside: only what is started counts here."""
    root = str(stage.root)
    repo = repository.find(root)
    assert repo is not None
    steps: list[Callable[[], object]] = [
        lambda: exclude.is_tracked(root, "docs"),
        lambda: exclude.keep_untracked(repo, os.path.join(root, ".claude", "progress")),
        lambda: taking.take(root, SESSION, "begin", NOW),
        stage.touch,
        lambda: taking.take(root, SESSION, "more", NOW + 1),
        lambda: taking.difference(root, SESSION),
        lambda: taking.difference(root, SESSION, "~1", "~0"),
        lambda: look(root, SESSION),
        lambda: restore(root, SESSION, "~1", None, NOW + 2),
        lambda: restore(root, SESSION, None, str(stage.folder / "laid-out"), NOW + 3),
        lambda: bundle.write(root, SESSION, str(stage.folder / "b"), str(stage.folder / "scratch"), Masker()),
        lambda: bundle.fetch(root, str(stage.folder / "b"), SESSION, "0000000001"),
        lambda: thin(root, SESSION, NOW + 4),
        lambda: linked_worktrees.make(root, "one"),
        lambda: list(orphans(root, os.path.join(root, ".worktrees"), [], [])),
    ]
    feature = GitFeature(repo, "shop", Worktrees())
    branch = "work/shop/t"

    def work() -> None:
        path = Path(feature.tree_of("t", "work/shop/t"))
        (path / "a.txt").write_text("changed by the agent\n")
        (path / "new.txt").write_text("new\n")

    steps += [
        lambda: feature.observe({}),
        lambda: feature.make_feature(""),
        lambda: feature.prepare("t", branch, SESSION),
        work,
        lambda: feature.commit("t", branch, "work"),
        lambda: feature.observe({"t": TaskProgress("e", branch)}),
        lambda: feature.changed_files("t", branch),
        lambda: feature.merge("t", branch, stage.git("rev-parse", branch).strip(), "e", "merge t"),
        lambda: feature.clear("t", branch),
        feature.clear_integration,
    ]
    for step in steps:
        try:
            step()
        except (RekindleError, OSError, AssertionError):  # a bait may well make git fail
            continue


#: Baits that do not get in each other's way lie in one repository together: there are many.
TOGETHER = {
    "hooks": [bait for bait in BAITS if bait.name.startswith("hook ")],
    "programs": [
        bait
        for bait in BAITS
        if bait.name in ("editor", "pager", "credential helper", "asked passwords", "alternate refs", "signed commits")
    ],
}
GROUPS = TOGETHER | {bait.name: [bait] for bait in BAITS if not any(bait in group for group in TOGETHER.values())}


@pytest.mark.parametrize("name", GROUPS)
def test_nothing_that_the_configuration_of_a_repository_names_is_started(stage: Stage, name: str) -> None:
    for bait in GROUPS[name]:
        _bait(stage, bait)
    everything(stage)
    assert not stage.sang, (stage.folder / "sang").read_text()


@pytest.mark.parametrize("bait", [bait for bait in BAITS if bait.proof], ids=lambda bait: bait.name)
def test_plain_git_takes_the_bait(stage: Stage, bait: Bait) -> None:
    """Otherwise the test above would prove nothing."""
    _bait(stage, bait)
    if bait.prepare is not _conflict and bait.prepare is not _missing_object:
        stage.touch()
    stage.git(*bait.proof, check=False)
    assert stage.sang


def test_a_submodules_configuration_is_not_run_either(stage: Stage) -> None:
    inner = stage.root / "inner"
    inner.mkdir()
    stage.git("init", "-q", cwd=inner)
    stage.git("commit", "-q", "--allow-empty", "-m", "inner", cwd=inner)
    stage.git("-c", "advice.addEmbeddedRepo=false", "add", "-A")
    stage.git("commit", "-q", "-m", "with inner")
    (inner / "a.txt").write_text("inner\n")
    (inner / ".gitattributes").write_text("*.txt filter=bait\n")
    stage.git("add", "-A", cwd=inner)
    stage.git("config", "core.fsmonitor", str(stage.canary), cwd=inner)
    stage.git("config", "filter.bait.clean", str(stage.canary), cwd=inner)
    (inner / "a.txt").write_text("inner, changed\n")
    stage.silence()
    everything(stage)
    assert not stage.sang, (stage.folder / "sang").read_text()
    stage.git("status")
    assert stage.sang


@pytest.mark.parametrize("how", ["include", "includeIf", "worktree", "old"])
def test_a_filter_that_is_hidden_in_another_file_is_not_run(stage: Stage, how: str) -> None:
    hidden = stage.root / ".git" / "hidden"
    text = f'[filter "bait"]\n\tclean = {stage.canary}\n\tsmudge = {stage.canary}\n'
    if how == "include":
        hidden.write_text(text)
        stage.git("config", "include.path", "hidden")
    elif how == "includeIf":
        hidden.write_text(text)
        stage.git("config", f"includeIf.gitdir:{stage.root}/.path", "hidden")
    elif how == "worktree":
        stage.git("config", "extensions.worktreeConfig", "true")
        (stage.root / ".git" / "config.worktree").write_text(text)
    else:
        with (stage.root / ".git" / "config").open("a") as file:
            file.write(f"[FILTER.bait]CLEAN={stage.canary}\n")
    stage.silence()
    everything(stage)
    assert not stage.sang, (stage.folder / "sang").read_text()
    stage.touch()
    stage.git("add", "-A", check=False)
    assert stage.sang


def test_an_empty_git_folder_in_between_does_not_hide_the_repository(stage: Stage) -> None:
    """git goes on looking above a `.git` that is none; so do we."""
    stage.git("config", "filter.bait.clean", str(stage.canary))
    below = stage.root / "below"
    (below / ".git").mkdir(parents=True)
    (below / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert Git(str(below)).policy().filters == {"bait"}


def test_a_pipe_in_the_place_of_the_configuration_does_not_hang(stage: Stage) -> None:
    config = stage.root / ".git" / "config"
    config.unlink()
    os.mkfifo(config)
    with pytest.raises(GitFailed, match="cannot be read"):
        git_config.policy(str(stage.root))
