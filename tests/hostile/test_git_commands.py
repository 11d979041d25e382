"""A repository whose configuration names a program wherever git would start one, and everything that is done there.

Sessions, snapshots, differences, restores, exports and plans: after each command it is named what was started.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, until
from tests.e2e.features import task
from tests.hostile.git_repositories import FILTER, baited, configure, hook_files
from tests.hostile.stage import Stage

SETTINGS = {
    **FILTER,
    "core.fsmonitor": "{fsmonitor}",
    "core.editor": "{editor}",
    "sequence.editor": "{sequence-editor}",
    "core.pager": "{pager}",
    "core.askPass": "{askpass}",
    "core.sshCommand": "{ssh}",
    "core.gitProxy": "{proxy}",
    "core.alternateRefsCommand": "{alternate-refs}",
    "credential.helper": "{credential-helper}",
    "diff.external": "{diff-external}",
    "diff.bait.command": "{diff-command}",
    "diff.bait.textconv": "{diff-textconv}",
    "merge.bait.driver": "{merge-driver}",
    "gpg.program": "{gpg}",
    "gpg.ssh.program": "{gpg-ssh}",
    "commit.gpgSign": "true",
    "log.showSignature": "true",
    "uploadpack.packObjectsHook": "{pack-objects}",
    "trailer.bait.command": "{trailer}",
    "submodule.bait.update": "!{submodule-update}",
    "remote.origin.url": "ext::{remote-url} x",
    "remote.origin.uploadpack": "{uploadpack}",
    "protocol.ext.allow": "always",
    "gc.auto": "1",
    "hook.bait.command": "{config-hook}",
    "hook.bait.event": "reference-transaction",
}


@pytest.fixture
def stage() -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        top = Path(os.path.realpath(folder))
        home = top / "home"
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = t\n\temail = t@example.invalid\n")
        made = Stage(Machine(home, top / "hostile" / "repo"), top / "hostile")
        made.set_up()
        yield made
        made.machine.clean_up()
        assert made.machine.stamped() == []


def _type(stage: Stage, *words: str) -> str:
    done = stage.machine.run(*words)
    assert "Traceback" not in done.stderr, done.stderr
    assert stage.ran() == [], words
    return done.stdout


def test_no_command_starts_what_the_configuration_names(stage: Stage) -> None:
    baited(stage, "* diff=bait merge=bait\n*.txt filter=bait\n")
    configure(stage, SETTINGS)
    hook_files(stage, stage.repo / ".git" / "hooks")
    machine = stage.machine
    assert stage.ran() == []
    for words in ((), ("doctor",), ("track", "session.start", "--feature", "x"), ("checkpoint", "c", "--next", "n")):
        _type(stage, *words)
    session = machine.begin("write a.txt one", "write a.md one")
    until(lambda: "turn 1" in machine.ok("snapshots", session), "a snapshot")
    _type(stage, "send", session, "write a.md two", "--follow")
    (stage.repo / "new.txt").write_text("newer\n")
    assert "rekindle trust filters" in _type(stage, "snapshots", session)
    assert "'bait'" in _type(stage, "show", session)
    _type(stage, "diff", session)
    _type(stage, "stop", session)
    _type(stage, "restore", session, "--at", "~1")
    _type(stage, "restore", session, "--to", str(stage.folder / "restored"))
    archive = str(stage.folder / "session.rekindle")
    _type(stage, "export", session, "--output", archive)
    _type(stage, "resume", session)
    _type(stage, "stop", session)
    _type(stage, "import", archive, "--as-new")
    _type(stage, "run", "--agent", "scripted", "--worktree=w", "write b.txt b")
    plan = machine.home / "plan.toml"
    tasks = (task("one", "write one.md 1", checks=["true"]), task("two", "write one.md 2"))
    plan.write_text('feature = "plan"\nagent = "scripted"\n' + "\n".join(tasks))
    _type(stage, "run", "--plan", str(plan))
    _type(stage, "resume", "plan")
    _type(stage, "resume", "--all")
    _type(stage, "gc")


def test_a_plan_starts_nothing_that_is_configured_for_worktrees_alone(stage: Stage) -> None:
    baited(stage, "*.txt filter=bait\n")
    configure(stage, FILTER, ".git/more")
    with (stage.repo / ".git" / "config").open("a") as file:
        file.write('[includeIf "gitdir:**/worktrees/**"]\n\tpath = more\n')
    plan = stage.machine.home / "plan.toml"
    tasks = (task("one", "write one.md 1", checks=["true"]), task("two", "write two.md 2"))
    plan.write_text('feature = "plan"\nagent = "scripted"\n' + "\n".join(tasks))
    _type(stage, "run", "--plan", str(plan))
    assert stage.git("show", "feature/plan:one.md", "feature/plan:two.md")


def test_plain_git_starts_most_of_it(stage: Stage) -> None:
    """Otherwise the test above would prove nothing."""
    baited(stage)
    configure(stage, SETTINGS)
    hook_files(stage, stage.repo / ".git" / "hooks")
    env = {**stage.machine.environment(), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (("status",), ("diff",), ("add", "-A"), ("commit", "-m", "x"), ("log", "-1")):
        subprocess.run(["git", *words], cwd=stage.repo, env=env, check=False, capture_output=True, input=b"")
    assert {"clean", "fsmonitor", "diff-command", "hook-pre-commit"} <= set(stage.ran())


def test_filters_of_the_users_own_configuration_run(stage: Stage) -> None:
    machine = replace(stage.machine)
    baited(stage)
    with (machine.home / ".gitconfig").open("a") as file:
        file.write(f'[filter "bait"]\n\tclean = {stage.script("clean")}\n\tsmudge = {stage.script("smudge")}\n')
    session = machine.begin("write a.txt one")
    until(lambda: "turn 1" in machine.ok("snapshots", session), "a snapshot")
    machine.ok("run", "--agent", "scripted", "--worktree=w", "say hello")
    assert {"clean", "smudge"} <= set(stage.ran())
