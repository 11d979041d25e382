"""The guard: takes the lock, clears what a dead incarnation left, forks the keeper and waits.

It exists for one moment: when the keeper dies without an exit record, the whole tree below becomes
the guard's; it ends it, writes the record, and only then gives the lock up. It serves nobody and
reads no socket, so there is little in it that could fail.
"""

import contextlib
import errno
import gc
import os
import signal
import time
from dataclasses import dataclass

from rekindle.keeper import kernel, lockfile, room
from rekindle.keeper.deadline import GRACE, LONGEST_SLEEP, PATIENCE, Deadline
from rekindle.keeper.ending import Ending
from rekindle.keeper.errors import NoRoom
from rekindle.keeper.files import Files, create_files
from rekindle.keeper.identity import here, read_identity
from rekindle.keeper.keeper import keep
from rekindle.keeper.leftovers import end_leftovers, read_seen
from rekindle.keeper.lockfile import Holder
from rekindle.keeper.outcome import EndedBy, LeftRunning, Swept, read_exit, write_exit
from rekindle.keeper.processes import ProcessId, is_running, is_stopped, own_id, send_signal
from rekindle.keeper.progress import read_progress
from rekindle.keeper.readiness import Readiness
from rekindle.keeper.reaping import ProcessTree
from rekindle.keeper.report import DEADLINE_PASSED, Cause, Sizes, compose
from rekindle.keeper.spec import Background, Layout, Spec, read_spec

_LEFTOVER_GRACE = 2.0
_NOBODY = ProcessId(0, 0)


@dataclass(frozen=True, slots=True)
class Before:
    """What the last holder of the lock left: its tree as last seen, what it left running on purpose, its folder.

    `folder` is None if processes that cannot be seen from here may write to it.
    """

    seen: tuple[ProcessId, ...] = ()
    kept: tuple[LeftRunning, ...] = ()
    folder: str | None = None


def guard(folder: str, readiness: Readiness, terminal: int | None = None) -> None:
    """The guard's whole life. `terminal`: where it was started, if the agent is shown and used there."""
    spec = read_spec(folder)
    kernel.set_name("rekindle-guard")
    kernel.become_subreaper()
    lock = lockfile.take(spec.lock)
    if lock is None:
        _say_who_holds(spec, readiness)
        return
    try:
        _hold(spec, lock, readiness, terminal)
    finally:
        os.close(lock)


def _hold(spec: Spec, lock: int, readiness: Readiness, terminal: int | None) -> None:
    """With the lock: clean up, start the keeper, wait for its end, and handle what it left."""
    before = _look_back(spec)
    end_leftovers(spec.stamp, grace=_LEFTOVER_GRACE, also=before.seen, spare=[one.id for one in before.kept])
    if before.folder is not None:
        room.give_back(before.folder)
    me = own_id()
    try:
        lockfile.write_holder(lock, Holder(me, None, here(), spec.folder))
        files = create_files(spec)
    except (NoRoom, OSError) as error:
        full = isinstance(error, NoRoom) or error.errno in (errno.ENOSPC, errno.EDQUOT)
        readiness.failed("no_room" if full else "crashed", str(error))
        return
    started_at, deadline = time.time(), Deadline(spec.deadline_until)
    # Objects that exist by now are shared with the keeper and never collected: fewer pages are copied.
    gc.collect()
    gc.freeze()
    keeper = os.fork()
    if keeper == 0:
        keep(spec, files, me, lock, readiness, before.kept, deadline, terminal)
        os._exit(0)
    signal.signal(signal.SIGTERM, lambda *_: _pass_on(keeper, signal.SIGTERM))
    if terminal is not None:
        signal.signal(signal.SIGWINCH, lambda *_: _pass_on(keeper, signal.SIGWINCH))
        _pass_on(keeper, signal.SIGWINCH)
    tree = _await_keeper(keeper, spec.folder, spec.background, deadline)
    if read_exit(spec.folder) is None:
        readiness.failed("crashed", f"The keeper died while starting; {Layout(spec.folder).log} says why.")
        _take_over(spec, files, tree, before.kept, started_at, deadline)


def _say_who_holds(spec: Spec, readiness: Readiness) -> None:
    holder = lockfile.read_holder(spec.lock)
    pid = holder.living_pid() if holder else None
    whom = f"pid {pid}" if pid else "a process that cannot be seen from here"
    readiness.failed(
        "lock_held",
        f"Session {spec.session} is owned by {whom}. Talk to that one, or stop it first.",
        pid=pid,
    )


