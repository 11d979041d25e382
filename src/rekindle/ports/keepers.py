"""Agent processes as the supervisor sees them: started, spoken to, followed and ended through their keepers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from rekindle.agents.base.exchange import SpooledMessage
from rekindle.ports.errors import RekindleError
from rekindle.ports.runtimes import Runtime


class KeeperLost(RekindleError):
    """Nobody answers for this attempt any more. Look at its exit before anything else."""

    code = "keeper_lost"


class ProgramMissing(RekindleError):
    """The agent's program is not there."""

    code = "program_missing"


class NoRoomToStart(RekindleError):
    """The disk has no room for an agent's output: it is not started."""

    code = "no_room"


class NoRoomForTurn(RekindleError):
    """The disk under the spool is full: no new turn is started, and nothing is lost."""

    code = "no_room"


@dataclass(frozen=True)
class AttemptOrder:
    """An attempt to be started. `terminal`: in one that a person can look at and type into.

    `until`: its agent lives until then at most, by CLOCK_BOOTTIME, unless that is renewed; 0: as long as it likes.
    """

    session: str
    attempt: int
    generation: int
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str] = field(repr=False)
    terminal: bool = False
    until: float = 0.0


@dataclass(frozen=True)
class StartedAttempt:
    """The attempt's agent is running, or has run: `follow` reports its exit, if any."""

    folder: str
    pid: int


@dataclass(frozen=True)
class Ended:
    """How an attempt's tree ended. `delivered` and `started` are numbers of messages in its input spool."""

    how: str
    by_us: bool
    delivered: int
    started: int
    swept: tuple[str, ...] = ()
    truncated: int = 0
    #: nobody saw it end: its keeper ended with it
    unseen: bool = False


@dataclass(frozen=True)
class Output:
    """Bytes that the agent wrote to its standard output, up to `offset`."""

    data: bytes
    offset: int


@dataclass(frozen=True)
class Lost:
    """Somebody shortened the output spool (a tool that re-opened its standard output): how many bytes were not read."""

    bytes: int


Sent: TypeAlias = SpooledMessage


class Keepers(Runtime, Protocol):
    """A runtime whose agents can be started and spoken to.

    All methods may be called again with the same arguments after a crash, and then change nothing.
    """

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        """Start the attempt unless it runs or has run already. Raises RekindleError if it never ran.

        A session has one living tree: while another attempt of it has one, OwnedError is raised. After NoRoomToStart
        the same attempt can be started later; an attempt whose program could not be executed cannot.
        """
        ...

    def obstacle(self, order: AttemptOrder) -> str | None:
        """What is missing for a start, as far as a look can tell; None: it can be tried. Starts nothing."""
        ...

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        """Speak for the session from now on. False if nobody answers any more.

        Raises StaleGeneration if a higher generation has connected before; then nothing changes. From now on `send` and
        `end` of all lower generations, and of callers that never connected, raise it too.
        """
        ...

    async def send(self, session: str, attempt: int, message: str, payload: bytes) -> int:
        """Put a message into the input spool (on disk when this returns) and return its number, counted from 1.

        An id that is in the spool gets its number again, and nothing is added; an id always means the same payload.
        Raises KeeperLost if nobody takes it: the agent is dead or is being ended. NoRoomForTurn: nothing was added.
        """
        ...

    async def end(self, session: str, attempt: int, reason: str) -> None:
        """Begin to end the attempt's whole tree, with grace. Does nothing if none is left."""
        ...

    async def renew(self, session: str, attempt: int, until: float) -> None:
        """Let the agent live until then. It never has to end sooner than it was told before.

        Raises KeeperLost if that comes too late, if nobody answers, or if the attempt was started without a time.
        """
        ...

    def sent(self, session: str, attempt: int) -> Iterator[Sent]:
        """What the input spool holds."""
        ...

    def heard(self, session: str, attempt: int) -> bytes:
        """All that the agent has written so far."""
        ...

    def heard_at(self, session: str, attempt: int) -> float | None:
        """When the agent last wrote something, by the wall clock; None: it has written nothing, or nobody knows."""
        ...

    def follow(self, session: str, attempt: int, offset: int) -> AsyncIterator[Output | Lost | Ended]:
        """What the agent writes, from `offset` on, and last how it ended, once its tree is gone and its lock free."""
        ...

    def look(self, session: str, attempt: int) -> Literal["absent", "alive", "ending", "gone"]:
        """A quick look at an attempt, without waiting. Ending: the agent is dead, and its leftovers are being ended."""
        ...
