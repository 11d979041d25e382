"""`rekindle doctor`: is this machine, and this repository, fit for the job?"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from rekindle import files
from rekindle.adapters.feature_git.orphans import orphans
from rekindle.adapters.git import exclude, process, withheld
from rekindle.adapters.git.git import Git
from rekindle.adapters.journal_file.repair import verify
from rekindle.adapters.workspace.git_workspace import GitWorkspace
from rekindle.core.feature.naming import work_branch
from rekindle.core.journal.analysis import analyse
from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli.options import daemon, json_option, places, print_json, workspace
from rekindle.doors.cli.use_cases import use_cases
from rekindle.files import EVENTS
from rekindle.hooks import install as installer
from rekindle.keeper import launch
from rekindle.places import Places
from rekindle.ports.errors import RekindleError

_LARGE = 64 << 20


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    state: Literal["ok", "note", "bad"]
    what: str
    remedy: str = ""


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check this machine and this repository. Exit status 1 if something is bad. Changes no file of yours."""
    findings = list(_machine())
    findings.extend(_sessions(places()))
    try:
        findings.extend(_repository(workspace()))
    except RekindleError as error:
        findings.append(Finding("note", error.message, error.hint))
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            mark = {"ok": "ok  ", "note": "note", "bad": "BAD "}[finding.state]
            print(
                f"{mark}  {printable(finding.what)}"
                + (f"\n      {printable(finding.remedy)}" if finding.remedy else "")
            )
    return 1 if any(finding.state == "bad" for finding in findings) else 0


def _machine() -> Iterator[Finding]:
    yield Finding("ok", f"Python {sys.version.split()[0]}")
    if sys.platform != "linux":
        yield Finding("note", f"{sys.platform}: journals work; holding agent processes needs Linux")
    version = process.line(tempfile.gettempdir(), "--version")
    if version is None:
        yield Finding("bad", "git is not installed", "install git")
    else:
        yield Finding("ok", version)
    if shutil.which("tmux") is None:
        yield Finding("note", "tmux is not installed", "needed only for agents used as interactive programs")
    if shutil.which(installer.PROGRAM) is None:
        yield Finding("note", f"{installer.PROGRAM} is not on the PATH", "hooks are then installed with its full path")


def _sessions(places: Places) -> Iterator[Finding]:
    if not os.path.exists(places.store):
        return
    yield _locks(places.state)
    yield _daemon()
    try:
        rows = use_cases().sessions().offline()
    except RekindleError as error:
        yield Finding("bad", error.message, error.hint)
        return
    cut = [row["id"] for row in rows if row["status"] in ("interrupted", "dead")]
    if cut:
        yield Finding("note", f"sessions without their agent: {', '.join(cut[:10])}", "rekindle resume --all")
    known = {row["id"] for row in rows}
    for name in sorted(os.listdir(places.sessions)) if os.path.isdir(places.sessions) else []:
        folder = os.path.join(places.sessions, name)
        if name not in known and os.path.isdir(folder):
            yield _unknown_session(folder)
    yield from _terminals(known, places.terminals)


def _daemon() -> Finding:
    if not daemon().is_served():
        return Finding("ok", "no daemon is running; commands start one when they need it")
    try:
        daemon().ask("ping", start=False)
    except RekindleError as error:
        return Finding("bad", error.message, error.hint)
    return Finding("ok", "a daemon is running")


def _unknown_session(folder: str) -> Finding:
    if not files.is_locked(os.path.join(folder, "lock")):
        what = f"a folder of a session that the store does not know: {folder}"
        return Finding("note", what, f"it is kept; to remove it: rm -r {shlex.quote(folder)}")
    found = (launch.read_identity(str(place)) for place in sorted(Path(folder).glob("[0-9]*"), reverse=True))
    pid = next((identity.guard.pid for identity in found if identity is not None), None)
    remedy = f"it is left alone; to end it: kill {pid}" if pid is not None else "it is left alone"
    return Finding("note", f"an agent runs that no session knows of: {folder}", remedy)


