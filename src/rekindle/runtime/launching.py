"""Starts an agent: finds out what it continues from, records that, and has a keeper start it."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Mapping

from rekindle.agents.base.kind import AgentKind, AgentStart
from rekindle.agents.base.terminal import in_terminal
from rekindle.core.effects import Launch
from rekindle.core.session import facts as f
from rekindle.core.session.plan import plan
from rekindle.core.session.starting import has_failed_to_start
from rekindle.core.session.state import Session
from rekindle.core.session.strategy import load_not_before
from rekindle.ports.errors import RekindleError, WorktreeLost
from rekindle.ports.keepers import AttemptOrder, Keepers, NoRoomToStart, ProgramMissing
from rekindle.ports.store import StaleGeneration, StoreError
from rekindle.ports.workplace import Workplace
from rekindle.runtime.comeback import Comeback
from rekindle.runtime.engine import Engine
from rekindle.runtime.leases import Leases


class Launcher:
    """Belongs to one supervisor."""

    def __init__(
        self,
        engine: Engine,
        keepers: Keepers,
        workplace: Workplace,
        kinds: Mapping[str, AgentKind],
        comeback: Comeback,
        leases: Leases | None = None,
    ) -> None:
        """`leases`: how long agents of the fleet's jobs may live here; None: there is no fleet."""
        self._leases = leases
        self._engine = engine
        self._keepers = keepers
        self._workplace = workplace
        self._kinds = kinds
        self._comeback = comeback

    def kind(self, session: Session) -> AgentKind:
        """A session's agent, as configured for that session. Raises RekindleError."""
        kind = self._kinds.get(session.agent)
        if kind is None:
            raise RekindleError(f"there is no agent {session.agent!r}", "`rekindle run --help` names them")
        if session.terminal and kind.terminal is None:
            raise RekindleError(f"{kind.title} cannot be used in a terminal", "choose another agent for this session")
        return in_terminal(kind) if session.terminal else kind

    async def launch(self, effect: Launch) -> bool:
        """Start an attempt, or record why it cannot start. False: not now, but maybe later.

        Raises StoreError if neither can be recorded.
        """
        session = self._engine.session(effect.session)
        attempt = effect.attempt
        try:
            if session.attempt is None or session.attempt.number < attempt:
                if await self._may_not_load_yet(effect):
                    return False
                for notice in await self._workplace.ready(session):
                    await self._engine.record(session.id, f.Noticed(at=self._engine.clock(), message=notice))
                intended = await self._comeback.prepare(session, attempt, self._engine.clock())
                begun = await self._engine.record_if(session.id, self._wants(effect, intended.agent), intended)
                if begun is None:
                    return False
                session = begun
            if session.stop_asked is not None and self._keepers.look(session.id, attempt) == "absent":
                await self._never_started(session.id, attempt)
                return True
            kind = self.kind(session)
            self._workplace.note_agent(session)
            await self._workplace.end_terminals(session)
            if self._is_barred(session) and self._keepers.look(session.id, attempt) == "absent":
                return False  # its lease ran out meanwhile; the next one may come
            order = self._order(session, kind)
            running = await self._keepers.launch(order)
        except (StoreError, StaleGeneration):
            raise  # a store that cannot be written says nothing about the agent
        except (RekindleError, OSError, ValueError) as error:  # some text cannot be passed to a program
            await self._failed(effect, error)
            return True
        account = kind.account.mark(order.env)
        launched = f.Launched(
            at=self._engine.clock(), attempt=attempt, folder=running.folder, pid=running.pid, account=account
        )
        await self._engine.record(session.id, launched)
        return True

    def is_put_off(self, effect: Launch) -> bool:
        """Whether what an earlier start lacked is still missing: no automatic attempt is spent on it.

        After any other failure the start itself is tried: if something is missing, that is recorded and reported.
        """
        session = self._engine.session(effect.session)
        newest = session.attempt
        if session.resume_asked is not None or newest is None or not newest.blocked or not has_failed_to_start(session):
            return False
        try:
            return self._keepers.obstacle(self._order(session, self.kind(session))) is not None
        except (RekindleError, OSError, ValueError):
            return False  # the start itself will say what is wrong

    def _order(self, session: Session, kind: AgentKind) -> AttemptOrder:
        assert session.attempt is not None
        start, environment = _start(session), self._workplace.environment(session)
        argv = kind.argv(start)
        return AttemptOrder(
            session=session.id,
            attempt=session.attempt.number,
            generation=session.generation,
            argv=(session.program, *argv[1:]) if session.program else argv,
            cwd=session.cwd,
            env={**environment, **kind.variables(start, environment)},
            terminal=session.terminal,
            until=self._leases.until(session) if self._leases is not None else 0.0,
        )

    def _is_barred(self, session: Session) -> bool:
        return self._leases is not None and bool(self._leases.barred(session))

    async def _failed(self, effect: Launch, error: RekindleError | OSError | ValueError) -> None:
        """Record a failed start. It ends the session only if its folder cannot be rebuilt."""
        session = self._engine.session(effect.session)
        now, attempt = self._engine.clock(), effect.attempt
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        # Repeated if it was told before; else the attempt fails before it was more than planned.
        token = session.token if session.is_loadable else None
        wanted = f.LaunchIntended(
            at=now,
            attempt=attempt,
            generation=session.generation + 1,
            how="new" if token is None else "load",
            token=token,
        )
        failed = f.LaunchFailed(
            at=now,
            attempt=attempt,
            message=self._why_not_started(session, error),
            blocked=is_full or isinstance(error, ProgramMissing | NoRoomToStart),
        )
        ended = [f.StopAsked(at=now, by="rekindle", to="failed")] if isinstance(error, WorktreeLost) else []
        await self._engine.record(session.id, wanted, failed, *ended)

    def _why_not_started(self, session: Session, error: RekindleError | OSError | ValueError) -> str:
        """The reason, and how to install an agent that is missing."""
        message = error.message if isinstance(error, RekindleError) else str(error)
        if not isinstance(error, ProgramMissing) or "program" not in error.details:
            return message  # something else is missing: its folder, or what its program needs
        kind = self.kind(session)
        return "; ".join(filter(None, [f"{kind.title} could not be started: {message}", kind.missing]))

    def _wants(self, effect: Launch, agent: str) -> Callable[[Session], bool]:
        """The check takes time; meanwhile the session may have been stopped or given to another agent."""
        return lambda now: effect in plan(now, self._engine.clock()) and now.agent == agent

    async def _may_not_load_yet(self, effect: Launch) -> bool:
        """Whether the agent must not load its conversation yet."""
        session = self._engine.session(effect.session)
        kind, now = self.kind(session), self._engine.clock()
        until = load_not_before(session, kind.load_span, now)
        if not session.is_loadable or until <= now:
            return False
        why = (
            f"{kind.title} would destroy a conversation that it loads in the minute in which it opened it:"
            f" it continues by itself in {max(1, math.ceil(until - now))} s"
        )
        await self._engine.record(session.id, f.LoadPutOff(at=now, until=until, why=why))
        return True

    async def _never_started(self, session: str, attempt: int) -> None:
        now = self._engine.clock()
        ended = f.Exited(at=now, attempt=attempt, how_ended="stopped before it was started", by_us=True)
        await self._engine.record(session, f.Launched(at=now, attempt=attempt, folder="", pid=0), ended)


def _start(session: Session) -> AgentStart:
    attempt = session.attempt
    assert attempt is not None
    begins = attempt.number == 1 or not any(one.opened for one in session.attempts)
    return AgentStart(
        how=attempt.how,
        token=attempt.token,
        model=session.model,
        permission=session.permission,
        arguments=tuple(session.arguments),
        fork_of=session.fork_of if begins else None,
        at=session.fork_at if begins else None,
    )
