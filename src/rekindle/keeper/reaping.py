"""Collecting ended children, and telling from that whether the tree is empty.

Keeper and guard are subreapers: every orphan below them becomes their child. So "no children" means
"no tree", and the kernel says so itself; no listing of /proc can be as sure. The agent's own status
is kept on the way.
"""

import os
import signal
from dataclasses import dataclass

from rekindle.keeper.outcome import LeftRunning
from rekindle.keeper.processes import Process, ProcessId, descendants
from rekindle.keeper.spec import Background


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How the agent ended: an exit code or the name of a signal."""

    code: int | None
    signal: str | None


def ended_from(status: int) -> AgentEnd:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return AgentEnd(code, None)
    try:
        return AgentEnd(None, signal.Signals(-code).name)
    except ValueError:
        return AgentEnd(None, f"signal {-code}")


class ProcessTree:
    """All that lives below this process, seen from the agent's side."""

    def __init__(self, agent: ProcessId | None, background: Background) -> None:
        self._agent = agent
        self._background = background
        self.childless = False
        self.agent_ended: AgentEnd | None = None

    @property
    def agent_gone(self) -> bool:
        return self.agent_ended is not None or self._agent is None

    def reap(self) -> None:
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if self._agent is not None and pid == self._agent.pid:
                    self.agent_ended = ended_from(status)
        except ChildProcessError:
            self.childless = True

    def to_end(self) -> list[Process]:
        """The processes that an ending concerns: all, or with `keep` those in the agent's own session."""
        tree = descendants(os.getpid())
        return tree if self._background is Background.END else [one for one in tree if self._is_agents(one)]

    def left(self) -> tuple[LeftRunning, ...]:
        """What stays, by policy."""
        if self.childless or self._background is Background.END:
            return ()
        strangers = (one for one in descendants(os.getpid()) if not self._is_agents(one))
        return tuple(LeftRunning(one.id.pid, one.id.start, one.comm) for one in strangers)

    def is_over(self) -> bool:
        """Whether nothing is left that has to be ended."""
        if self.childless:
            return True
        return self._background is Background.KEEP and self.agent_gone and not self.to_end()

    def _is_agents(self, process: Process) -> bool:
        return self._agent is not None and process.session == self._agent.pid
