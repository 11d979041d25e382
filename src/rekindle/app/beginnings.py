"""How sessions enter the daemon: started with a prompt, forked from another one, or imported.

The caller chooses the session's and the prompt's id before the first try, so a retry starts nothing twice.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping

from msgspec.structs import replace

from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.terminal import typeable
from rekindle.app.requests import BeginRequest
from rekindle.app.runbooks import rules_in
from rekindle.app.service import Service, check_permission, limits_of, prompt_of, usable
from rekindle.app.session_view import SessionView
from rekindle.core.names import feature_of_branch
from rekindle.core.runbook.limits import THRESHOLD
from rekindle.core.session import facts as f
from rekindle.core.session.choices import POLICIES
from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.ports.terminals import AgentTerminals
from rekindle.ports.workplace import SessionPlaces
from rekindle.ports.worktrees import SessionWorktree, SessionWorktrees
from rekindle.runtime.supervisor import Supervisor
from rekindle.runtime.turns import Turns

_SESSION_ID = re.compile(r"[0-9a-f]{10}")


class Beginnings:
    """The operations that start a session. Raises RekindleError."""

    def __init__(
        self,
        service: Service,
        supervisor: Supervisor,
        places: SessionPlaces,
        worktrees: SessionWorktrees,
        terminals: AgentTerminals,
        kinds: Mapping[str, AgentKind],
        known_as: Callable[[str | None], Awaitable[str | None]],
    ) -> None:
        self._service = service
        self._supervisor = supervisor
        self._engine = supervisor.engine
        self._places = places
        self._worktrees = worktrees
        self._terminals = terminals
        self._kinds = kinds
        self._known_as = known_as
        #: a retry with the same id waits until the first request is done
        self._turns = Turns()

    async def run(self, asked: BeginRequest) -> SessionView:
        """Start a session with its first prompt. Asking again is harmless: it is the same session."""
        async with self._turns.of(asked.session):
            return await self._run(asked)

    async def run_step(self, asked: BeginRequest, job: str) -> SessionView:
        """Start the session of a job's step, in the same way."""
        async with self._turns.of(asked.session):
            return await self._run(asked, job)

    async def _run(self, asked: BeginRequest, job: str = "") -> SessionView:
        first = _first(asked.session, asked.prompt, asked.prompt_id, self._engine.clock())
        if (before := await self._known(asked.session)) is not None:
            return await self._go_on(before, first)
        _check(asked)
        kind = usable(self._kinds, asked.agent, asked.arguments or [])
        if asked.terminal:
            self._check_terminal(kind)
            first = _first(asked.session, typeable(asked.prompt), asked.prompt_id, self._engine.clock())
        if not os.path.isdir(asked.cwd):
            raise UsageError(f"{asked.cwd}: there is no such folder", "name the folder the agent works in")
        name = asked.session if asked.worktree == "" else asked.worktree
        place = await asyncio.to_thread(self._place, asked.cwd, name, asked.worktrees_dir)
        id_ = await self._known_as(place.repository)
        self._refuse_to_share(place)
        created = replace(_created(asked, place, kind, id_, self._engine.clock()), job=job)
        await self._begin(created, asked.env)
        facts: list[f.AnyFact] = [f.Noticed(at=self._engine.clock(), message=one) for one in place.notices]
        facts += [first] if first is not None else []
        return self._service.shown(await self._supervisor.record(created.session, *facts))

    async def adopt(self, *, session: str, staged: str, env: dict[str, str]) -> SessionView:
        """Take over an imported session: its folder is ready, with its facts in it."""
        async with self._turns.of(session):
            return await self._adopt(session, staged, env)

    async def _adopt(self, session: str, staged: str, env: dict[str, str]) -> SessionView:
        if await self._known(session) is not None:
            raise OwnedError(
                f"there is a session {session} here already",
                "--as-new gives the imported one a new id",
                code="session_exists",
            )
        try:
            facts = self._places.take_over(session, staged, env)
        except OSError as error:
            raise RekindleError(
                f"the session could not be set up ({error.strerror})", "check free space and permissions"
            ) from error
        return self._service.shown(await self._engine.adopt(facts))

    async def fork(
        self, session: str, *, copy: str, prompt_id: str, at: str, prompt: str, env: dict[str, str]
    ) -> SessionView:
        """Start the session `copy` with another one's conversation, up to one of its answers. That one stays."""
        async with self._turns.of(copy):
            return await self._fork(session, copy, prompt_id, at, prompt, env)

    async def _fork(
        self, session: str, copy: str, prompt_id: str, at: str, prompt: str, env: dict[str, str]
    ) -> SessionView:
        found = await self._service.find(session)
        first = _first(copy, prompt, prompt_id, self._engine.clock())
        if (before := await self._known(copy)) is not None:
            return await self._go_on(before, first)
        kind = self._kinds.get(found.agent)
        if kind is None or not kind.can_fork or found.token is None:
            raise UsageError(
                f"session {found.id} cannot be resumed from an earlier point", f"{found.agent} does not offer that"
            )
        created = f.Created(
            at=self._engine.clock(),
            session=copy,
            agent=found.agent,
            cwd=found.cwd,
            title=f"{found.title} (from {at[:8]})",
            policy=found.policy,
            permission=found.permission,
            feature=found.feature,
            task=found.task,
            arguments=found.arguments,
            model=found.model,
            limits=found.limits,
            rules=found.rules,
            rules_source=found.rules_source,
            rules_digest=found.rules_digest,
            program=found.program,
            one_shot=found.one_shot,
            fork_of=found.token,
            fork_at=at,
            repository=found.repository,
            worktree=found.worktree,
            repository_id=found.repository_id,
        )
        await self._begin(created, env)
        return self._service.shown(await self._supervisor.record(copy, *([first] if first is not None else [])))

    async def _known(self, session: str) -> Session | None:
        return await self._engine.load(session) if await self._engine.knows(session) else None

    async def _go_on(self, before: Session, first: f.PromptQueued | None) -> SessionView:
        """The session was started by an earlier try, but its prompt may still be missing."""
        if before.prompts and (first is None or before.prompts[0].id != first.prompt):
            raise OwnedError(f"there is a session {before.id} already", "give it another id", code="session_exists")
        facts = [first] if first is not None else []
        return self._service.shown(await self._supervisor.record(before.id, *facts))

    async def _begin(self, created: f.Created, env: dict[str, str]) -> None:
        try:
            self._places.prepare(created, env)
        except OSError as error:
            raise RekindleError(f"the session could not be made ({error.strerror})", "free some disk space") from error
        await self._engine.create(created)

    def _place(self, cwd: str, name: str | None, folder: str | None) -> SessionWorktree:
        """Where a new session works: in a worktree of that name or, without one, where it was started."""
        return self._worktrees.around(cwd) if name is None else self._worktrees.make(cwd, name, folder)

    def _check_terminal(self, kind: AgentKind) -> None:
        if kind.terminal is None:
            hint = "leave --terminal out, or choose another agent"
            raise UsageError(f"{kind.title} cannot be used in a terminal", hint)
        self._terminals.require()

    def _refuse_to_share(self, place: SessionWorktree) -> None:
        for other in self._engine.at_hand():
            if place.branch is not None and other.worktree == place.path and other.is_up:
                raise OwnedError(
                    f"the agent of session {other.id} works in the worktree {place.path}",
                    "send it a prompt, or choose another name with --worktree=NAME",
                )


