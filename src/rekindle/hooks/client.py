"""`rekindle-hook`: reads a Claude Code hook's JSON from standard input and appends its events to the journal.

It never breaks or delays the agent: whatever goes wrong, it leaves a line in `hook.log`, prints nothing, and exits 0.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # `typing` itself would cost more than the rest of the imports
if TYPE_CHECKING:
    from rekindle.adapters.git.repository import Repository
    from rekindle.adapters.journal_file.append import Appender

_SECONDS = 2.0
_LOCK_SECONDS = 0.5
_GIT_SECONDS = 0.7
_MOST = 16 << 20
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "rekindle-hook")


class _TooLate(BaseException):
    pass


def main() -> None:
    """Do the work within its time, and exit 0."""
    try:
        for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)  # meant for the agent; we are done in a moment
        signal.signal(signal.SIGALRM, _alarm)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        note()
    except _TooLate:
        _log(f"took more than {_SECONDS:g} s and gave up")
    except BaseException as error:
        _log(f"{type(error).__name__}: {error}")
    os._exit(0)


def _alarm(_signal: int, _frame: object) -> None:
    raise _TooLate


def note() -> None:
    """Read one hook call and append its events."""
    import json

    call = json.loads(sys.stdin.buffer.read(_MOST))
    if not isinstance(call, dict):
        raise ValueError("standard input is not a JSON object")
    from rekindle.adapters.git import repository

    here = call.get("cwd")
    repo = repository.find(here if isinstance(here, str) and os.path.isdir(here) else os.getcwd())
    if repo is None:
        return
    feature = _feature(repo)
    if feature is None:
        return
    from rekindle.adapters.journal_file.append import Appender
    from rekindle.adapters.journal_file.ledger import Ledger

    progress = repo.progress_folder(_progress_setting(repo.root))
    if not os.path.isdir(progress):
        repo.exclude(progress)
    folder = os.path.join(progress, feature)
    if os.path.islink(folder):
        raise ValueError(f"{folder}: cannot be opened (it is a symbolic link)")
    path = os.path.join(folder, "events.jsonl")
    appender = Appender(path, lock_seconds=_LOCK_SECONDS, root=repo.root, ledger=Ledger(_state_dir(), path))
    name = call.get("hook_event_name")
    if name == "SessionStart":
        _session_start(call, appender, folder, feature, repo.branch)
    elif name == "SessionEnd":
        _session_end(call, appender, folder, feature)
    elif name == "Stop":
        _append(appender, feature, call, "turn.finished", {})
    elif name == "PostToolUse":
        from rekindle.hooks.observe import after_tool

        for type_, data in after_tool(call, repo.top or repo.root, repo.branch):
            if type_ == "branch.pulled":
                data.update(_distance(repo.top or repo.root))
            _append(appender, feature, call, type_, data)


def _distance(folder: str) -> dict[str, object]:
    """How far the branch is from its upstream after a pull; nothing where it has none, or git takes too long."""
    from rekindle.adapters.git import process

    told = process.line(folder, "rev-list", "--left-right", "--count", "HEAD...@{upstream}", seconds=_GIT_SECONDS)
    ahead, _, behind = (told or "").partition("\t")
    return {"ahead": int(ahead), "behind": int(behind)} if ahead.isdecimal() and behind.isdecimal() else {}


def _feature(repo: Repository) -> str | None:
    return _given("REKINDLE_FEATURE") or repo.feature


def _given(variable: str) -> str | None:
    """A name that a supervisor has set, if it is valid."""
    from rekindle.core.names import why_not

    name = os.environ.get(variable)
    problem = why_not(name) if name else None
    if problem is not None:
        raise ValueError(f"{variable} {problem}")
    return name or None


def _progress_setting(root: str) -> str | None:
    given = os.environ.get("REKINDLE_PROGRESS_DIR")
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = (os.path.join(root, ".rekindle.toml"), os.path.join(home, "rekindle", "config.toml"))
    if given or not any(os.path.lexists(file) for file in files):
        return given or None
    from rekindle.settings import load

    return load(os.environ, root).progress_dir


def _session(call: dict[str, object]) -> str:
    session = call.get("session_id")
    return session if isinstance(session, str) else ""


def _append(appender: Appender, feature: str, call: dict[str, object], type_: str, data: dict[str, object]) -> None:
    _write(appender, feature, type_, data, sid=_given("REKINDLE_SID"), session=_session(call))


def _write(
    appender: Appender,
    feature: str,
    type_: str,
    data: dict[str, object],
    *,
    sid: str | None,
    session: str = "",
    fresh: bool = False,
) -> None:
    import time

    from rekindle.adapters.journal_file.append import timestamp
    from rekindle.core.journal.event import is_synced_at_once
    from rekindle.core.journal.orders import decides

    pane = os.environ.get("TMUX_PANE") or os.environ.get("ZELLIJ_PANE_ID") or None
    agent = _given("REKINDLE_AGENT")
    event: dict[str, object] = {
        "ts": timestamp(time.time()),
        "type": type_,
        "feature": feature,
        "agent": agent,
        "pane_id": pane,
        "data": data,
    }
    appender.append(event, sid=sid, session=session, fresh=fresh, by_agent=decides(type_) and _is_inside())
    if is_synced_at_once(type_):
        appender.sync()


def _session_start(call: dict[str, object], appender: Appender, folder: str, feature: str, branch: str | None) -> None:
    """Open a run for an agent that drives itself, unless somebody else's run is alive or this one continues."""
    if os.environ.get("REKINDLE_SID") or call.get("source") not in ("startup", "resume", "clear"):
        return
    from rekindle import files
    from rekindle.adapters.journal_file import run_owner

    agent = _agent_pid()
    holder = run_owner.owner(folder)
    head = appender.head()
    if holder is not None and holder.pid != agent and holder.sid in head.sids and head.sids[holder.sid].is_open:
        return
    if head.only_claims(None) and _is_inside():
        return  # an agent that rekindle drives opens no run of its own
    session = _session(call)
    before = head.open_run(session)
    data: dict[str, object] = {
        "command": "implement",
        "feature": feature,
        "branch": branch,
        "mode": "standard",
        "session_id": session,
    }
    if before is not None and session and head.sids[before].session == session:
        data["command"], data["resumes"] = "resume", before
    sid = os.urandom(4).hex()
    files.make_folder(folder)
    run_owner.record(folder, sid, agent)
    _write(appender, feature, "session.start", data, sid=sid, fresh=True)