def _look_back(spec: Spec) -> Before:
    holder, now = lockfile.read_holder(spec.lock), here()
    if holder is None or not _is_beside(holder.folder, spec.folder):
        return Before()
    if holder.place != now:
        is_of_another_boot = holder.place.machine == now.machine and holder.place.boot != now.boot
        return Before(folder=holder.folder if is_of_another_boot else None)
    seen = tuple(read_seen(holder.folder))
    record = read_exit(holder.folder)
    if record is None or spec.background is Background.END:
        return Before(seen, folder=holder.folder)
    return Before(seen, tuple(one for one in record.left if is_running(one.id)), holder.folder)


def _is_beside(folder: str, ours: str) -> bool:
    """Whether an attempt belongs to this session. In a copy of a store the lock names the agent of the original."""
    return os.path.realpath(os.path.dirname(folder)) == os.path.realpath(os.path.dirname(ours))


def _pass_on(keeper: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(keeper, number)


def _await_keeper(keeper: int, folder: str, background: Background, deadline: Deadline) -> ProcessTree:
    """Sleeps until the keeper is gone. Orphans of a keeper come to us only then."""
    if deadline.is_set:
        _await_until(keeper, deadline)
    else:
        while os.waitpid(-1, 0)[0] != keeper:
            pass
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    identity = read_identity(folder)
    return ProcessTree(identity.agent if identity else None, background)


def _await_until(keeper: int, deadline: Deadline) -> None:
    """The same, but a keeper that does not end its tree when the deadline has passed is killed: it may be stopped."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while not _has_ended(keeper):
        left = deadline.left() or 0.0
        if left <= 0 and (is_stopped(keeper) or left <= -(GRACE + PATIENCE)):
            _pass_on(keeper, signal.SIGKILL)
            while os.waitpid(-1, 0)[0] != keeper:
                pass
            return
        wait = deadline.sleep(LONGEST_SLEEP) if left > 0 else GRACE / 20
        signal.sigtimedwait({signal.SIGCHLD}, wait)


def _has_ended(keeper: int) -> bool:
    """Whether the keeper is among the children that have ended; all of them are collected."""
    while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
        if pid == keeper:
            return True
    return False


def _take_over(
    spec: Spec,
    files: Files,
    tree: ProcessTree,
    kept: tuple[LeftRunning, ...],
    started_at: float,
    deadline: Deadline,
) -> None:
    swept = _sweep(spec, tree, deadline)
    left = (*(one for one in kept if is_running(one.id)), *tree.left())
    files.out.observe()
    files.err.observe()
    progress = read_progress(spec.folder) or files.progress.now
    asked = f" (a stop had been asked: {progress.stop_reason})" if progress.stop_reason else ""
    cause = Cause(EndedBy.GUARD, f"the keeper died, so the guard ended the agent{asked}")
    if deadline.has_passed:
        cause = Cause(EndedBy.DEADLINE, f"{DEADLINE_PASSED}; the keeper did not end the agent, so the guard did")
    record = compose(
        spec,
        cause,
        written_by="guard",
        started_at=started_at,
        progress=progress,
        ended=tree.agent_ended,
        sizes=Sizes(files.out.size, files.err.size, os.stat(Layout(spec.folder).input).st_size),
        swept=swept,
        left=left,
    )
    write_exit(files.exit, record)
    if not left:
        room.give_back(spec.folder)
    with contextlib.suppress(OSError):
        os.unlink(spec.socket)


def _sweep(spec: Spec, tree: ProcessTree, deadline: Deadline) -> tuple[Swept, ...]:
    """End everything below; the keeper's death closed stdin already, so SIGTERM comes at once."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    identity = read_identity(spec.folder)
    agent = identity.agent if identity else _NOBODY
    ending = Ending(now=time.monotonic(), grace=spec.grace_seconds, eof_wait=0.0, agent=agent)
    tree.reap()
    while not tree.is_over():
        now = time.monotonic()
        if deadline.has_passed:
            ending.hurry(now, 0.0)
        step = ending.step(now, tree.to_end(), agent_gone=tree.agent_gone)
        for target, number in step.signals:
            send_signal(target, number)
        wait = max(0.0, step.wake_at - time.monotonic())
        signal.sigtimedwait({signal.SIGCHLD}, wait if deadline.has_passed else deadline.sleep(wait))
        tree.reap()
    return ending.swept
