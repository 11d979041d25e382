"""The keeper's loop: clients, children, the terminal and the clock, and never blocked by any of them.

Asleep it costs nothing but a look at the spool every few seconds. It ends when the agent's tree is
empty, with the facts for the exit record. Parts are wired together here; their rules live in their
own modules.
"""

import os
import select
import signal
import time

from rekindle.keeper.agent import Agent, set_window
from rekindle.keeper.deadline import GRACE, Deadline
from rekindle.keeper.doorway import Doorway
from rekindle.keeper.ending import Ending
from rekindle.keeper.files import Files
from rekindle.keeper.frames import Header
from rekindle.keeper.identity import Identity
from rekindle.keeper.operations import Control, Operations
from rekindle.keeper.outcome import EndedBy, Swept
from rekindle.keeper.pane import Pane
from rekindle.keeper.processes import descendants, send_signal
from rekindle.keeper.reaping import ProcessTree
from rekindle.keeper.report import DEADLINE_PASSED, Cause
from rekindle.keeper.spec import Spec
from rekindle.keeper.stdin_feed import StdinFeed
from rekindle.keeper.terminal import TerminalCopy

TICK_ACTIVE = 1.0
TICK_IDLE = 5.0
_LIVELY = 3.0  # how long after a start or a message the agent is expected to write
_WOKEN_BY = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)


class Wakeups:
    """Signals as bytes on a descriptor. Made before the agent, so that no child's end is missed."""

    def __init__(self) -> None:
        self.fd, self._writer = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for one in _WOKEN_BY:
            signal.signal(one, lambda *_: None)

    def read(self) -> set[int]:
        try:
            return set(os.read(self.fd, 4096))
        except BlockingIOError:
            return set()


