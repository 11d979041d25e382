"""One story: a world, its daemons and its clients, and the actions that happen to them, one after the other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, cast

from rekindle.app.requests import BeginRequest, FeatureResumeRequest, PlanRequest, ResumeRequest
from rekindle.core.session.plan import wants_agent
from tests.fakes.store import Disk
from tests.simulate.actions import CLIENTS, SESSIONS, Action
from tests.simulate.house import AGENT, House, Request
from tests.simulate.plans import FEATURE, StoryPlan
from tests.simulate.rulebooks import ANSWERING, rules_of
from tests.simulate.virtual import VirtualTime
from tests.simulate.worktrees import SimulatedWorkspace
from tests.simulate.world import SimulatedWorld

#: A daemon whose lock somebody else holds leaves after so many seconds, if nobody has told it before.
_LEAVES = 2.0
#: So much time passes at most behind an action while the disk does not work.
_SICK = 12.0


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


class Simulation:
    """Carries out actions. What it knows of the clients is what they truly did and were told."""

    def __init__(self, seed: int) -> None:
        self.time = VirtualTime()
        self.disk = Disk()
        self.world = SimulatedWorld(self.time, Random(f"moments of {seed}"))
        self.world.record_lag = self.world.random.choice((0.0, 0.0, 0.05))
        self.world.replays_late = self.world.random.random() < 0.3
        self.world.tell = self.tell
        self.lines: list[str] = []
        self.houses: list[House] = []
        self.frozen: House | None = None
        self.clients = [Client(f"client {number + 1}") for number in range(CLIENTS)]
        self.sessions: list[str] = []
        self.prompted: dict[str, Prompted] = {}
        self.replied: list[Replied] = []
        self.permissions: dict[str, str] = {}
        self.books: dict[str, str] = {}
        self.deaths = 0
        self.ended: set[str] = set()
        self.requests: list[tuple[str, str, Request]] = []
        self.steps = 0
        self.was_overtaken = False
        self.plan: StoryPlan | None = None
        self.meddled = False
        self.resumed = 0
        self.help_number = 0
        self._number = 0

    # the daemon that serves

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

    def start_daemon(self) -> None:
        """Start a daemon."""
        self._number += 1
        self.tell(f"daemon {self._number} starts")
        self.houses.append(House(self.world, self.disk, self._number))

    def kill_houses(self) -> None:
        """No daemon is left."""
        self.deaths += len(self.houses)
        for house in self.houses:
            house.kill()
        self.houses.clear()
        self.frozen = None

    def clear_up(self) -> None:
        """A daemon that has left, or was told that another one has taken over, is no process any more."""
        for house in [one for one in self.houses if one.is_over and one is not self.frozen]:
            self.deaths += 1
            house.kill()
            self.houses.remove(house)

    # actions

    def step(self, action: Action) -> None:
        """Do it, and let the time behind it pass."""
        self.steps += 1
        self.tell(f"* {action.words}")
        getattr(self, f"do_{action.kind}")(action)
        # nothing new happens while nothing can be written down
        self.time.run(min(action.pause, _SICK) if self.world.is_full or self.world.syncs == "failing" else action.pause)
        self.clear_up()

    def _session(self, action: Action) -> str | None:
        return self.sessions[action.who % len(self.sessions)] if self.sessions else None

    def ask(self, client: Client, what: str, about: str, request: Request) -> Request:
        """Have a client ask the daemon for something."""
        client.last = request
        self.requests.append((what, about, request))
        self.house.ask(request)
        return request

    def do_begin(self, action: Action) -> None:
        policy, permission, text = action.arg.split(" ", 2)
        self.begin(action, text, policy, permission)

    def do_begin_ruled(self, action: Action) -> None:
        book, _, text = action.arg.partition(" ")
        self.begin(action, text, "ask", "ask", book)

    def begin(self, action: Action, text: str, policy: str, permission: str, book: str = "") -> None:
        """A client begins a session, with the rules of a runbook perhaps."""
        if len(self.sessions) >= SESSIONS:
            return
        session = f"{len(self.sessions) + 1:010x}"
        self.books[session] = book
        prompt = text.partition(":")[0]
        self.sessions.append(session)
        self.permissions[session] = permission if book not in ANSWERING else "by rule"
        self.prompted[prompt] = Prompted(session, prompt, text)
        asked = BeginRequest(
            session=session,
            prompt_id=prompt,
            agent=AGENT,
            cwd="/",
            prompt=text,
            env={},
            policy=policy,
            permission=permission,
            rules=rules_of(book) if book else None,
            rules_source=f"{book}.toml" if book else "",
        )
        client = self.clients[action.client]
        self.ask(client, "begin", prompt, Request("begin", lambda house: house.beginnings.run(asked)))

    def do_send(self, action: Action) -> None:
        session = self._session(action)
        if session is not None:
            self.send(self.clients[action.client], session, action.arg)

    def send(self, client: Client, session: str, text: str) -> Request:
        """A client sends a prompt under an id of its own."""
        prompt = text.partition(":")[0]
        self.prompted[prompt] = Prompted(session, prompt, text)
        request = Request("send", lambda house: house.service.send(session, text, prompt))
        return self.ask(client, "send", prompt, request)

    def do_again(self, action: Action) -> None:
        client = self.clients[action.client]
        before = client.last
        found = next((one for one in self.requests if one[2] is before), None)
        if before is not None and found is not None:
            self.ask(client, found[0], found[1], Request(before.what, before.ask))

    def do_look(self, action: Action) -> None:
        self.look(self.clients[action.client])

    def look(self, client: Client) -> None:
        """Have a client look at the open questions."""

        async def shown(house: House) -> None:
            client.screen = (await house.questions.open()).questions

        self.house.ask(Request("look", shown))

    def do_answer(self, action: Action) -> None:
        client = self.clients[action.client]
        if client.screen:
            self.answer(client, client.screen[action.who % len(client.screen)], action.arg)

    def answer(self, client: Client, question: dict[str, Any], option: str) -> None:
        """A client answers a question that it sees."""
        name = str(question["id"])
        self.replied.append(Replied(str(question["title"]), option, name))
        request = Request("answer", lambda house: house.questions.answer(name, option, by=client.name))
        self.ask(client, "answer", name, request)

    def do_cancel(self, action: Action) -> None:
        if (session := self._session(action)) is not None:
            request = Request("cancel", lambda house: house.service.cancel(session))
            self.ask(self.clients[action.client], "cancel", session, request)

    def do_stop(self, action: Action) -> None:
        if (session := self._session(action)) is None:
            return
        to = cast(Literal["asleep", "cancelled", "completed"], action.arg)
        if to != "asleep":
            self.ended.add(session)
        client = self.clients[action.client]
        request = Request("stop", lambda house: house.service.stop(session, to=to, by=client.name))
        self.ask(client, "stop", session, request)

    def do_resume(self, action: Action) -> None:
        if (session := self._session(action)) is not None:
            self.resume(self.clients[action.client], session, kill=bool(action.arg))

    def resume(self, client: Client, session: str, *, kill: bool = False) -> Request:
        """A client brings a session back."""
        asked = ResumeRequest(session=session, by=client.name, kill=kill)
        return self.ask(client, "resume", session, Request("resume", lambda house: house.service.resume(asked)))

    def do_resume_all(self, action: Action) -> None:
        client = self.clients[action.client]
        request = Request("resume all", lambda house: house.service.resume_all(by=client.name))
        self.ask(client, "resume_all", "", request)

    def _kill(self, action: Action, how: str) -> None:
        if (session := self._session(action)) is not None:
            self.world.kill(session, how)

    def do_kill_agent(self, action: Action) -> None:
        self._kill(action, "killed by SIGKILL")

    def do_kill_keeper(self, action: Action) -> None:
        self._kill(action, "its keeper was killed")

    def do_kill_guard(self, action: Action) -> None:
        self._kill(action, "its guard and keeper were killed")

    def do_kill_daemon(self, _action: Action) -> None:
        if self.houses and self.houses[-1] is not self.frozen:
            self.deaths += 1
            self.houses.pop().kill()

    def do_restart_daemon(self, _action: Action) -> None:
        if (house := self.served) is not None:
            house.stop()
            self.time.run(5.0)
            self.clear_up()
        self.do_kill_daemon(_action)
        self.start_daemon()

    def do_freeze_daemon(self, _action: Action) -> None:
        if self.frozen is None and (house := self.served) is not None:
            self.frozen = house
            self.deaths += 1
            house.loop.is_frozen = True
            self.start_daemon()

    def do_thaw_daemon(self, _action: Action) -> None:
        """A daemon that goes on finds that another one has taken over; where none has, it is ended."""
        if self.frozen is None:
            return
        house, self.frozen = self.frozen, None
        self.houses.remove(house)
        if self.served is None or not self._is_overtaken(house):
            house.kill()
            return
        self.was_overtaken = True
        house.loop.is_frozen = False
        house.loop.call_later(_LEAVES, house.stop)
        self.houses.insert(0, house)

    def _is_overtaken(self, house: House) -> bool:
        """Whether its successor speaks for every agent that it spoke for. Else the daemon's lock has to end it.

        No fence stops one that is just about to start an agent or to begin a session, nor one that has a request to
        answer: it reads what its successor wrote. One that drives a feature has that feature's lock.
        """
        stored, live = self.disk.content.sessions, [one for one in house.engine.at_hand() if one.is_up]
        asked = any(one.state == "waiting" for one in house.requests) or house.features.is_busy
        starts = any(wants_agent(one) for one in house.engine.at_hand() if not one.is_up)
        starts |= any(one.attempt is not None and one.attempt.status == "launching" for one in live)
        return not asked and not starts and all(stored[one.id][0] > one.generation for one in live)

    def do_reboot(self, _action: Action) -> None:
        self.kill_houses()
        for session in list(dict.fromkeys(name for name, _ in self.world.attempts)):
            self.world.kill(session, "its guard and keeper were killed")

    def do_fill_disk(self, _action: Action) -> None:
        self.world.is_full = True
        self.world.worktrees.set_full(True)

    def do_free_disk(self, _action: Action) -> None:
        self.world.is_full = False
        self.world.worktrees.set_full(False)

    def do_sync(self, action: Action) -> None:
        self.world.syncs = action.arg

    def do_hide_program(self, _action: Action) -> None:
        self.world.obstacle = "the program is not there"

    def do_show_program(self, _action: Action) -> None:
        self.world.obstacle = None

    def do_spoil_start(self, _action: Action) -> None:
        self.world.failing_starts += 1

    def do_set_clock(self, action: Action) -> None:
        self.world.jumped += float(action.arg)

    def do_forget(self, action: Action) -> None:
        if (session := self._session(action)) is not None:
            self.world.forget(session)

    def do_damage(self, action: Action) -> None:
        if (session := self._session(action)) is not None:
            self.world.damage(session)

    def do_model(self, action: Action) -> None:
        kind, _, seconds = action.arg.partition(" ")
        self.world.model = None if kind == "well" else (kind, float(seconds))

    def do_wait(self, _action: Action) -> None:
        pass

    # features

    def do_plan(self, action: Action) -> None:
        self.world.has_plans = True
        self.plan = self.plan or StoryPlan.of(action.arg)  # whoever runs one later runs the same one again
        asked = PlanRequest(cwd="/repo", plan=self.plan.toml(), name="plan.toml", env={}, permission="ask")
        request = Request("plan", lambda house: house.features.begin(asked))
        self.ask(self.clients[action.client], "plan", "", request)

    def do_plan_resume(self, action: Action) -> None:
        self.resume_plan(self.clients[action.client], action.arg)

    def do_plan_twice(self, action: Action) -> None:
        for client in self.clients:
            self.resume_plan(client, action.arg)

    def resume_plan(self, client: Client, choice: str, *, with_plan: bool = False) -> Request:
        """A client resumes the feature, with an answer to what that may ask, and with the plan file if that is lost."""
        told = cast(Literal["A", "B", "C"], choice) if choice else None
        words = "do it well" if choice == "C" else ""
        plan = self.plan.toml() if with_plan and self.plan is not None else None
        asked = FeatureResumeRequest(
            cwd="/repo", feature=FEATURE, env={}, choice=told, instructions=words, plan=plan, name="plan.toml"
        )
        request = Request("plan_resume", lambda house: house.features.resume(asked))
        return self.ask(client, "plan_resume", choice, request)

    def reader(self) -> SimulatedWorkspace:
        """The repository, as somebody at a terminal opens it."""
        return SimulatedWorkspace(self.world.worktrees, 0)

    def do_plan_stop(self, action: Action) -> None:
        request = Request("plan_stop", lambda house: house.features.stop(cwd="/repo", feature=FEATURE))
        self.ask(self.clients[action.client], "plan_stop", "", request)

    def do_meddle(self, action: Action) -> None:
        self.meddled = True
        self.world.worktrees.meddle(action.arg, action.who)

    def do_kill_task(self, action: Action) -> None:
        live = [name for (name, _), one in self.world.attempts.items() if one.alive and name not in self.sessions]
        if live:
            self.world.kill(live[action.who % len(live)])

    def do_post(self, action: Action) -> None:
        self.world.post_seconds = 20.0 if action.arg == "late" else 0.0

    # for the story

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


def heal(simulation: Simulation) -> None:
    """Everything that is broken in the world is mended."""
    world = simulation.world
    world.worktrees.set_full(False)
    world.post_seconds = 0.0
    world.is_full, world.syncs, world.obstacle, world.model, world.failing_starts = False, "fast", None, None, 0
    if simulation.frozen is not None:
        simulation.do_thaw_daemon(Action("thaw_daemon"))
