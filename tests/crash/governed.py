"""Daemons with a governor in virtual time: killed at any point, and started again over the same store and agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from rekindle.core.governor.room import MachineReading
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS, Session
from rekindle.runtime.clock import keep_time
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.records import FakeRecords
from tests.fakes.store import Disk, PacedAccess
from tests.simulate.edges import SimulatedPlace, SimulatedStore
from tests.simulate.house import AGENT, KINDS
from tests.simulate.simulated_keepers import SimulatedKeepers
from tests.simulate.virtual import VirtualLoop, VirtualTime
from tests.simulate.world import SimulatedWorld


class Daemon:
    """One daemon. At its `dies_at`-th point (a commit, a start, a message) it is dead from one moment to the next."""

    def __init__(
        self,
        world: SimulatedWorld,
        disk: Disk,
        rules: GovernorRules,
        dies_at: int | None,
        load: Callable[[], MachineReading | None] = lambda: None,
    ) -> None:
        self._left = dies_at
        self.loop = VirtualLoop(world.time)
        self.keepers = SimulatedKeepers(world)
        store = SimulatedStore(world, disk)
        self.keepers.point = self._point  # type: ignore[method-assign, assignment]
        store.point = self._point  # type: ignore[method-assign, assignment]
        place = SimulatedPlace(world)
        for session in store.named(""):
            place.spools[session] = {}
        engine = Engine(PacedAccess(store, store.seconds), world.clock)
        self.place = place
        self.supervisor = Supervisor(
            engine,
            self.keepers,
            place,
            KINDS,
            FakeRecords(),
            pause_seconds=3.0,
            governor_rules=lambda: rules,
            load=load,
        )
        self.is_ready = asyncio.Event()
        self.loop.create_task(self._live())

    def _point(self, _name: str) -> None:
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            self.loop.is_frozen = True
            raise asyncio.CancelledError

    async def _live(self) -> None:
        await self.supervisor.start()
        self.is_ready.set()
        await asyncio.gather(keep_time(self.supervisor, 5.0), self.supervisor.governing.keep_watch(5.0))

    def kill(self) -> None:
        """kill -9."""
        self.keepers.is_dead = True
        self.loop.abandon()


class Nights:
    """A world, and as many daemons as it takes."""

    def __init__(self, rules: GovernorRules) -> None:
        self.time, self.disk, self.rules = VirtualTime(), Disk(), rules
        self.world = SimulatedWorld(self.time, Random(1))
        #: what the machine has; None: nobody can tell
        self.reading: MachineReading | None = None
        self.daemon = self.start()
        self.crashes = 0

    def start(self, dies_at: int | None = None) -> Daemon:
        """The next daemon."""
        self.daemon = Daemon(self.world, self.disk, self.rules, dies_at, lambda: self.reading)
        return self.daemon

    def run(self, seconds: float, each: Callable[[], None] = lambda: None) -> None:
        """Let time pass. A daemon that has died is followed by another."""
        for _ in range(int(seconds * 2)):
            self.time.run(0.5)
            each()
            if self.daemon.loop.is_frozen:
                self.restart()

    def restart(self, dies_at: int | None = None) -> None:
        """kill -9, and a new daemon."""
        self.daemon.kill()
        self.crashes += 1
        self.start(dies_at)

    def go_down(self, *, start: bool = True) -> None:
        """The machine goes down with all its agents, keepers and the daemon, and comes up again."""
        self.daemon.kill()
        for one in self.world.attempts.values():
            if one.alive:
                one.die("its guard and keeper were killed")
                assert one.ended is not None
                one.ended = type(one.ended)(one.ended.how, False, one.ended.delivered, one.ended.started, unseen=True)
        if start:
            self.start()

    def alive(self) -> list[str]:
        """The sessions whose agents are alive, in truth."""
        return [name for (name, _), one in self.world.attempts.items() if one.alive]

    def ask(self, work: Callable[[Daemon], Coroutine[Any, Any, Any]]) -> Any:
        """What a request answers; it is made as soon as the daemon is ready, and lives for a minute at most."""
        found: list[Any] = []

        async def asked() -> None:
            await self.daemon.is_ready.wait()
            found.append(await work(self.daemon))

        self.daemon.loop.create_task(asked())
        for _ in range(120):
            if found:
                break
            self.time.run(0.5)
        assert found, "the daemon did not answer"
        return found[0]

    def begin(
        self,
        session: str,
        policy: str = "ask",
        priority: int = 0,
        text: str = "p1: say tool say",
        *,
        of_run: bool = False,
    ) -> None:
        """Start a session with a prompt."""

        async def begun(daemon: Daemon) -> Session:
            daemon.place.spools[session] = {}
            at = self.world.clock()
            limits = f.Limits(priority=priority)
            made = f.Created(at=at, session=session, agent=AGENT, cwd="/w", policy=policy, limits=limits, of_run=of_run)
            await daemon.supervisor.engine.create(made)
            return await daemon.supervisor.record(session, f.PromptQueued(at=at, prompt="p1", text=text))

        self.ask(begun)

    def facts(self, kind: type[f.Fact]) -> list[tuple[str, Any]]:
        """What was recorded about sessions, in order."""
        store = SimulatedStore(self.world, self.disk)
        return [(one.subject, one.fact) for one in store.facts(limit=1_000_000) if isinstance(one.fact, kind)]

    def sessions(self) -> list[Session]:
        """All sessions as they are stored."""
        return SimulatedStore(self.world, self.disk).sessions()

    def returns(self) -> list[tuple[float, str]]:
        """When prompts of rekindle's own were sent, and to which session."""
        own = {(name, fact.prompt) for name, fact in self.facts(f.PromptQueued) if fact.by == OURS}
        return [(fact.at, name) for name, fact in self.facts(f.PromptSent) if (name, fact.prompt) in own]
