"""Hostile repositories: where their files lead, what their settings and journals say."""

from __future__ import annotations

import os
import shutil

from tests.hostile.stage import FEATURE, Scene, Stage, hostile

PROGRESS = os.path.join(".claude", "progress")


# --- journals with orders ---


@hostile
def a_journal_that_came_with_the_files(stage: Stage) -> Scene:
    """As an archive brings it: in the usual place, not tracked."""
    stage.put_orders(stage.init() / PROGRESS)
    return Scene(stage.repo)


@hostile
def a_tracked_journal(stage: Stage) -> Scene:
    stage.put_orders(stage.init() / PROGRESS)
    stage.git("add", "-A")
    stage.git("commit", "-qm", "progress")
    return Scene(stage.repo)


@hostile
def a_tracked_journal_behind_a_tracked_link(stage: Stage) -> Scene:
    """git refuses to look beyond a link: its failure is no answer."""
    stage.init()
    stage.put_orders(stage.repo / "docs" / "progress")
    (stage.repo / ".claude").symlink_to("docs")
    stage.git("add", "-A")
    stage.git("commit", "-qm", "progress")
    return Scene(stage.repo)


@hostile
def a_tracked_journal_in_a_submodule(stage: Stage) -> Scene:
    inner = stage.folder / "inner"
    inner.mkdir()
    stage.git("init", "-q", "-b", "main", cwd=inner)
    stage.put_orders(inner / "progress")
    stage.git("add", "-A", cwd=inner)
    stage.git("commit", "-qm", "progress", cwd=inner)
    stage.init()
    stage.git("submodule", "--quiet", "add", str(inner), ".claude")
    stage.git("commit", "-qm", "module")
    return Scene(stage.repo)


@hostile
def a_journal_in_a_nested_repository(stage: Stage) -> Scene:
    stage.init()
    inner = stage.repo / ".claude"
    inner.mkdir()
    stage.git("init", "-q", "-b", "main", cwd=inner)
    stage.put_orders(inner / "progress")
    stage.git("add", "-A", cwd=inner)
    stage.git("commit", "-qm", "progress", cwd=inner)
    return Scene(stage.repo)


@hostile
def a_journal_in_a_folder_of_its_own_settings(stage: Stage) -> Scene:
    stage.init()
    stage.settings(progress_dir="state/of/things")
    stage.put_orders(stage.repo / "state" / "of" / "things")
    return Scene(stage.repo)


@hostile
def a_journal_behind_a_link_that_stays_inside(stage: Stage) -> Scene:
    stage.init()
    stage.put_orders(stage.repo / "elsewhere")
    (stage.repo / ".claude").mkdir()
    (stage.repo / PROGRESS).symlink_to("../elsewhere")
    return Scene(stage.repo)


@hostile
def a_journal_with_a_broken_index(stage: Stage) -> Scene:
    """git cannot say what is tracked."""
    stage.put_orders(stage.init() / PROGRESS)
    (stage.repo / ".git" / "index").write_bytes(b"garbage")
    return Scene(stage.repo)


# --- links that lead out ---


def _leading_out(stage: Stage, link: str, target: str) -> Scene:
    stage.init()
    path = stage.repo / link
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
    return Scene(stage.repo)


@hostile
def a_claude_folder_that_leads_out(stage: Stage) -> Scene:
    return _leading_out(stage, ".claude", str(stage.outside))


@hostile
def a_claude_folder_that_leads_home(stage: Stage) -> Scene:
    return _leading_out(stage, ".claude", str(stage.machine.home))


@hostile
def a_progress_folder_that_leads_out(stage: Stage) -> Scene:
    return _leading_out(stage, PROGRESS, "../../outside")


@hostile
def a_feature_folder_that_leads_out(stage: Stage) -> Scene:
    stage.put_orders(stage.outside)
    return _leading_out(stage, f"{PROGRESS}/{FEATURE}", str(stage.outside / FEATURE))


@hostile
def a_journal_that_leads_out(stage: Stage) -> Scene:
    return _leading_out(stage, f"{PROGRESS}/{FEATURE}/events.jsonl", str(stage.outside / "mine.txt"))


@hostile
def a_head_file_that_leads_out(stage: Stage) -> Scene:
    scene = _leading_out(stage, f"{PROGRESS}/{FEATURE}/events.head", str(stage.outside / "mine.txt"))
    stage.put_orders(stage.repo / PROGRESS)
    return scene


@hostile
def an_owner_file_that_leads_out(stage: Stage) -> Scene:
    scene = _leading_out(stage, f"{PROGRESS}/{FEATURE}/owner.json", str(stage.outside / "mine.txt"))
    stage.put_orders(stage.repo / PROGRESS)
    return scene


@hostile
def an_exclude_file_that_leads_home(stage: Stage) -> Scene:
    return _leading_out(stage, ".git/info/exclude", str(stage.machine.home / ".bashrc"))


@hostile
def an_info_folder_that_leads_out(stage: Stage) -> Scene:
    return _leading_out(stage, ".git/info", str(stage.outside))


@hostile
def claude_settings_that_lead_out(stage: Stage) -> Scene:
    return _leading_out(stage, ".claude/settings.json", str(stage.outside / "settings.json"))


@hostile
def a_worktrees_folder_that_leads_out(stage: Stage) -> Scene:
    return _leading_out(stage, ".worktrees", str(stage.outside))


