"""The stage of a story: a world, its daemons and its clients, and what is known of what they truly did.

What can be done on it is in the classes that stand on this one: `client_actions`, `machine_actions`, `plan_actions`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rekindle.core.governor.rules import GovernorRules
from rekindle.core.job.order import JobOrder
from tests.fakes.store import Disk
from tests.simulate.actions import CLIENTS, Action
from tests.simulate.house import House, Request
from tests.simulate.plans import StoryPlan
from tests.simulate.virtual import VirtualTime
from tests.simulate.world import SimulatedWorld

#: A daemon notices within so many seconds that the clock was set, unless it is killed before.
_NOTICED = 15.0


@dataclass
class Client:
    """Somebody at a terminal. `screen`: the questions as they were shown last."""

    name: str
    last: Request | None = None
    screen: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Prompted:
    """A prompt that a client has sent. It is acknowledged once a request for it was answered."""

    session: str
    prompt: str
    text: str


@dataclass(frozen=True)
class Replied:
    """An answer that a client has given, and the question that it had on its screen."""

    title: str
    option: str
    question: str
    by: str
    request: Request


def governor_rules(seed: int) -> GovernorRules:
    """What the user of a story has set for all sessions together."""
    random = Random(f"rules of {seed}")
    return GovernorRules(restarts=random.choice((None, 2, 2, 5, 20)), returns_per_minute=random.choice((1, 2, 6)))


class Stage:
    """What it knows of the clients is what they truly did and were told."""

    def __init__(self, seed: int) -> None:
        self.time = VirtualTime()
        self.disk = Disk()
        self.world = SimulatedWorld(self.time, Random(f"moments of {seed}"))
        self.world.record_lag = self.world.random.choice((0.0, 0.0, 0.05))
        self.world.replays_late = self.world.random.random() < 0.3
        self.world.tell = self.tell
        self.world.governor_rules = governor_rules(seed)
        self.lines: list[str] = []
        self.houses: list[House] = []
        self.frozen: House | None = None
        self.clients = [Client(f"client {number + 1}") for number in range(CLIENTS)]
        self.sessions: list[str] = []
        self.prompted: dict[str, Prompted] = {}
        self.replied: list[Replied] = []
        self.permissions: dict[str, str] = {}
        self.books: dict[str, str] = {}
        #: when a daemon ended, was killed or was frozen
        self.deaths: list[float] = []
        self.ended: set[str] = set()
        self.requests: list[tuple[str, str, Request]] = []
        self.steps = 0
        self.was_overtaken = False
        self.plan: StoryPlan | None = None
        self.orders: dict[str, JobOrder] = {}
        self.wants_cancelled: set[str] = set()
        self.meddled = False
        #: called before a client resumes the feature with an answer, and when the user meddles with it
        self.before_resume: Callable[[str, Request], None] = lambda _choice, _request: None
        self.on_meddling: Callable[[], None] = lambda: None
        self.resumed = 0
        self.help_number = 0
        self._number = 0

    @property
    def house(self) -> House:
        """The daemon that answers; one is started where there is none."""
        if not self.houses or self.houses[-1].is_over or self.houses[-1].number < self._number:
            self.start_daemon()
        return self.houses[-1]

    @property
    def served(self) -> House | None:
        """The daemon that answers now, if any."""
        found = self.houses[-1] if self.houses else None
        is_newest = found is not None and found.number == self._number
        return found if found is not None and is_newest and found.is_ready and not found.is_over else None

    @property
    def newest(self) -> int:
        """The number of the daemon that was started last."""
        return self._number

    def start_daemon(self) -> None:
        """Start a daemon."""
        self._number += 1
        self.tell(f"daemon {self._number} starts")
        self.houses.append(House(self.world, self.disk, self._number))

    def kill_houses(self) -> None:
        """No daemon is left."""
        for house in self.houses:
            self.note_death()
            house.kill()
        self.houses.clear()
        self.frozen = None

    def note_death(self) -> None:
        """A daemon is no more, or will not act again. The next one cannot know what this one had no time to notice."""
        self.deaths.append(self.time.now)
        has_no_disk = self.world.is_full or self.world.syncs == "failing"
        is_unwritten = self.world.was_set_forward and has_no_disk  # it may have noticed, and could not write it down
        self.world.is_ahead |= is_unwritten or self.time.now - self.world.set_forward_at < _NOTICED

    def clear_up(self) -> None:
        """A daemon that has left, or was told that another one has taken over, is no process any more."""
        for house in [one for one in self.houses if one.is_over and one is not self.frozen]:
            self.note_death()
            house.kill()
            self.houses.remove(house)

    def session_of(self, action: Action) -> str | None:
        """The session that an action means; None: there is none yet."""
        return self.sessions[action.who % len(self.sessions)] if self.sessions else None

    def ask(self, client: Client, what: str, about: str, request: Request) -> Request:
        """Have a client ask the daemon for something."""
        client.last = request
        self.requests.append((what, about, request))
        self.house.ask(request)
        return request

    def tell(self, line: str) -> None:
        """Something happened."""
        self.lines.append(f"{self.time.now:9.3f}  {line}")

    def trace(self) -> str:
        """A hash of everything that was recorded and that happened."""
        found = hashlib.sha256("\n".join(self.lines).encode())
        for one in self.disk.content.facts:
            found.update(repr(one).encode())
        for log in self.world.worktrees.shelf.logs.values():
            found.update(b"".join(log.lines))
        return found.hexdigest()