def _terminals(known: set[str], socket: str) -> Iterator[Finding]:
    """tmux sessions of ours that no session knows of."""
    ours = ["tmux", "-S", socket]
    listed = _output([*ours, "list-sessions", "-F", "#{session_name}"]) if shutil.which("tmux") else None
    for name in (listed or "").splitlines():
        if name.startswith("rekindle-") and name.removeprefix("rekindle-") not in known:
            remedy = f"it is left alone; to end it: {shlex.join([*ours, 'kill-session', '-t', name])}"
            yield Finding("note", f"a tmux session that no session knows of: {name}", remedy)


def _repository(here: GitWorkspace) -> Iterator[Finding]:
    repo = here.repository
    yield Finding("ok", f"repository {repo.root}" + (f", branch {repo.branch}" if repo.branch else ", no branch"))
    progress = here.progress
    yield _locks(progress if os.path.isdir(progress) else repo.root)
    relative = os.path.relpath(progress, repo.root)
    tracked = exclude.is_tracked(repo.root, relative) if repo.top is not None else False
    if tracked is None:
        yield Finding("bad", f"git cannot say whether {relative} is under version control", "see what git status says")
    elif tracked:
        yield Finding(
            "bad",
            f"{relative} is under version control: a checkout would rewrite the journals",
            f"git rm -r --cached {relative}, and commit",
        )
    for name in ("settings.json", "settings.local.json"):
        try:
            settings = installer.settings_file(repo.top or repo.root, name)
            found = installer.installed(settings)
        except RekindleError as error:
            yield Finding("bad", error.message, error.hint)
            continue
        if found and set(found) != set(installer.EVENTS):
            yield Finding("note", f"{settings}: only some hooks are installed", "rekindle hooks install")
        elif found:
            yield Finding("ok", f"hooks are installed in {settings}")
    told = withheld.notice(Git(here.repository.root))
    if told is not None:
        yield Finding("note", told, "rekindle trust filters")
    yield from _journals(here)
    yield from _orphans(here)


def _orphans(here: GitWorkspace) -> Iterator[Finding]:
    """Branches and worktrees that no journal knows of."""
    branches: set[str] = set()
    features = [item.name for item in here.features() if item.tail is not None and item.error is None]
    for name in features:
        analysis = analyse(here.journal(name).state())
        branches |= set(analysis.state.branches)
        branches |= {work_branch(name, task) for task in analysis.state.tasks}
    top = here.worktrees.top(here.repository)
    try:
        found = list(orphans(here.repository.root, top, branches, features))
    except RekindleError as error:
        yield Finding("note", error.message, error.hint)
        return
    for orphan in found:
        yield Finding("note", f"no journal knows the {orphan.what}", f"it is left alone; to remove it: {orphan.remove}")


def _locks(folder: str) -> Finding:
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".rekindle-lock-") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            second = os.open(file.name, os.O_RDONLY)
            try:
                fcntl.flock(second, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return Finding("ok", f"locks work in {folder}")
            finally:
                os.close(second)
    except OSError as error:
        return Finding(
            "bad", f"{folder}: cannot be written or locked ({error.strerror})", "check permissions and mount"
        )
    return Finding("bad", f"{folder}: locks do not hold on this file system", "keep the repository on a local one")


def _journals(here: GitWorkspace) -> Iterator[Finding]:
    features = here.features()
    damaged = 0
    for item in features:
        if item.size == 0 or item.size > _LARGE:
            continue
        try:
            verdict = verify(here.folder(item.name) / EVENTS)
        except RekindleError as error:
            damaged += 1
            yield Finding("bad", error.message, error.hint)
            continue
        if verdict.damaged:
            damaged += 1
            yield Finding(
                "note",
                f"{item.name}: {len(verdict.damaged)} of {verdict.lines} lines cannot be read (they are skipped)",
                f"rekindle journal repair {quoted(item.name)}  (keeps the original)",
            )
    if features and not damaged:
        yield Finding("ok", f"{len(features)} feature{'s' if len(features) > 1 else ''}, every journal readable")


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
