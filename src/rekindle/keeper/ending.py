"""How a tree is ended: the order of waits and signals, as a pure decision over what is seen.

EOF on stdin comes first (the caller's), then after a moment SIGTERM to the agent's process group,
and to what moved out of that group once the agent itself is gone; then patience until the *whole
tree* is empty or the grace is over; then SIGKILL, again and again, until nothing is left. Nobody is
sent SIGTERM twice (many programs take a second one as "at once"), and processes born after it are
left alone until the grace is over: they may be the cleaning up. Launchers exit before their
children, so the agent's own exit never cuts the grace short.

No clock, no /proc, no kill in here: keeper and guard bring the processes and carry out the signals.
"""

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from rekindle.keeper.outcome import Swept
from rekindle.keeper.processes import Process, ProcessId

_KILL_AGAIN = 0.05
_UNKILLABLE_AGAIN = 1.0


@dataclass(frozen=True, slots=True)
class EndingStep:
    signals: tuple[tuple[ProcessId, int], ...]
    wake_at: float


class Ending:
    """One ending of one tree. `gentle` is what asks a process to go: SIGTERM, on a terminal SIGHUP too."""

    def __init__(
        self,
        *,
        now: float,
        grace: float,
        eof_wait: float,
        agent: ProcessId,
        gentle: Sequence[int] = (signal.SIGTERM,),
    ) -> None:
        self._agent = agent
        self._gentle = tuple(gentle)
        self._ask_at = now + min(eof_wait, grace)
        self._kill_at = now + grace
        self._kill_rounds = 0
        self._asked: set[ProcessId] = set()
        self._to_ask: set[ProcessId] | None = None
        self._swept: dict[ProcessId, Swept] = {}

    def hurry(self, now: float, grace: float) -> None:
        """A second, more impatient request."""
        self._kill_at = min(self._kill_at, now + grace)
        self._ask_at = min(self._ask_at, self._kill_at)

    @property
    def swept(self) -> tuple[Swept, ...]:
        return tuple(self._swept.values())

    def step(self, now: float, tree: Sequence[Process], *, agent_gone: bool) -> EndingStep:
        """What to send to whom now, and when to look again (besides whenever a child ends)."""
        if now >= self._kill_at:
            self._kill_rounds += 1
            again = _KILL_AGAIN if self._kill_rounds < 100 else _UNKILLABLE_AGAIN
            return EndingStep(self._send(tree, (signal.SIGKILL,)), now + again)
        if now < self._ask_at:
            return EndingStep((), self._ask_at)
        if self._to_ask is None:
            self._to_ask = {process.id for process in tree}
        due = [
            process
            for process in tree
            if process.id in self._to_ask
            and process.id not in self._asked
            and (agent_gone or process.group == self._agent.pid)
        ]
        self._asked.update(process.id for process in due)
        return EndingStep(self._send(due, self._gentle), self._kill_at)

    def _send(self, targets: Sequence[Process], numbers: Sequence[int]) -> tuple[tuple[ProcessId, int], ...]:
        for process in targets:
            if process.id != self._agent:
                name = signal.Signals(numbers[0]).name
                self._swept[process.id] = Swept(process.id.pid, process.comm, name)
        return tuple((process.id, number) for process in targets for number in numbers)
