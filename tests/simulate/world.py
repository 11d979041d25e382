"""The world of a simulation: a machine with its clock and its disk, and what happens to the agents on it.

What agents do is in `tests.simulate.agents`, and what truly happened is written down in `tests.simulate.truth`.
"""

from __future__ import annotations

from functools import partial
from random import Random

from rekindle.core.governor.rules import UNLIMITED
from tests.fakes.job_places import FakeJobPlaces
from tests.fakes.keepers import FakeAttempt
from tests.simulate.agents import AgentWorld
from tests.simulate.truth import Memory
from tests.simulate.virtual import VirtualTime

#: When a simulation begins, by the wall clock.
EPOCH = 1_800_000_000.0


class SimulatedWorld(AgentWorld):
    """The machine. `tell` is called with everything that happens, in words, for the story."""

    def __init__(self, time: VirtualTime, random: Random) -> None:
        super().__init__(time, random)
        self.jumped = 0.0
        #: since when the clock stands as it does: the true time, and by how much it was set until then
        self._settings: list[tuple[float, float]] = [(0.0, 0.0)]
        self.set_forward_at = -1e9
        #: by how many seconds the clock was set back, in all
        self.set_back = 0.0
        #: the clock was set forward while no daemon could notice it
        self.is_ahead = False
        self.syncs = "fast"
        self.failed_syncs = 0
        self.failing_starts = 0
        self.post_seconds = 0.0
        self.has_plans = False
        self.has_jobs = False
        self.job_places = FakeJobPlaces()
        self.governor_rules = UNLIMITED
        #: when each fact was truly recorded, whatever the clock said
        self.recorded: list[float] = []
        #: by session and gate: when its command was run
        self.gates: dict[tuple[str, str], list[float]] = {}
        self.died_at: dict[str, float] = {}
        self._runs = 0

    @property
    def was_set_forward(self) -> bool:
        """Whether the clock ever was."""
        return self.set_forward_at >= 0.0

    def clock(self) -> float:
        """The wall clock, which may be set."""
        return EPOCH + self.time.now + self.jumped

    def set_clock(self, by: float) -> None:
        """Somebody sets the wall clock."""
        self.jumped += by
        self._settings.append((self.time.now, self.jumped))
        self.set_back += max(0.0, -by)
        self.set_forward_at = self.time.now if by > 0 else self.set_forward_at

    def when(self, told: float, latest: float) -> float:
        """When the wall clock truly showed this, the last time before `latest`; `latest` if it never did."""
        until = latest
        for since, jumped in reversed(self._settings):
            true = told - EPOCH - jumped
            if since <= true <= until:
                return true
            until = min(until, since)
        return latest

    def new_sid(self) -> str:
        """The name of a new run."""
        self._runs += 1
        return f"{0xA0000000 + self._runs:08x}"

    # what people and machines do to it

    def kill(self, session: str, how: str = "killed by SIGKILL") -> None:
        for (name, number), one in self.attempts.items():
            if name == session and one.alive:
                self.tell(f"the agent of {name} (attempt {number}) is dead: {how}")
        super().kill(session, how)
        self._died(session)

    def crash(self, one: FakeAttempt) -> None:
        """The agent ends by itself, and not well."""
        if one.alive:
            self.tell(f"the agent of {one.order.session} (attempt {one.order.attempt}) ends by itself: exit status 1")
            one.die("exit status 1")
            self._died(one.order.session)

    def forget(self, session: str) -> None:
        """The agent loses its newest conversation."""
        for token in self._tokens(session)[-1:]:
            self.conversations.pop(token, None)

    def damage(self, session: str) -> None:
        """The agent's record loses its oldest turn."""
        for token in self._tokens(session)[-1:]:
            found = self.conversations.get(token)
            if isinstance(found, Memory) and found.turns:
                del found.turns[0]

    def _tokens(self, session: str) -> list[str]:
        return [token for (name, _), token in self.opened.items() if name == session]

    def ending(self, one: FakeAttempt) -> None:
        """The agent is asked to end, and does in a moment."""
        self.time.later(self.random.choice((0.005, 0.1)), lambda: self._end(one))

    def _end(self, one: FakeAttempt) -> None:
        if one.alive:
            one.die(f"stopped ({one.stop_reason})", by_us=True)
            self._died(one.order.session)

    def _died(self, session: str) -> None:
        self.died_at[session] = self.time.now
        for key, turn in list(self.turns.items()):
            if not turn.one.alive:
                del self.turns[key]
                if turn.one.how is not None and not turn.one.how.by_us:
                    self.cut_off.add(key)
        for asked in self.asked:
            if asked.session == session and not self._is_alive(session, asked.attempt):
                asked.is_open = False
        for (name, _), one in self.attempts.items():
            if name == session and not one.alive and one.ended is None:
                self.time.later(0.3, partial(_swept, one))

    def _is_alive(self, session: str, attempt: int) -> bool:
        found = self.attempts.get((session, attempt))
        return found is not None and found.alive


def _swept(one: FakeAttempt) -> None:
    if one.ended is None:
        one.sweep()
