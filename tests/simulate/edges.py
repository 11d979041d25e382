"""The other edges of a simulated daemon: a store on a disk that may be full or fail, and a place to work.

They stand on the fakes that the conformance suites hold to the ports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.session.facts import AnyFact, Created
from rekindle.core.session.state import Session
from rekindle.ports.feature import CommandDone
from rekindle.ports.identity import KnownRepository
from rekindle.ports.store import Recorded, StaleGeneration, StoreChange, StoreError
from rekindle.ports.teams import TeamVerdict
from rekindle.ports.workspace import Checkout
from rekindle.ports.worktrees import SessionWorktree
from tests.fakes.conversations import FakeAttempt as KeptAttempt
from tests.fakes.conversations import FakeConversation, FakeConversations
from tests.fakes.store import Disk, FakeStore
from tests.fakes.workplace import FakeWorkplace
from tests.simulate.world import SimulatedWorld

#: How long the store takes for anything, by how fast the disk is.
_SECONDS = {"fast": 0.0005, "slow": 0.4, "failing": 0.001}
_GATE_SECONDS = 8.0
NO_ROOM = "the disk is full"


class SimulatedStore(FakeStore):
    """The store of one daemon on the machine's disk."""

    def __init__(self, world: SimulatedWorld, disk: Disk) -> None:
        super().__init__(disk)
        self._world = world
        self._facts = disk.content.facts

    def seconds(self) -> float:
        """How long the disk takes just now."""
        return _SECONDS[self._world.syncs]

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        if self._world.is_full:
            raise StoreError(NO_ROOM, "make room", code="disk_full")
        if self._world.syncs == "failing":
            self._world.failed_syncs += 1
            if self._world.failed_syncs % 2:  # nobody knows whether it was made
                self._commit(changes)
            raise StoreError("the disk does not answer", "look at the disk")
        return self._commit(changes)

    def _commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        made = super().commit(changes)
        recorded = self._world.recorded
        recorded += [self._world.time.now] * (len(self._facts) - len(recorded))
        return made


class SimulatedPlace(FakeWorkplace):
    """Where agents work. What was said is read from the spools in the world."""

    def __init__(self, world: SimulatedWorld) -> None:
        super().__init__()
        self._world = world

    def _read(self, session: Session, attempts: Collection[int] | None) -> list[ConversationEntry]:
        conversations = FakeConversations(session.agent)
        conversations.sessions[session.id] = self._kept(session.id)
        return conversations.read(session.id, attempts)

    def _kept(self, session: str) -> dict[int, KeptAttempt]:
        return {
            number: KeptAttempt(one.records, one.out, one.ended.how if one.ended is not None else None)
            for (name, number), one in sorted(self._world.attempts.items())
            if name == session
        }

    async def run_gate(self, session: Session, words: Sequence[str]) -> CommandDone:
        """`true` passes; a gate takes a while, so that a daemon can be killed meanwhile."""
        self._world.tell(f"the gate of {session.id} runs: {' '.join(words)}")
        gate = session.gate.id if session.gate is not None else ""
        self._world.gates.setdefault((session.id, gate), []).append(self._world.time.now)
        await asyncio.sleep(_GATE_SECONDS)
        return await super().run_gate(session, words)

    def read(self, session: str, attempts: Collection[int] | None = None) -> list[ConversationEntry]:
        """See `rekindle.ports.conversations.Conversations`: a reviewer's verdict is read from the spools too."""
        conversations = FakeConversations("scripted")
        conversations.sessions[session] = self._kept(session)
        return conversations.read(session, attempts)

    def follow(self, session: str, attempts: Collection[int] | None = None) -> FakeConversation:
        raise NotImplementedError

    def is_in_terminal(self, session: str) -> bool:
        return False

    # the port of those who begin sessions

    def prepare(self, created: Created, env: dict[str, str]) -> None:
        self.spools.setdefault(created.session, {})
        if self._world.is_full:
            raise OSError(28, NO_ROOM)

    def take_over(self, session: str, staged: str, env: dict[str, str]) -> list[AnyFact]:
        raise NotImplementedError

    def change_environment(self, session: Session, env: dict[str, str]) -> None:
        pass

    def note_place(self, session: Session) -> None:
        pass


class OneFolder:
    """Sessions work in the folder that they are begun in, and none in a terminal."""

    def around(self, cwd: str) -> SessionWorktree:
        return SessionWorktree(cwd)

    def make(self, cwd: str, name: str, folder: str | None = None) -> SessionWorktree:
        raise NotImplementedError

    def require(self) -> None:
        raise NotImplementedError

    def is_open(self, session: str) -> bool:
        return False

    def screen(self, session: str, *, history: int = 0) -> str:
        return ""

    def attach(self, session: str) -> tuple[str, ...]:
        return ()


class OneRepository:
    """The only repository there is."""

    ID = "repository"

    def find(self, repo: Checkout) -> KnownRepository | None:
        return None

    def ensure(self, repo: Checkout, remembered: str | None = None) -> str:
        return self.ID

    def by_path(self, repo: Checkout) -> str:
        return self.ID

    def holds(self, repo: Checkout, worktree: str) -> bool:
        return True

    def put_right(self, repo: Checkout, found: KnownRepository, state_dir: str, progress: str) -> None:
        raise NotImplementedError

    def settle(self, repo: Checkout, found: KnownRepository) -> None:
        raise NotImplementedError


class NoTeams:
    """Nobody has a home, and so nobody has a team."""

    def look(self, home: str, team: str, needed: Sequence[str]) -> TeamVerdict:
        raise NotImplementedError

    def ensure(self, home: str, team: str, agents: Mapping[str, str], tasks: Sequence[dict[str, Any]]) -> TeamVerdict:
        raise NotImplementedError
