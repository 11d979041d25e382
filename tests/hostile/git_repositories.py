"""Hostile repositories: what their own git configuration would have git run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.hostile.stage import Scene, Stage, hostile

HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-merge-commit",
    "post-merge",
    "post-checkout",
    "post-rewrite",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "fsmonitor-watchman",
)


def baited(stage: Stage, attributes: str = "* filter=bait diff=bait merge=bait\n") -> Path:
    """A repository whose files all have the attributes, and have changed since the last commit."""
    stage.init()
    (stage.repo / ".gitattributes").write_text(attributes)
    stage.git("add", "-A")
    stage.git("commit", "-qm", "attributes")
    (stage.repo / "readme.txt").write_text("hello, changed\n")
    (stage.repo / "new.txt").write_text("new\n")
    return stage.repo


def configure(stage: Stage, settings: Mapping[str, str], file: str = ".git/config") -> None:
    """Write settings without starting anything that they name. `{NAME}` is a program that leaves the trace NAME."""
    for key, value in settings.items():
        name = value[value.find("{") + 1 : value.find("}")] if "{" in value else ""
        filled = value.replace(f"{{{name}}}", stage.script(name)) if name else value
        stage.git("config", "--file", str(stage.repo / file), key, filled)


def hook_files(stage: Stage, folder: Path) -> None:
    """A hook of every kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in HOOKS:
        (folder / name).symlink_to(stage.script(f"hook-{name}"))


FILTER = {"filter.bait.clean": "{clean}", "filter.bait.smudge": "{smudge}", "filter.bait.required": "true"}


@hostile
def a_monitor_of_files(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, {"core.fsmonitor": "{fsmonitor}", "core.untrackedCache": "true"})
    return Scene(stage.repo)


@hostile
def git_hooks_of_every_kind(stage: Stage) -> Scene:
    hook_files(stage, baited(stage) / ".git" / "hooks")
    return Scene(stage.repo)


@hostile
def git_hooks_among_the_files(stage: Stage) -> Scene:
    hook_files(stage, baited(stage) / "tools")
    configure(stage, {"core.hooksPath": "tools"})
    return Scene(stage.repo)


@hostile
def git_hooks_in_the_configuration(stage: Stage) -> Scene:
    """Newer versions of git know them."""
    baited(stage)
    for event in ("pre-commit", "post-checkout", "reference-transaction"):
        configure(stage, {f"hook.bait-{event}.command": f"{{config-hook-{event}}}", f"hook.bait-{event}.event": event})
    return Scene(stage.repo)


@hostile
def a_filter_for_every_file(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, FILTER)
    return Scene(stage.repo)


@hostile
def a_filter_that_stays(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, {"filter.bait.process": "{process}"})
    return Scene(stage.repo)


@hostile
def a_filter_with_an_odd_name(stage: Stage) -> Scene:
    baited(stage, "* filter=a=b.c\n")
    configure(stage, {"filter.a=b.c.clean": "{clean}", "filter.a=b.c.smudge": "{smudge}"})
    return Scene(stage.repo)


@hostile
def a_filter_in_an_included_file(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, FILTER, "config-of-the-team")
    configure(stage, {"include.path": "../config-of-the-team"})
    return Scene(stage.repo)


@hostile
def a_filter_that_is_included_on_a_condition(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, FILTER, "config-of-the-team")
    configure(stage, {"includeIf.onbranch:**.path": "../config-of-the-team"})
    return Scene(stage.repo)


@hostile
def a_filter_in_the_configuration_of_a_worktree(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, {"extensions.worktreeConfig": "true"})
    configure(stage, FILTER, ".git/config.worktree")
    return Scene(stage.repo)


@hostile
def a_filter_in_the_attributes_of_git(stage: Stage) -> Scene:
    """Spelt as nobody does any more, and switched on out of sight."""
    baited(stage, "")
    (stage.repo / ".git" / "info" / "attributes").write_text("[attr]odd filter=bait\n* odd\n")
    with (stage.repo / ".git" / "config").open("a") as file:
        file.write(f"[FILTER.bait]CLEAN={stage.script('clean')}\n")
    return Scene(stage.repo)


@hostile
def a_filter_behind_an_empty_git_folder(stage: Stage) -> Scene:
    """The user stands below something that only looks like a repository."""
    baited(stage)
    below = stage.repo / "below"
    (below / ".git").mkdir(parents=True)
    (below / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    configure(stage, FILTER)
    return Scene(below)


@hostile
def a_filter_of_the_users_that_is_redefined(stage: Stage) -> Scene:
    baited(stage, "* filter=lfs\n")
    settings = {"filter.lfs.clean": "{lfs-clean}", "lfs.standalonetransferagent": "bait"}
    configure(stage, {**settings, "lfs.customtransfer.bait.path": "{lfs-transfer}"})
    return Scene(stage.repo)


@hostile
def viewers_of_differences(stage: Stage) -> Scene:
    baited(stage)
    configure(
        stage, {"diff.external": "{external}", "diff.bait.command": "{command}", "diff.bait.textconv": "{textconv}"}
    )
    return Scene(stage.repo)


@hostile
def a_merge_driver_for_every_file(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, {"merge.bait.driver": "{driver}", "merge.default": "bait"})
    return Scene(stage.repo)


@hostile
def signers_and_editors(stage: Stage) -> Scene:
    baited(stage)
    programs = {f"gpg{kind}.program": "{gpg}" for kind in ("", ".openpgp", ".x509", ".ssh")}
    asked = {"core.editor": "{editor}", "sequence.editor": "{editor}", "core.pager": "{pager}", "pager.log": "{pager}"}
    helpers = {"credential.helper": "{helper}", "core.askPass": "{askpass}", "core.alternateRefsCommand": "{refs}"}
    switches = {"commit.gpgSign": "true", "log.showSignature": "true", "gc.auto": "1", "merge.verifySignatures": "true"}
    configure(stage, {**programs, **asked, **helpers, **switches})
    return Scene(stage.repo)


@hostile
def a_partial_clone_of_a_command(stage: Stage) -> Scene:
    baited(stage)
    lost = stage.git("rev-parse", "HEAD:readme.txt")
    (stage.repo / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    settings = {"core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.url": "."}
    configure(stage, {**settings, "remote.origin.promisor": "true", "remote.origin.uploadpack": "{uploadpack}"})
    return Scene(stage.repo)


@hostile
def addresses_that_are_commands(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, {"protocol.allow": "always", "protocol.ext.allow": "always", "core.sshCommand": "{ssh}"})
    configure(stage, {f"url.ext::{stage.script('ext')} .insteadOf": "/", "core.gitProxy": "{proxy}"})
    return Scene(stage.repo)


@hostile
def a_repository_inside_with_a_configuration_of_its_own(stage: Stage) -> Scene:
    baited(stage)
    inner = stage.repo / "inner"
    inner.mkdir()
    stage.git("init", "-q", cwd=inner)
    (inner / "a.txt").write_text("a\n")
    (inner / ".gitattributes").write_text("* filter=bait\n")
    stage.git("add", "-A", cwd=inner)
    stage.git("commit", "-qm", "inner", cwd=inner)
    stage.git("-c", "advice.addEmbeddedRepo=false", "add", "-A")
    stage.git("commit", "-qm", "with inner")
    (inner / "a.txt").write_text("changed\n")
    configure(stage, {**FILTER, "core.fsmonitor": "{fsmonitor}"}, "inner/.git/config")
    configure(stage, {"submodule.recurse": "true", "status.submoduleSummary": "true", "diff.ignoreSubmodules": "none"})
    return Scene(stage.repo)