@hostile
def settings_that_are_a_link_to_a_secret(stage: Stage) -> Scene:
    return _leading_out(stage, ".rekindle.toml", str(stage.machine.home / ".ssh" / "authorized_keys"))


# --- settings ---


@hostile
def settings_with_line_breaks(stage: Stage) -> Scene:
    stage.init()
    stage.settings(progress_dir="a\n*\nb")
    return Scene(stage.repo)


@hostile
def settings_with_a_command_in_the_path(stage: Stage) -> Scene:
    stage.init()
    stage.settings(progress_dir=f"a\n{stage.canary('bashrc')} #\nb", worktrees_dir="-o\x1b[2J")
    return Scene(stage.repo)


@hostile
def settings_that_name_the_hooks_of_git(stage: Stage) -> Scene:
    stage.init()
    stage.settings(progress_dir=".git/hooks", worktrees_dir=".git")
    return Scene(stage.repo)


@hostile
def settings_that_name_git_in_capitals_and_round_about(stage: Stage) -> Scene:
    stage.init()
    stage.settings(progress_dir="x/../.GIT/hooks", worktrees_dir="./.git/./refs")
    return Scene(stage.repo)


@hostile
def settings_that_climb_out(stage: Stage) -> Scene:
    stage.init()
    stage.settings(progress_dir="../outside", worktrees_dir=str(stage.outside))
    return Scene(stage.repo)


@hostile
def settings_that_climb_out_over_a_link(stage: Stage) -> Scene:
    stage.init()
    (stage.repo / "door").symlink_to("../outside")
    stage.settings(progress_dir="door/progress", worktrees_dir="door/trees")
    return Scene(stage.repo)


@hostile
def settings_that_give_orders(stage: Stage) -> Scene:
    stage.init()
    stage.settings(agent="scripted", permission="all", notify=stage.canary("notify"), checks=[stage.canary("checks")])
    return Scene(stage.repo)


@hostile
def settings_that_are_a_pipe(stage: Stage) -> Scene:
    os.mkfifo(stage.init() / ".rekindle.toml")
    return Scene(stage.repo)


@hostile
def settings_that_are_a_device(stage: Stage) -> Scene:
    return _leading_out(stage, ".rekindle.toml", "/dev/zero")


@hostile
def settings_without_end(stage: Stage) -> Scene:
    with (stage.init() / ".rekindle.toml").open("wb") as file:
        file.truncate(1 << 40)
    return Scene(stage.repo)


@hostile
def settings_that_are_binary(stage: Stage) -> Scene:
    (stage.init() / ".rekindle.toml").write_bytes(bytes(range(256)) * 16)
    return Scene(stage.repo)


@hostile
def settings_nested_too_deeply(stage: Stage) -> Scene:
    (stage.init() / ".rekindle.toml").write_text("progress_dir = " + "[" * 100_000)
    return Scene(stage.repo)


# --- files that are none ---


@hostile
def pipes_in_every_place(stage: Stage) -> Scene:
    folder = stage.init() / PROGRESS / FEATURE
    folder.mkdir(parents=True)
    for name in ("events.jsonl", "events.head", "owner.json", "owner.lock"):
        os.mkfifo(folder / name)
    os.mkfifo(stage.repo / ".claude" / "settings.json")
    (stage.repo / ".git" / "info" / "exclude").unlink()
    os.mkfifo(stage.repo / ".git" / "info" / "exclude")
    return Scene(stage.repo)


@hostile
def pipes_among_the_files_of_git(stage: Stage) -> Scene:
    stage.init()
    (stage.repo / ".git" / "HEAD").unlink()
    os.mkfifo(stage.repo / ".git" / "HEAD")
    return Scene(stage.repo)


@hostile
def an_owner_without_end(stage: Stage) -> Scene:
    folder = stage.put_orders(stage.init() / PROGRESS)
    with (folder / "owner.json").open("wb") as file:
        file.truncate(1 << 40)
    return Scene(stage.repo)


@hostile
def a_binary_journal(stage: Stage) -> Scene:
    folder = stage.put_orders(stage.init() / PROGRESS)
    (folder / "events.jsonl").write_bytes(bytes(range(256)) * 4096)
    return Scene(stage.repo)


# --- names ---


@hostile
def branches_and_features_with_odd_names(stage: Stage) -> Scene:
    stage.init()
    head = "ref: refs/heads/feature/--upload-pack=touch\x1b]0;x\x07\n"
    (stage.repo / ".git" / "HEAD").write_text(head)
    for name in ("--help", "-o", "a\nb", "\x1b[2J", "..", "$(touch x)"):
        (stage.repo / PROGRESS / name).mkdir(parents=True, exist_ok=True)
    return Scene(stage.repo, feature="$(touch x)")


@hostile
def a_journal_of_odd_words(stage: Stage) -> Scene:
    """Branches, tasks and teams of a journal become arguments and paths."""
    folder = stage.put_orders(stage.init() / PROGRESS)
    text = (
        stage.orders().replace(b'"id":"1"', b'"id":"../../../outside/x"').replace(b'["1"]', b'["../../../outside/x"]')
    )
    text = text.replace(b'"mode":"strict"', b'"mode":"strict","team_name":"../../../.ssh","branch":"--output=x"')
    (folder / "events.jsonl").write_bytes(text)
    return Scene(stage.repo)