def _first(session: str, prompt: str, prompt_id: str, at: float) -> f.PromptQueued | None:
    """The first prompt of a session, which may have none. Both ids are checked."""
    if _SESSION_ID.fullmatch(session) is None:
        raise UsageError(f"{session!r} is not a valid session id", "give 10 hexadecimal digits")
    found = prompt_of(prompt, prompt_id, at)
    return found if prompt.strip() else None


def _check(asked: BeginRequest) -> None:
    if asked.policy not in POLICIES:
        raise UsageError(f"{asked.policy!r} is not a policy", f"it is one of: {', '.join(POLICIES)}")
    check_permission(asked.permission)


def _created(asked: BeginRequest, place: SessionWorktree, kind: AgentKind, id_: str | None, at: float) -> f.Created:
    named = feature_of_branch(place.branch) if place.branch is not None else None
    limits = {"dehydrate_at": THRESHOLD, **(asked.limits or {})}
    if asked.terminal:
        limits = {"stall_seconds": None, **limits}  # it may wait for a person who is away
    said = asked.prompt.strip()
    rules = rules_in(asked.rules)
    return f.Created(
        at=at,
        session=asked.session,
        agent=asked.agent,
        cwd=place.cwd,
        repository=place.repository,
        worktree=place.path,
        branch=place.branch,
        repository_id=id_,
        title=asked.title or said.splitlines()[0][:80] if said else asked.title,
        policy=rules.policy if rules is not None else asked.policy,
        permission=asked.permission,
        feature=named or asked.feature,
        task=asked.task,
        arguments=asked.arguments or [],
        model=asked.model or kind.model(asked.env),
        limits=limits_of(limits, f.Limits()),
        one_shot=asked.one_shot,
        native=kind.native,
        terminal=asked.terminal,
        rules=replace(rules, limits=limits_of(limits, rules.limits)) if rules is not None else None,
        rules_source=asked.rules_source,
        rules_digest=asked.rules_digest,
        program=asked.program,
    )
