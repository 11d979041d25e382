"""What can be asked of the daemon, as methods with plain values. The socket (and later HTTP) is built on this."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.terminal import typeable
from rekindle.app import session_view
from rekindle.app.governance import Governance, GovernorView
from rekindle.app.kept_views import KeptViews
from rekindle.app.owning import owned, refuse_owned
from rekindle.app.requests import ResumeRequest
from rekindle.app.resumed import NO_ROOM, LeftAlone, ResumedAll
from rekindle.app.runbooks import new_rules
from rekindle.app.sending import sent_to
from rekindle.app.session_names import meant
from rekindle.app.session_view import BroughtBack, SentPrompt, SessionView, WaitedFor, WholeSession, more
from rekindle.app.stopping import END_SECONDS, NotStopped, StoppedAll, still_there
from rekindle.core.governor.places import in_line
from rekindle.core.session import facts as f
from rekindle.core.session.activity import (
    has_come_by_itself,
    has_come_up,
    is_sent,
    rests,
    why_skipped,
    works,
)
from rekindle.core.session.choices import PERMISSIONS
from rekindle.core.session.limits import reached
from rekindle.core.session.prompt_ids import why_not_id
from rekindle.core.session.proving import PROOF_SECONDS, may_change
from rekindle.core.session.starting import has_failed_to_start, has_stalled
from rekindle.core.session.state import Session, State
from rekindle.core.streams import SESSION, as_data
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.ports.skills import SupervisedSkill, SupervisedSkills
from rekindle.ports.store import Recorded, StoreAccess
from rekindle.ports.workplace import SessionPlaces
from rekindle.runtime.supervisor import Supervisor

#: How long to wait for the delivery of a prompt to a dead session before telling its sender that it is still queued.
DELIVERY_SECONDS = 90.0
#: How long to wait for the exit record of an agent that just died.
SETTLE_SECONDS = 20.0
#: How often to check whether what is waited for can still happen.
_LOOK_SECONDS = 1.0


Ending = Literal["asleep", "cancelled", "completed"]


class ListedSessions(msgspec.Struct, frozen=True):
    """All sessions in short, and what spans them. `host` is the name of this one, in a fleet."""

    sessions: list[SessionView]
    governor: GovernorView
    host: str | msgspec.UnsetType = msgspec.UNSET


class FactFeed(msgspec.Struct, frozen=True):
    """Facts of all sessions, each with its place in the sequence, its session and its own fields."""

    facts: list[dict[str, Any]]


class Service:
    """The daemon's operations. Raises RekindleError."""

    def __init__(
        self,
        supervisor: Supervisor,
        store: StoreAccess,
        kinds: Mapping[str, AgentKind],
        *,
        places: SessionPlaces,
        stopped_keeper: Callable[[str, int], int | None] = lambda _session, _attempt: None,
        skills: SupervisedSkills | None = None,
    ) -> None:
        self._skills = skills
        self._stopped_keeper = stopped_keeper
        self._places = places
        self._kinds = kinds
        self._supervisor = supervisor
        self._engine = supervisor.engine
        self._store = store
        self._changed: dict[str, asyncio.Event] = {}
        self._resuming: set[str] = set()
        self._views = KeptViews(self.shown, supervisor.is_followed)
        self._engine.listeners.append(self._notify)
        self.governance = Governance(supervisor)

    async def send(self, session: str, text: str, prompt_id: str) -> SentPrompt:
        """Queue a prompt; a session without an agent gets one first. Returns when it is delivered, or after 90 s.

        The sender chooses the id, so asking again is harmless: it is the same prompt.
        """
        found = await self.find(session)
        text = typeable(text) if found.terminal else text
        if not text.strip():
            raise UsageError("there is nothing to send", "give some text")
        prompt = prompt_of(text, prompt_id, self._engine.clock())
        # A task of its own: the sender may go away, the prompt does not.
        work = asyncio.ensure_future(self._supervisor.decide(found.id, lambda now: sent_to(now, prompt)))
        await asyncio.shield(work)
        await self.until(
            found.id,
            lambda now: (
                is_sent(now, prompt.prompt) or self._has_settled(now) or works(now) or self._stopped(now) is not None
            ),
            DELIVERY_SECONDS,
        )
        now = await self._engine.load(found.id)
        newest = now.attempt
        is_new = newest is not None and found.attempt is not None and newest.number > found.attempt.number
        woken = is_new and not has_failed_to_start(now)
        delivered = is_sent(now, prompt.prompt)
        stopped = None if delivered else self._stopped(now)
        return more(
            SentPrompt, self.shown(now), prompt=prompt.prompt, delivered=delivered, woken=woken, stopped_keeper=stopped
        )

    async def resume(self, asked: ResumeRequest) -> BroughtBack:
        """Bring an agent back. Fine if it came back by itself; refused, naming the owner, if it is somebody else's."""
        found = await self.find(asked.session)
        agent, model, env, native = asked.agent, asked.model, asked.env or {}, asked.native
        handover = self._handover(agent, model, env) if agent not in (None, found.agent) else None
        moves = handover is not None or native is not None
        wanted = limits_of(asked.limits, found.limits)
        over = reached(wanted, found.usage)
        if over is not None:
            raise UsageError(f"session {found.id} has reached its limit: {over}", "give a higher one: see --help")
        if found.state is State.COMPLETED:
            raise UsageError(f"session {found.id} is completed", "start a new one with `rekindle run`")
        if self._supervisor.has_just_died(found):
            await self.until(found.id, lambda now: not self._supervisor.has_just_died(now), SETTLE_SECONDS)
        elif found.is_up and asked.kill:
            await self._end(found, "asleep", asked.by)
        found = await self._engine.load(found.id)
        if found.is_up and (found.on_hold or (asked.rules is not None and not asked.limits)) and not moves:
            return await self._changed_in_place(found, asked, wanted)
        asks_for_more = moves or asked.limits or asked.rules is not None
        by_itself = has_come_by_itself(found) and not asks_for_more
        if by_itself:
            return await self._brought_back(found.id, by_itself=True)
        if found.id in self._resuming:
            raise owned(found)
        refuse_owned(found)
        if handover is not None:
            native = self._kinds[handover.agent].native
            try:
                self._places.change_environment(found, env)
            except OSError as error:
                raise RekindleError(f"its environment could not be saved ({error.strerror})", "make room") from error
        changed = new_rules(asked, found, self._engine.clock())
        wish = f.ResumeAsked(at=self._engine.clock(), by=asked.by, limits=wanted, native=native, handover=handover)

        def wished(now: Session) -> list[f.AnyFact]:
            nonlocal by_itself  # its policy may have been faster, or a prompt
            by_itself = has_come_by_itself(now) and not asks_for_more
            if by_itself:
                return []
            refuse_owned(now)
            held = [f.HoldAsked(at=wish.at, by=asked.by)] if asked.hold else []
            return [*changed, wish, *held]

        self._resuming.add(found.id)
        work = asyncio.ensure_future(self._supervisor.decide(found.id, wished))
        work.add_done_callback(lambda _: self._resuming.discard(found.id))
        await asyncio.shield(work)
        return await self._brought_back(found.id, by_itself=by_itself)

    async def _changed_in_place(self, session: Session, asked: ResumeRequest, limits: f.Limits) -> BroughtBack:
        """Lift a hold and give new rules; the agent is there, and needs no restart for that."""
        now = self._engine.clock()
        facts = new_rules(asked, session, now, limits)
        facts += [f.HoldLifted(at=now, by=asked.by)] if session.on_hold else []
        view = self.shown(await self._supervisor.record(session.id, *facts))
        return more(BroughtBack, view, by_itself=False, skill=await self._skill(session.id))

    async def _brought_back(self, session: str, *, by_itself: bool) -> BroughtBack:
        """The result of a start, once there is one."""
        clock = self._engine.clock
        await self.until(session, lambda now: has_come_up(now, clock()) or now.load_at is not None, DELIVERY_SECONDS)
        await self.until(session, lambda now: not may_change(now), PROOF_SECONDS)
        view = self.shown(await self._engine.load(session))
        return more(BroughtBack, view, by_itself=by_itself, skill=await self._skill(session))

    async def resume_all(self, *, by: str, kill: bool = False, apart: Sequence[str] = ()) -> ResumedAll:
        """Bring back every agent that ended without being asked to, except in `apart`. Some may wait for their turn."""
        resumed: list[str] = []
        skipped: list[LeftAlone] = []
        failed: list[LeftAlone] = []
        for session in await self._engine.all_sessions():
            alive = self._supervisor.is_alive(session.id)
            taken = session.feature is not None and any(_is_inside(session.worktree, folder) for folder in apart)
            reason = why_skipped(session, alive=alive, kill=kill, of_a_run=taken)
            if reason is not None:
                over = session.state in (State.COMPLETED, State.CANCELLED)
                skipped.append(LeftAlone(session.id, reason, is_over=over))
                continue
            if not self._supervisor.governing.placing.has_room and not session.over and not session.is_up:
                await self._supervisor.decide(session.id, lambda now: in_line(now, self._engine.clock()))
                skipped.append(LeftAlone(session.id, NO_ROOM))
                continue
            try:
                told = await self.resume(ResumeRequest(session=session.id, by=by, kill=kill))
            except OwnedError as error:
                skipped.append(LeftAlone(session.id, error.message))
            except RekindleError as error:
                failed.append(LeftAlone(session.id, error.message))
            else:
                if told.is_back:
                    resumed.append(session.id)
                else:
                    failed.append(LeftAlone(session.id, told.why or told.status))
        return ResumedAll(resumed, skipped, failed)

    async def stop(self, session: str, *, to: Ending, by: str) -> SessionView:
        """End a session's agent and its whole tree."""
        found = await self.find(session)
        await self._end(found, to, by)
        return self.shown(await self._engine.load(found.id))

    async def stop_all(self, *, to: Ending, by: str) -> StoppedAll:
        """End every agent, also those that wait for their turn. If one does not end, the others are still reported."""
        line = {one.session for one in self._supervisor.governing.placing.census().waiting}
        live = [session.id for session in self._engine.at_hand() if session.is_up or session.id in line]
        failures = await asyncio.gather(*(self._not_stopped(session, to, by) for session in live))
        failed = [one for one in failures if one is not None]
        return StoppedAll([name for name, one in zip(live, failures, strict=True) if one is None], failed)

    async def _not_stopped(self, session: str, to: Ending, by: str) -> NotStopped | None:
        """End an agent; returns why if it did not end."""
        try:
            await self._end(await self._engine.load(session), to, by)
        except RekindleError as error:
            return NotStopped(session, error.message, error.hint)
        return None

    async def cancel(self, session: str) -> SessionView:
        """End the turn that is running, and nothing else."""
        found = await self.find(session)
        turn = found.turn
        if turn is None or not found.is_up:
            raise UsageError(f"session {found.id} has no turn running", "see `rekindle ps`")
        asked = f.CancelAsked(at=self._engine.clock(), prompt=turn.id)
        return self.shown(await self._supervisor.decide_quietly(found.id, lambda _now: [asked]))

    async def list_sessions(self) -> ListedSessions:
        """All sessions in short."""
        governor = await self.governance.governor()
        return ListedSessions(self._views.of(await self._engine.all_sessions()), governor)

    async def show(self, session: str) -> WholeSession:
        """One session with everything."""
        found = await self.find(session)
        return more(WholeSession, self.shown(found), session=found, skill=await self._skill(found.id))

    async def _skill(self, session: str) -> SupervisedSkill | None:
        """The skill session that the agent works in, if there is one."""
        return await asyncio.to_thread(self._skills.of, session) if self._skills is not None else None

    async def wait(self, session: str, seconds: float) -> WaitedFor:
        """Return when the session is at rest: nothing runs and nothing is queued, or it asks, or it is gone.

        By then, what its last turn proves about a resume is known, as far as possible.
        """
        found = await self.find(session)
        rested = await self.until(found.id, self._has_settled, seconds)
        return more(WaitedFor, self.shown(await self._engine.load(found.id)), rested=rested)

    def _has_settled(self, session: Session) -> bool:
        """Whether nobody should wait for it any longer."""
        return rests(session) or has_stalled(session, self._engine.clock()) or self.governance.is_stopped(session)

    async def feed(self, after: int, limit: int, session: str | None = None) -> FactFeed:
        """Facts of all sessions, or of one, after a sequence number."""
        facts = await self._store.ask(lambda store: store.facts(SESSION.kind, session, after=after, limit=limit))
        return FactFeed([{"seq": one.seq, "session": one.subject, **as_data(one.fact)} for one in facts])

    async def last_seq(self) -> int:
        """The place of the newest fact of all sessions; 0 if there is none."""
        found = await self._store.ask(lambda store: store.facts(SESSION.kind, limit=1, newest=True))
        return found[0].seq if found else 0

    async def next_fact(self) -> None:
        """Wait until anything changes."""
        event = self._changed.setdefault("*", asyncio.Event())
        event.clear()
        await event.wait()

    async def find(self, prefix: str) -> Session:
        """The session that an id, or the beginning of one, means."""
        return await self._engine.load(meant(await self._engine.named(prefix), prefix))

    def shown(self, session: Session) -> SessionView:
        """A session as every answer shows it."""
        # It is followed for a moment more when its end is on record.
        alive = session.is_up and self._supervisor.is_followed(session.id)
        seen = self._supervisor.seen_seconds_ago(session.id) if session.is_up and not alive else None
        view = session_view.shown(session, self._engine.clock(), alive=alive, seen_seconds_ago=seen)
        return self.governance.governed(session, view)

    async def until(self, session: str, done: Callable[[Session], bool], seconds: float) -> bool:
        """Wait until a session is as wanted; False if the time runs out first."""
        deadline = asyncio.get_running_loop().time() + seconds
        event = self._changed.setdefault(session, asyncio.Event())
        while not done(await self._engine.load(session)):
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            event.clear()
            if done(await self._engine.load(session)):
                return True
            try:
                async with asyncio.timeout(min(left, _LOOK_SECONDS)):
                    await event.wait()
            except TimeoutError:
                continue  # what is waited for may not be a change of the session
        return True

    def _handover(self, agent: str | None, model: str | None, env: dict[str, str]) -> f.Handover:
        kind = usable(self._kinds, agent or "", [])
        return f.Handover(kind.name, model or kind.model(env))

    async def _end(self, session: Session, to: Ending, by: str) -> None:
        """Raises RekindleError if the agent has not ended in time."""
        await self._supervisor.record(session.id, f.StopAsked(at=self._engine.clock(), by=by, to=to))
        await self.until(session.id, lambda now: not now.is_up or self._stopped(now) is not None, END_SECONDS)
        now = await self._engine.load(session.id)
        if (error := still_there(now, self._stopped(now))) is not None:
            raise error

    def _stopped(self, session: Session) -> int | None:
        attempt = session.attempt
        return self._stopped_keeper(session.id, attempt.number) if attempt is not None and session.is_up else None

    def _notify(self, session: Session, _recorded: Sequence[Recorded]) -> None:
        for name in (session.id, "*"):
            event = self._changed.get(name)
            if event is not None:
                event.set()


