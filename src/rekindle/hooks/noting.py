"""What one call of an agent's hook does to the journal, whoever carries it out: the hook client, or the daemon for it.

The two differ in who the caller is and in nothing else, so everything about the caller is passed in. Light standard
library only, imported where it is needed: the client pays for every module on every tool call.
"""

from __future__ import annotations

import os

from rekindle.hooks.surroundings import setting, state_dir

TYPE_CHECKING = False  # `typing` itself would cost more than the rest of the imports
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Protocol

    from rekindle.adapters.git.repository import Repository
    from rekindle.adapters.journal_file.append import Appender

    class Lender(Protocol):
        """Where a journal that is open already can be borrowed for one call."""

        def take(self, path: str, root: str, state: str, seconds: float) -> Appender: ...

        def give_back(self, appender: Appender) -> None: ...


_LOCK_SECONDS = 0.5
_GIT_SECONDS = 0.7
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "rekindle-hook")


class HookCaller:
    """Who called the hook, and where.

    `call` names a call that the daemon was asked to carry out: its events have this name, each with its number, so that
    a line of it is recognized. `asked_before`: nobody knows whether the daemon did, so look for each line first.
    """

    __slots__ = ("asked_before", "call", "cwd", "environment", "is_inside", "journals", "parent", "replaced")

    def __init__(
        self,
        *,
        cwd: str,
        environment: Mapping[str, str],
        parent: int,
        is_inside: Callable[[], bool],
        call: str | None = None,
        asked_before: bool = False,
        journals: Lender | None = None,
        replaced: list[int] | None = None,
    ) -> None:
        self.cwd = cwd
        self.environment = environment
        #: the process that started the hook: the agent, or a shell of the agent's
        self.parent = parent
        self.is_inside = is_inside
        self.call = call
        self.asked_before = asked_before
        #: where open journals are borrowed; None: open one for this call
        self.journals = journals
        #: gets descriptors of files that were replaced, to be closed after the answer; None: nobody would close them
        self.replaced = replaced


def note(given: bytes, caller: HookCaller) -> str:
    """Append the events of one hook call; returns what the hook has to tell the agent. Raises what goes wrong."""
    from rekindle.core import lean_json

    call = lean_json.loads(given)
    if not isinstance(call, dict):
        raise ValueError("standard input is not a JSON object")
    told = _beaten(call, caller)
    if call.get("hook_event_name") == "PreToolUse":
        return told
    from rekindle.adapters.git import repository

    given_cwd = call.get("cwd")
    here = given_cwd if isinstance(given_cwd, str) and os.path.isdir(given_cwd) else caller.cwd
    repo = repository.find(here)
    if call.get("hook_event_name") == "SessionStart":
        told = _recovered(call, repo, here, caller)
    feature = _feature(repo, caller) if repo is not None else None
    if repo is not None and feature is not None:
        _Noting(call, caller, repo, feature).note()
    return told


def _beaten(call: dict[str, object], caller: HookCaller) -> str:
    """What the heartbeat of the agent's skill session has to say. If that fails, the journal gets its events anyway."""
    from rekindle.hooks.beat import beat

    try:
        return beat(call, state_dir(caller.environment), caller.parent, caller.replaced)
    except Exception:  # a state file of any kind (one nested too deeply, say): every command of the session names it
        return ""


def _recovered(call: dict[str, object], repo: Repository | None, here: str, caller: HookCaller) -> str:
    """What the agent gets back of its skill session. If that fails, the journal gets its events anyway."""
    from rekindle.hooks.recovery import recovery

    try:
        text = recovery(call, repo, here, caller.environment, caller.parent)
    except Exception:  # a root that is no plain folder, settings that cannot be read: every command names them
        return ""
    if not text:
        return ""
    from rekindle.core import lean_json

    said = {"hookEventName": "SessionStart", "additionalContext": text}
    return lean_json.compact({"hookSpecificOutput": said})


def agent_of(parent: int) -> int:
    """The agent itself: the nearest ancestor that is not a shell, or another part, of this hook."""
    from rekindle.adapters.machine import process_identity

    pid = parent
    for _ in range(6):
        if process_identity.name(pid) not in _SHELLS:
            return pid
        pid = process_identity.parent(pid)
    return parent


class _OwnJournal:
    """A journal that is opened for one call."""

    def take(self, path: str, root: str, state: str, seconds: float) -> Appender:
        from rekindle.adapters.journal_file.append import Appender
        from rekindle.adapters.journal_file.ledger import Ledger

        return Appender(path, lock_seconds=seconds, root=root, ledger=Ledger(state, path))

    def give_back(self, appender: Appender) -> None:
        appender.close()