def _session_end(call: dict[str, object], appender: Appender, folder: str, feature: str) -> None:
    """End the run that this agent session opened, if the session's end really ends it.

    After a finished turn it is completed; if the user ends it, it is cancelled. Anything else (a hang-up, a SIGTERM
    in mid-turn) is an interruption: the run stays open, so that `rekindle` shows it.
    """
    from rekindle.adapters.journal_file import run_owner

    session = _session(call)
    head = appender.head()
    sid = head.open_run(session)
    if os.environ.get("REKINDLE_SID") or sid is None or head.sids[sid].session != session or not session:
        return
    said = call.get("reason")
    if head.sids[sid].last_type == "turn.finished":
        reason = "completed"
    elif said in ("clear", "logout", "prompt_input_exit"):
        reason = "user_cancelled"
    else:
        return
    _write(appender, feature, "session.end", {"reason": reason, "detail": str(said)}, sid=sid)
    run_owner.forget(folder, sid)


def _is_inside() -> bool:
    """Whether this hook's agent is one that rekindle runs."""
    from rekindle.adapters.machine.ancestry import is_inside

    return is_inside()


def _agent_pid() -> int:
    """The agent itself: the nearest ancestor that is not a shell that runs this hook."""
    from rekindle.adapters.machine import process_identity

    pid = os.getppid()
    for _ in range(6):
        if process_identity.name(pid) not in _SHELLS:
            return pid
        pid = process_identity.parent(pid)
    return os.getppid()


def _state_dir() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "rekindle")


def _log(message: str) -> None:
    try:
        import time

        folder = _state_dir()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "hook.log")
        if os.path.exists(path) and os.path.getsize(path) > 1 << 20:
            os.replace(path, path + ".1")
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {os.getcwd()}: {message}"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, (line.replace("\n", " ")[:2000] + "\n").encode("utf-8", "backslashreplace"))
        os.close(fd)
    except BaseException:  # the agent comes first
        pass