def usable(kinds: Mapping[str, AgentKind], agent: str, arguments: list[str]) -> AgentKind:
    """The requested kind of agent, if it can be run with these arguments. Raises UsageError."""
    if agent not in kinds:
        raise UsageError(f"there is no agent {agent!r}", f"there are: {', '.join(kinds)}")
    kind = kinds[agent]
    refused = kind.refused(tuple(arguments))
    if refused is not None:
        raise UsageError(f"{refused} can't be passed to {kind.title}", "leave it out: rekindle sets it")
    return kind


def prompt_of(text: str, given: str, at: float) -> f.PromptQueued:
    """A prompt with the id that its sender chose before the first try."""
    if (problem := why_not_id(given)) is not None:
        raise UsageError(f"{given!r} is not a valid prompt id: it {problem}", "use letters, digits and dashes")
    return f.PromptQueued(at=at, prompt=given, text=text)


def check_permission(mode: str) -> None:
    """Raise UsageError for an unknown way of answering an agent's requests."""
    if mode not in PERMISSIONS:
        raise UsageError(f"{mode!r} is not a permission mode", f"it is one of: {', '.join(PERMISSIONS)}")


def limits_of(given: dict[str, Any] | None, before: f.Limits) -> f.Limits:
    """Limits as requested; those not named stay as they were."""
    if not given:
        return before
    try:
        return msgspec.convert({**msgspec.to_builtins(before), **given}, f.Limits)
    except msgspec.ValidationError as error:
        raise UsageError(f"a limit is wrong: {error}", "limits are numbers") from error


def _is_inside(path: str | None, folder: str) -> bool:
    return path is not None and os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
