"""Checks whether this machine and this repository are set up correctly. Changes none of the user's files."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from rekindle.app.agent_overview import AgentOverview
from rekindle.app.notifying import Notifying
from rekindle.app.session_list import SessionList
from rekindle.core.feature.naming import work_branch
from rekindle.core.journal.analysis import analyse
from rekindle.core.session.words import CUT
from rekindle.core.terminal_text import quoted
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import RekindleError
from rekindle.ports.hook_settings import HookSettings
from rekindle.ports.journal_files import JournalFiles
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.machine import Machine
from rekindle.ports.repository_care import RepositoryCare
from rekindle.ports.runtimes import Instance, Runtime
from rekindle.ports.workspace import Workspace

TRY_IT = "try it: rekindle notify test"
_LARGE = 64 << 20
_DAY = 86400.0
_WEEK = 7 * _DAY
_ENOUGH, _TOO_LITTLE = 1 << 30, 64 << 20


class Finding(msgspec.Struct, frozen=True):
    """One thing that was checked."""

    state: Literal["ok", "note", "bad"]
    what: str
    remedy: str = ""


class Patient(msgspec.Struct, frozen=True):
    """What is checked. `open_here` raises RekindleError if there is no repository, `fleet` if
    something is wrong with this host's part in a fleet; it tells what there is to say, each with what would be better
    (empty: it is right), and nothing on one machine.
    """

    machine: Machine
    state_dir: str
    sessions: SessionList
    kept: KeptSessions
    runtime: Runtime
    daemon: Daemon
    open_here: Callable[[], Workspace]
    open_care: Callable[[], RepositoryCare]
    hooks: HookSettings
    journals: JournalFiles
    agents: AgentOverview
    notifying: Notifying
    fleet: Callable[[], Iterable[tuple[str, str]]] = list


class Doctor:
    """Runs the checks, and says what to do."""

    def __init__(self, patient: Patient) -> None:
        self._patient = patient

    def findings(self) -> list[Finding]:
        """All findings: the machine, and the repository of this folder."""
        found = self.of_machine()
        try:
            found.extend(self._repository(self._patient.open_here()))
        except RekindleError as error:
            found.append(Finding("note", error.message, error.hint))
        return found

    def of_machine(self) -> list[Finding]:
        """The findings that hold in any folder."""
        return [*self._machine(), *self._fleet(), *self._agents(), *self._notifying(), *self._sessions()]

    def _machine(self) -> Iterator[Finding]:
        machine, hook = self._patient.machine, self._patient.hooks.PROGRAM
        yield Finding("ok", f"Python {sys.version.split()[0]}")
        if sys.platform != "linux":
            yield Finding("note", f"{sys.platform}: journals work; holding agent processes needs Linux")
        version = machine.git_version()
        if version is None:
            yield Finding("bad", "git is not installed", "install git")
        else:
            yield Finding("ok", version)
        if not machine.has_program("tmux"):
            yield Finding("note", "tmux is not installed", "needed only for agents used as interactive programs")
        if not machine.has_program(hook):
            yield Finding("note", f"{hook} is not on the PATH", "hooks are then installed with its full path")

        yield self._identity()
        yield from self._room()

    def _identity(self) -> Finding:
        email = self._patient.machine.git_identity(os.getcwd())
        if email is not None:
            return Finding("ok", f"commits are made as {email}")
        remedy = 'git config --global user.name "Your Name" && git config --global user.email you@example.com'
        return Finding("note", "git has no user name or email, so commits fail", remedy)

    def _room(self) -> Iterator[Finding]:
        state = self._patient.state_dir
        free = self._patient.machine.free_bytes(state)
        if free is None:
            return
        what = f"{free / (1 << 30):.1f} GiB free for {state}"
        if free >= _ENOUGH:
            yield Finding("ok", what)
        else:
            remedy = "rekindle gc frees redundant copies; with a full disk no agent is started"
            yield Finding("bad" if free < _TOO_LITTLE else "note", what, remedy)

    def _fleet(self) -> Iterator[Finding]:
        """A daemon of a host that cannot reach its store does not start, so this is worth knowing first."""
        try:
            yield from (Finding("note" if better else "ok", one, better) for one, better in self._patient.fleet())
        except RekindleError as error:
            yield Finding("bad", error.message, error.hint)

    def _agents(self) -> Iterator[Finding]:
        found = self._patient.agents.standing()
        if not found:
            remedy = "rekindle agent list says how to install one"
            yield Finding("note", "only the built-in practice agent is installed", remedy)
        for one in found:
            name = f"{one.title} {one.version}".strip()
            if one.account:
                yield Finding("ok", f"{name}, with an account or key ({one.account})")
            else:
                remedy = f"log in with its own program if needed; rekindle agent check {one.name} tests it"
                yield Finding("note", f"{name}, no account or key found", remedy)

    def _notifying(self) -> Iterator[Finding]:
        notifying = self._patient.notifying
        try:
            settings = notifying.settings()
            told = self._patient.kept.tellings(time.time())
        except RekindleError as error:
            yield Finding("bad", error.message, error.hint)
            return
        for problem in settings.problems:
            what, _, remedy = problem.partition(" — ")
            yield Finding("bad", what, remedy)
        for name in settings.ways.names:
            trouble = told.troubles.get(name)
            if trouble is None:
                yield Finding("ok", f"notifications: {name}")
                continue
            lost = f"; {trouble.lost} given up" if trouble.lost else "; it is tried again"
            yield Finding("bad", f"notifications: {name} does not take messages: {trouble.why}{lost}", TRY_IT)
        if told.repeated:
            what = f"notifications: {told.repeated} may have come twice: the daemon was killed while it sent them"
            yield Finding("note", what)

    def _sessions(self) -> Iterator[Finding]:
        kept = self._patient.kept
        if not kept.is_there():
            return
        yield self._locks(self._patient.state_dir)
        yield self._daemon()
        try:
            rows = self._patient.sessions.offline()
            lives = kept.daemon_lives()
        except RekindleError as error:
            yield Finding("bad", error.message, error.hint)
            return
        sudden = lives.sudden_since(time.time() - _DAY) if lives is not None else 0
        if sudden:
            times = "once" if sudden == 1 else f"{sudden} times"
            what = f"the daemon was killed {times} in the last day, or the machine crashed"
            log = os.path.join(self._patient.state_dir, "daemon.log")
            yield Finding("note", what, f"agents outlive the daemon: see `rekindle ps`; its log is {log}")
        if lives is not None and lives.rebuilt_at is not None and time.time() - lives.rebuilt_at < _WEEK:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(lives.rebuilt_at))
            yield Finding("note", f"the store was made again on {when}: {' '.join(lives.rebuilt)}")
        cut = [row["id"] for row in rows if row["status"] in CUT]
        if cut:
            yield Finding("note", f"sessions without their agent: {', '.join(cut[:10])}", "rekindle resume --all")
        known = {row["id"] for row in rows}
        running = {one.session: one for one in self._patient.runtime.recover_instances()}
        yield from (_silent(one) for one in running.values() if one.pid is not None and not one.answers)
        for name in kept.folders():
            if name not in known:
                yield _unknown_session(kept.folder(name), running.get(name))
        for name, end in self._patient.machine.terminals().items():
            if name not in known:
                what = f"a tmux session without a rekindle session: rekindle-{name}"
                yield Finding("note", what, f"it is left alone; to end it: {end}")

    def _daemon(self) -> Finding:
        daemon = self._patient.daemon
        if not daemon.is_served():
            return Finding("ok", "no daemon is running; commands start one when they need it")
        try:
            daemon.ask("ping", start=False)
        except RekindleError as error:
            return Finding("bad", error.message, error.hint)
        return Finding("ok", "a daemon is running")

    def _repository(self, here: Workspace) -> Iterator[Finding]:
        repo, progress = here.repository, here.progress
        yield Finding("ok", f"repository {repo.root}" + (f", branch {repo.branch}" if repo.branch else ", no branch"))
        yield self._locks(progress if os.path.isdir(progress) else repo.root)
        care = self._patient.open_care()
        relative = os.path.relpath(progress, repo.root)
        tracked = care.is_tracked(relative) if repo.top is not None else False
        if tracked is None:
            yield Finding("bad", f"git cannot say whether {relative} is under version control", "run git status there")
        elif tracked:
            yield Finding(
                "bad",
                f"{relative} is under version control: a checkout would rewrite the journals",
                f"git rm -r --cached {relative}, and commit",
            )
        yield from self._hooks(repo.top or repo.root)
        told = care.withheld()
        if told is not None:
            yield Finding("note", told, "rekindle trust filters")
        yield from self._journals(here)
        yield from _orphans(here, care)

    def _hooks(self, top: str) -> Iterator[Finding]:
        hooks = self._patient.hooks
        for name in ("settings.json", "settings.local.json"):
            try:
                settings = hooks.settings_file(top, name)
                found = hooks.installed(settings)
            except RekindleError as error:
                yield Finding("bad", error.message, error.hint)
                continue
            if found and set(found) != set(hooks.EVENTS):
                yield Finding("note", f"{settings}: only some hooks are installed", "rekindle hooks install")
            elif found:
                yield Finding("ok", f"hooks are installed in {settings}")

    def _locks(self, folder: str) -> Finding:
        problem = self._patient.machine.lock_problem(folder)
        return Finding("ok", f"locks work in {folder}") if problem is None else Finding("bad", *problem)

    def _journals(self, here: Workspace) -> Iterator[Finding]:
        features = here.features()
        damaged = 0
        for item in features:
            if item.size == 0 or item.size > _LARGE:
                continue
            try:
                verdict = self._patient.journals.verify(here.journal(item.name).path)
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


def _silent(running: Instance) -> Finding:
    what = f"the keeper of {running.session} (attempt {running.attempt}, agent {running.pid}) does not answer"
    return Finding("note", what, f"it is left alone; what has become of it: rekindle show {running.session}")


def _unknown_session(folder: str, running: Instance | None) -> Finding:
    if running is None:
        what = f"a session folder that is not in the store: {folder}"
        return Finding("note", what, f"it is kept; to remove it: rm -r {shlex.quote(folder)}")
    end = f"; to end it: kill {running.owner}" if running.owner is not None else ""
    return Finding("note", f"a running agent without a session: {folder}", f"it is left alone{end}")


def _orphans(here: Workspace, care: RepositoryCare) -> Iterator[Finding]:
    """Branches and worktrees that no journal mentions."""
    branches: set[str] = set()
    features = [item.name for item in here.features() if item.tail is not None and item.error is None]
    for name in features:
        analysis = analyse(here.journal(name).state())
        branches |= set(analysis.state.branches)
        branches |= {work_branch(name, task) for task in analysis.state.tasks}
    try:
        found = care.orphans(branches, features)
    except RekindleError as error:
        yield Finding("note", error.message, error.hint)
        return
    for orphan in found:
        yield Finding("note", f"no journal mentions the {orphan.what}", f"left alone; to remove it: {orphan.remove}")