class Tending:
    def __init__(
        self,
        spec: Spec,
        files: Files,
        agent: Agent,
        identity: Identity,
        wakeups: Wakeups,
        deadline: Deadline,
        terminal: int | None = None,
    ) -> None:
        self._spec = spec
        self._files = files
        self._agent = agent
        self._wakeups = wakeups
        self._deadline = deadline
        self._epoll = select.epoll()
        self._feed = StdinFeed(agent.stdin, files.input, files.progress, terminal=spec.pty)
        self._pane = Pane(terminal, self._epoll) if terminal is not None else None
        self._terminal = TerminalCopy(agent.stdin, files.out.fd, self._pane) if spec.pty else None
        self._registered = 0
        self._tick_at = 0.0
        self._lively_until = 0.0
        self._room = True
        self._ending: Ending | None = None
        self._is_late = False
        self._step_at = 0.0
        self.cause = Cause(EndedBy.AGENT, "")
        self.tree = ProcessTree(agent.id, spec.background)
        control = Control(
            self._stop, self._signal_group, self._feed_changed, self._describe_ending, self._look, deadline
        )
        operations = Operations(spec, files, self._feed, identity, control)
        self._doorway = Doorway(spec.socket, self._epoll, operations.answer)
        self._epoll.register(wakeups.fd, select.EPOLLIN)

    @property
    def swept(self) -> tuple[Swept, ...]:
        return self._ending.swept if self._ending else ()

    def open(self) -> None:
        self._doorway.open()
        self._fit_window()
        self._feed_changed()

    def run(self) -> None:
        """Until the tree is empty, or what is left of it may stay."""
        self._reap()
        while not (self._ending and self.tree.is_over()):
            for fd, events in self._epoll.poll(self._timeout()):
                self._handle(fd, events)
            if time.monotonic() >= self._tick_at:
                self._tick()
            self._mind_the_pane()
            self._mind_the_deadline()
            self._advance_ending()
        if self._terminal:
            self._terminal.drain()
        if self._pane:
            self._pane.close()
        self._files.observe()

    def close(self) -> None:
        """Called after the exit record was written: those who wait for our end may read it now."""
        self._doorway.close()

    def _handle(self, fd: int, events: int) -> None:
        # Ask the doorway first: once stdin is closed, a client may have got its number.
        if fd == self._wakeups.fd:
            self._woken()
        elif self._pane and self._pane.open and fd == self._pane.fd:
            self._pane.ready(events)
            self._type()
            self._watch_stdin()
        elif not self._doorway.ready(fd, events) and fd == self._agent.stdin:
            if self._terminal and events & (select.EPOLLIN | select.EPOLLHUP):
                self._terminal.copy()
            if events & (select.EPOLLOUT | select.EPOLLERR):
                self._feed.pump()
                self._type()
            self._watch_stdin()

    def _mind_the_pane(self) -> None:
        """Closing the terminal ends the agent, as it ends any program that is used in one."""
        if self._pane and not self._pane.open and self._ending is None:
            reason = "the terminal that it was used in was closed"
            self._begin_ending(self._spec.grace_seconds, Cause(EndedBy.TERMINAL, reason))

    def _mind_the_deadline(self) -> None:
        """Whoever started the agent has lost it: a successor may start elsewhere, so nothing of it may stay."""
        if not self._deadline.has_passed or self._is_late:
            return
        self._is_late = True
        if self._ending is not None:
            self._ending.hurry(time.monotonic(), GRACE)
            self._step_at = 0.0
        else:
            self._files.progress.note_stop(DEADLINE_PASSED)
            self._begin_ending(GRACE, Cause(EndedBy.DEADLINE, DEADLINE_PASSED))

    def _type(self) -> None:
        """Keys reach the agent between messages, never inside one."""
        if self._pane and not self._feed.wants_write:
            self._pane.type_into(self._agent.stdin)

    def _fit_window(self) -> None:
        if self._pane and (size := self._pane.size()):
            set_window(self._agent.stdin, *size)

    def _woken(self) -> None:
        numbers = self._wakeups.read()
        if signal.SIGCHLD in numbers:
            self._reap()
        if signal.SIGTERM in numbers:
            self._stop(self._spec.grace_seconds, "SIGTERM was sent to the keeper")
        if signal.SIGHUP in numbers:
            self._tick_at = 0.0
        if signal.SIGWINCH in numbers:
            self._fit_window()

    def _reap(self) -> None:
        self.tree.reap()
        self._step_at = 0.0
        if self.tree.agent_gone and self._ending is None:
            self._begin_ending(self._spec.grace_seconds, Cause(EndedBy.AGENT, "the agent exited by itself"))

    def _stop(self, grace: float, reason: str) -> None:
        if self._ending is not None:
            self._ending.hurry(time.monotonic(), grace)
            self._step_at = 0.0
            return
        self._files.progress.note_stop(reason)
        self._begin_ending(grace, Cause(EndedBy.STOP, reason))

    def _begin_ending(self, grace: float, cause: Cause) -> None:
        """The agent is gone or must end: from now on the whole tree below is ended."""
        self.cause = cause
        gentle = (signal.SIGTERM, signal.SIGHUP, signal.SIGCONT) if self._spec.pty else (signal.SIGTERM,)
        self._feed.close_now()
        self._watch_stdin()
        self._ending = Ending(
            now=time.monotonic(),
            grace=grace,
            eof_wait=min(2.0, grace / 4),
            agent=self._agent.id,
            gentle=gentle,
        )
        self._step_at = 0.0

    def _advance_ending(self) -> None:
        now = time.monotonic()
        if self._ending is None or now < self._step_at or self.tree.childless:
            return
        step = self._ending.step(now, self.tree.to_end(), agent_gone=self.tree.agent_gone)
        for target, number in step.signals:
            send_signal(target, number)
        self._step_at = step.wake_at

    def _describe_ending(self) -> Header | None:
        if self._ending is None:
            return None
        return {"by": self.cause.by.value, "reason": self.cause.reason, "agent_gone": self.tree.agent_gone}

    def _signal_group(self, number: int) -> bool:
        # Not reaped yet, so the pid and with it the group's number cannot belong to anybody else.
        if self.tree.agent_gone:
            return False
        try:
            os.killpg(self._agent.id.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _look(self) -> bool:
        self._files.observe()
        self._room = self._files.have_room()
        return self._room

    def _tick(self) -> None:
        now = time.monotonic()
        changed = self._files.observe()
        self._room = self._files.have_room()
        self._doorway.repair()
        active = changed or not self._room or self._feed.wants_write or now < self._lively_until
        if active:
            self._files.seen.note(descendants(os.getpid()))
        if self._terminal and self._terminal.stuck:
            self._terminal.copy()
            self._watch_stdin()
        self._tick_at = now + (TICK_ACTIVE if active else TICK_IDLE)

    def _timeout(self) -> float:
        wake_at = min(self._tick_at, self._step_at) if self._ending else self._tick_at
        wanted = max(0.0, wake_at - time.monotonic())
        return wanted if self._is_late else self._deadline.sleep(wanted)

    def _feed_changed(self) -> None:
        self._feed.pump()
        self._watch_stdin()
        self._lively_until = time.monotonic() + _LIVELY
        self._tick_at = min(self._tick_at, time.monotonic() + TICK_ACTIVE)

    def _watch_stdin(self) -> None:
        """Tell epoll what we want of the agent's stdin (or terminal) now."""
        typed = bool(self._pane and self._pane.typed)
        wanted = select.EPOLLOUT if self._feed.wants_write or typed else 0
        if self._terminal and self._terminal.readable:
            wanted |= select.EPOLLIN
        if wanted == self._registered:
            return
        if not self._registered:
            self._epoll.register(self._agent.stdin, wanted)
        elif wanted:
            self._epoll.modify(self._agent.stdin, wanted)
        elif self._terminal or self._feed.open:
            self._epoll.unregister(self._agent.stdin)
        # A closed pipe has left the epoll set by itself.
        self._registered = wanted
