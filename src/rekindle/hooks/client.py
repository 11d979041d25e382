"""`rekindle-hook-client`: reads a Claude Code hook's JSON from standard input and appends its events to the journal.

`rekindle-hook`, the script that agents call, comes here whenever no daemon carries out a call for it. It never breaks
or delays the agent: whatever goes wrong, it leaves a line in `hook.log` and exits 0. It prints only what
the heartbeat of a skill session has to say.
"""

from __future__ import annotations

import os
import sys

from rekindle.hooks import noting
from rekindle.hooks.surroundings import state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    try:
        import _signal as signal  # `signal` wraps it in enums, whose import costs more than all that is done here
    except ImportError:
        import signal

_SECONDS = 2.0
_MOST = 16 << 20
#: How the script says that the daemon was asked to carry out this call, and that nobody knows whether it did.
ASKED = "REKINDLE_HOOK_CALL"
DOOR = "hook.sock"


class _TooLate(BaseException):
    pass


def main() -> None:
    """Do the work within its time, and exit 0."""
    try:
        for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)  # meant for the agent; we are done in a moment
        signal.signal(signal.SIGALRM, _alarm)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        _tell(note())
    except _TooLate:
        _log(f"took more than {_SECONDS:g} s and gave up")
    except BaseException as error:
        _log(f"{type(error).__name__}: {error}")
    os._exit(0)


def _alarm(_signal: int, _frame: object) -> None:
    raise _TooLate


def note() -> str:
    """Read one hook call and append its events. An agent other than Claude Code is named: only starts count."""
    if len(sys.argv) > 1:
        from rekindle.hooks.other_agents import started

        return started(sys.stdin.buffer.read(_MOST), sys.argv[1], os.getcwd(), os.environ, os.getppid())
    call = os.environ.get(ASKED) or None
    caller = noting.HookCaller(
        cwd=os.getcwd(),
        environment=os.environ,
        parent=os.getppid(),
        is_inside=_is_inside,
        call=call,
        asked_before=call is not None,
    )
    told = noting.note(sys.stdin.buffer.read(_MOST), caller)
    if call is not None:
        _close_dead_door()
    return told


def _tell(text: str) -> None:
    if text:
        os.write(1, text.encode())


def _close_dead_door() -> None:
    """Remove the way to a daemon that is gone, so that the next call does not try it. A live daemon makes it again."""
    import socket

    door = os.path.join(state_dir(os.environ), DOOR)
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.settimeout(0.2)
            probe.connect(door)
        except ConnectionRefusedError:
            os.unlink(door)
        except OSError:
            pass  # there is none, or it lives and is busy


def _is_inside() -> bool:
    """Whether this hook's agent is one that rekindle runs."""
    from rekindle.adapters.machine.ancestry import is_inside

    return is_inside()


def _log(message: str) -> None:
    try:
        import time

        folder = state_dir(os.environ)
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
