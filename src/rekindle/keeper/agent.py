"""Starts the agent's process: its own session, our spool as its output, nothing of ours inherited.

Forked from the keeper's only thread, because the parent-death signal follows the thread that
forked. That signal is an accelerator; what contains the tree is the subreaper. What happens to the
agent later is not decided here.
"""

import errno
import fcntl
import os
import signal
import struct
import termios
from dataclasses import dataclass
from typing import NoReturn

from rekindle.keeper import kernel
from rekindle.keeper.processes import ProcessId, id_of
from rekindle.keeper.spec import STAMP_VARIABLE, Spec

_DEFAULTED = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ,
    signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Agent:
    """`stdin` is the writing end of its pipe or, with a pty, the terminal's master."""

    id: ProcessId
    stdin: int


class ExecError(Exception):
    """The program could not be executed; `where` is "cwd" or "exec"."""

    def __init__(self, where: str, number: int) -> None:
        super().__init__(os.strerror(number))
        self.where = where
        self.errno = number


def start_agent(spec: Spec, out: int, err: int) -> Agent:
    """Start the agent's program. Returns once it is executed; ExecError if it could not be, and then nothing runs."""
    if spec.pty:
        ours, theirs = os.openpty()
        set_window(ours, spec.rows, spec.cols)
    else:
        theirs, ours = os.pipe()
    os.set_blocking(ours, False)
    said, says = os.pipe()
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become_agent(spec, keeper, theirs, out, err, says)
    os.close(theirs)
    os.close(says)
    with open(said, "rb") as answer:
        failure = answer.read()  # closed by the exec itself
    if failure:
        os.waitpid(pid, 0)
        os.close(ours)
        where, _, number = failure.decode().partition(" ")
        raise ExecError(where, int(number))
    return Agent(id_of(pid), ours)


def set_window(terminal: int, rows: int, cols: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def _become_agent(spec: Spec, keeper: int, stdin: int, out: int, err: int, says: int) -> NoReturn:
    where = "exec"
    number = errno.EIO
    try:
        os.setsid()
        kernel.die_with_parent(signal.SIGTERM)
        if os.getppid() != keeper:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        for one in _DEFAULTED:
            signal.signal(one, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if spec.pty:
            fcntl.ioctl(stdin, termios.TIOCSCTTY, 0)
            out = err = stdin
        for source, target in ((stdin, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        where = "cwd"
        os.chdir(spec.cwd)
        where = "exec"
        os.execvpe(spec.argv[0], spec.argv, {**spec.env, STAMP_VARIABLE: spec.stamp})
    except OSError as error:
        number = error.errno or errno.EIO
    finally:
        os.write(says, f"{where} {number}".encode())
        os._exit(127)
