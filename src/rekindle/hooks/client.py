"""`rekindle-hook`: reads a Claude Code hook's JSON on standard input and appends what it means to the journal.

It never breaks or delays the agent: whatever goes wrong, it leaves a line in `hook.log`, prints nothing, and exits 0.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # `typing` itself would cost more than the rest of the imports
if TYPE_CHECKING:
    from rekindle.adapters.journal_file.append import Appender
    from rekindle.adapters.repository import Repository

_SECONDS = 3.0
_LOCK_SECONDS = 0.5
_MOST = 16 << 20
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "rekindle-hook")


class _TooLate(Exception):
    pass


def main() -> None:
    """Do the work within its time, and exit 0."""
    try:
        signal.signal(signal.SIGALRM, _alarm)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        note()
    except _TooLate:
        _log("took too long and gave up")
    except Exception as error:
        _log(f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    os._exit(0)


def _alarm(_signal: int, _frame: object) -> None:
    raise _TooLate


def note() -> None:
    """Read one hook call and append its events."""
    import json

    call = json.loads(sys.stdin.buffer.read(_MOST))
    if not isinstance(call, dict):
        raise ValueError("standard input is no JSON object")
    from rekindle.adapters import repository

    here = call.get("cwd")
    repo = repository.find(here if isinstance(here, str) and os.path.isdir(here) else os.getcwd())
    if repo is None:
        return
    feature = _feature(repo)
    if feature is None:
        return
    from rekindle.adapters.journal_file.append import Appender

    folder = os.path.join(repo.progress_folder(_progress_setting(repo.root)), feature)
    appender = Appender(os.path.join(folder, "events.jsonl"), lock_seconds=_LOCK_SECONDS)
    name = call.get("hook_event_name")
    if name == "SessionStart":
        _session_start(call, appender, folder, feature, repo.branch)
    elif name == "SessionEnd":
        _session_end(call, appender, feature)
    elif name == "Stop":
        _append(appender, feature, call, "turn.finished", {})
    elif name == "PostToolUse":
        from rekindle.hooks.observe import after_tool

        for type_, data in after_tool(call, repo.top or repo.root, repo.branch):
            _append(appender, feature, call, type_, data)


def _feature(repo: Repository) -> str | None:
    from rekindle.core.names import why_not

    given = os.environ.get("REKINDLE_FEATURE")
    if given:
        problem = why_not(given)
        if problem is not None:
            raise ValueError(f"REKINDLE_FEATURE {problem}")
        return given
    return repo.feature


def _progress_setting(root: str) -> str | None:
    given = os.environ.get("REKINDLE_PROGRESS_DIR")
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = (os.path.join(root, ".rekindle.toml"), os.path.join(home, "rekindle", "config.toml"))
    if given or not any(os.path.exists(file) for file in files):
        return given or None
    from rekindle.settings import load

    return load(os.environ, root).progress_dir


def _session(call: dict[str, object]) -> str:
    session = call.get("session_id")
    return session if isinstance(session, str) else ""


def _append(appender: Appender, feature: str, call: dict[str, object], type_: str, data: dict[str, object]) -> None:
    _write(appender, feature, type_, data, sid=os.environ.get("REKINDLE_SID") or None, session=_session(call))


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

    pane = os.environ.get("TMUX_PANE") or os.environ.get("ZELLIJ_PANE_ID") or None
    agent = os.environ.get("REKINDLE_AGENT") or None
    event: dict[str, object] = {
        "ts": timestamp(time.time()),
        "type": type_,
        "feature": feature,
        "agent": agent,
        "pane_id": pane,
        "data": data,
    }
    appender.append(event, sid=sid, session=session, fresh=fresh)
    if type_.startswith("session."):
        appender.sync()


def _session_start(call: dict[str, object], appender: Appender, folder: str, feature: str, branch: str | None) -> None:
    """Open a run for an agent that drives itself, unless somebody else's run is alive or this one goes on."""
    if os.environ.get("REKINDLE_SID") or call.get("source") not in ("startup", "resume"):
        return
    from rekindle.adapters import run_owner

    if run_owner.owner(folder) is not None:
        return
    session = _session(call)
    head = appender.open_runs()
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
    _write(appender, feature, "session.start", data, sid=sid, fresh=True)
    run_owner.record(folder, sid, _agent_pid())


def _session_end(call: dict[str, object], appender: Appender, feature: str) -> None:
    """End the run that this agent session opened. It was completed only if a finished turn was its last word."""
    session = _session(call)
    head = appender.open_runs()
    sid = head.open_run(session)
    if os.environ.get("REKINDLE_SID") or sid is None or head.sids[sid].session != session or not session:
        return
    said = call.get("reason")
    finished = head.sids[sid].last_type == "turn.finished"
    reason = (
        "completed" if finished else "user_cancelled" if said in ("clear", "logout", "prompt_input_exit") else "error"
    )
    data: dict[str, object] = {"reason": reason, "detail": said if isinstance(said, str) else None}
    _write(appender, feature, "session.end", data, sid=sid)


def _agent_pid() -> int:
    """The agent itself: the nearest ancestor that is not a shell that runs this hook."""
    from rekindle.adapters import process_identity

    pid = os.getppid()
    for _ in range(6):
        if process_identity.name(pid) not in _SHELLS:
            return pid
        pid = process_identity.parent(pid)
    return os.getppid()


def _log(message: str) -> None:
    try:
        import time

        base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        folder = os.path.join(base, "rekindle")
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