class _Noting:
    """One call, on its way into the journal of its feature."""

    def __init__(self, call: dict[str, object], caller: HookCaller, repo: Repository, feature: str) -> None:
        self._call = call
        self._caller = caller
        self._repo = repo
        self._feature = feature
        self._written = 0
        progress = repo.progress_folder(setting(caller.environment, repo.root, "progress_dir"))
        if not os.path.isdir(progress):
            repo.exclude(progress)
        self._folder = os.path.join(progress, feature)
        if os.path.islink(self._folder):
            raise ValueError(f"{self._folder}: cannot be opened (it is a symbolic link)")
        path, state = os.path.join(self._folder, "events.jsonl"), state_dir(caller.environment)
        self._journals: Lender = caller.journals or _OwnJournal()
        self._appender = self._journals.take(path, repo.root, state, _LOCK_SECONDS)

    def note(self) -> None:
        """Append what the call is about."""
        try:
            name = self._call.get("hook_event_name")
            if name == "SessionStart":
                self._session_start()
            elif name == "SessionEnd":
                self._session_end()
            elif name == "Stop":
                self._append("turn.finished", {})
            elif name == "PostToolUse":
                from rekindle.hooks.observe import after_tool

                for type_, data in after_tool(self._call, self._repo.top or self._repo.root, self._repo.branch):
                    if type_ == "branch.pulled":
                        data.update(_distance(self._repo.top or self._repo.root))
                    self._append(type_, data)
        finally:
            self._journals.give_back(self._appender)

    @property
    def _session(self) -> str:
        session = self._call.get("session_id")
        return session if isinstance(session, str) else ""

    def _append(self, type_: str, data: dict[str, object]) -> None:
        self._write(type_, data, sid=_given("REKINDLE_SID", self._caller.environment), session=self._session)

    def _write(
        self, type_: str, data: dict[str, object], *, sid: str | None, session: str = "", fresh: bool = False
    ) -> None:
        import time

        from rekindle.adapters.journal_file.append import timestamp
        from rekindle.core.journal.event import is_synced_at_once
        from rekindle.core.journal.orders import decides

        caller = self._caller
        if self._is_there():
            self._written += 1
            return
        event: dict[str, object] = {
            "ts": timestamp(time.time()),
            "type": type_,
            "feature": self._feature,
            "agent": _given("REKINDLE_AGENT", caller.environment),
            "pane_id": caller.environment.get("TMUX_PANE") or caller.environment.get("ZELLIJ_PANE_ID") or None,
        }
        if caller.call is not None:
            event["call"] = f"{caller.call}/{self._written}"
        event["data"] = data
        self._written += 1
        self._appender.append(
            event,
            sid=sid,
            session=session,
            fresh=fresh,
            by_agent=decides(type_) and caller.is_inside(),
        )
        if is_synced_at_once(type_):
            self._appender.sync()

    def _is_there(self) -> bool:
        """Whether the daemon has written the next event of this call, before it could say so.

        It writes nothing once the script has stopped waiting for it, so what is not there now never comes.
        """
        caller = self._caller
        return caller.asked_before and self._appender.knows_call(f"{caller.call}/{self._written}")

    def _session_start(self) -> None:
        """Open a run for an agent that drives itself, unless somebody else's run is alive or this one continues."""
        is_driven = bool(self._caller.environment.get("REKINDLE_SID"))
        if is_driven or self._call.get("source") not in ("startup", "resume", "clear") or self._is_there():
            return
        from rekindle import files
        from rekindle.adapters.journal_file import run_owner

        agent = agent_of(self._caller.parent)
        holder = run_owner.owner(self._folder)
        head = self._appender.head()
        if holder is not None and holder.pid != agent and holder.sid in head.sids and head.sids[holder.sid].is_open:
            return
        if head.only_claims(None) and self._caller.is_inside():
            return  # an agent that rekindle drives opens no run of its own
        session = self._session
        before = head.open_run(session)
        data: dict[str, object] = {
            "command": "implement",
            "feature": self._feature,
            "branch": self._repo.branch,
            "mode": "standard",
            "session_id": session,
        }
        if before is not None and session and head.sids[before].session == session:
            data["command"], data["resumes"] = "resume", before
        sid = os.urandom(4).hex()
        files.make_folder(self._folder)
        run_owner.record(self._folder, sid, agent)
        self._write("session.start", data, sid=sid, fresh=True)

    def _session_end(self) -> None:
        """End the run that this agent session opened, if the session's end really ends it.

        After a finished turn it is completed; if the user ends it, it is cancelled. Anything else (a hang-up, a SIGTERM
        in mid-turn) is an interruption: the run stays open, so that `rekindle` shows it.
        """
        from rekindle.adapters.journal_file import run_owner

        session = self._session
        head = self._appender.head()
        sid = head.open_run(session)
        is_driven = bool(self._caller.environment.get("REKINDLE_SID"))
        if is_driven or sid is None or head.sids[sid].session != session or not session:
            return
        said = self._call.get("reason")
        if head.sids[sid].last_type == "turn.finished":
            reason = "completed"
        elif said in ("clear", "logout", "prompt_input_exit"):
            reason = "user_cancelled"
        else:
            return
        self._write("session.end", {"reason": reason, "detail": str(said)}, sid=sid)
        run_owner.forget(self._folder, sid)


def _distance(folder: str) -> dict[str, object]:
    """How far the branch is from its upstream after a pull; nothing where it has none, or git takes too long."""
    from rekindle.adapters.git import process

    told = process.line(folder, "rev-list", "--left-right", "--count", "HEAD...@{upstream}", seconds=_GIT_SECONDS)
    ahead, _, behind = (told or "").partition("\t")
    return {"ahead": int(ahead), "behind": int(behind)} if ahead.isdecimal() and behind.isdecimal() else {}


def _feature(repo: Repository, caller: HookCaller) -> str | None:
    return _given("REKINDLE_FEATURE", caller.environment) or repo.feature


def _given(variable: str, environment: Mapping[str, str]) -> str | None:
    """A name that a supervisor has set, if it is valid."""
    from rekindle.core.names import why_not

    name = environment.get(variable)
    problem = why_not(name) if name else None
    if problem is not None:
        raise ValueError(f"{variable} {problem}")
    return name or None
