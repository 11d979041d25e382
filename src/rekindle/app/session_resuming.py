"""Bringing sessions back: which are meant, what would be done and why, and doing it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rekindle.app.requests import ResumeRequest
from rekindle.app.session_list import SessionList
from rekindle.core.session.outstanding import outstanding
from rekindle.core.session.plan import is_cut, next_attempt
from rekindle.core.session.state import Session
from rekindle.core.session.status import presumed_dead
from rekindle.core.session.strategy import Choice
from rekindle.core.session.words import CUT
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import UsageError
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.runtime.comeback import Comeback

Told = dict[str, Any]
_WANTED = CUT | {"queued"}


class Explained(msgspec.Struct, frozen=True):
    """What is known about a session, what a resume would do, and why."""

    id: str
    evidence: list[str]
    decision: str
    reasons: list[str]


class SessionResuming:
    """Starts a daemon only if there is something to do."""

    def __init__(
        self, sessions: SessionList, kept: KeptSessions, daemon: Daemon, comeback: Comeback, clock: Callable[[], float]
    ) -> None:
        self._sessions = sessions
        self._kept = kept
        self._daemon = daemon
        self._comeback = comeback
        self._clock = clock

    def interrupted(self) -> list[Told]:
        """Sessions without their agent. Looked up without starting a daemon: that would bring some of them back."""
        return [one for one in self._sessions.rows() if one["status"] in _WANTED]

    def only_interrupted(self) -> str:
        """The session that is meant if none is named."""
        found = self.interrupted()
        if len(found) == 1:
            return str(found[0]["id"])
        if not found:
            raise UsageError("no session is interrupted", "`rekindle ps --all` lists all sessions")
        names = ", ".join(f"{one['id']} ({one['status']})" for one in found[:5])
        raise UsageError(f"{len(found)} sessions can be resumed: {names}", "name one, or use --all")

    def explain(self, session: str) -> Explained:
        """What a resume would do. Starts nothing and changes nothing."""
        told = self._sessions.shown(session)
        found = msgspec.convert(told["session"], Session)
        attempt = found.attempt
        alive = attempt is not None and self._kept.has_keeper(found.id, attempt.number)
        choice = asyncio.run(self._comeback.foretold(presumed_dead(found), self._clock()))
        decision, reasons = _decision(found, choice, alive=alive)
        return Explained(found.id, list(_evidence(found, told["status"], choice, alive=alive)), decision, reasons)

    def explain_each(self) -> list[Explained]:
        """The same for every session without its agent."""
        return [self.explain(one["id"]) for one in self.interrupted()]

    def resume(self, asked: ResumeRequest) -> Told:
        """Have the daemon bring an agent back."""
        return self._daemon.ask("resume", **msgspec.to_builtins(asked))

    def resume_agents(self, session: str | None, by: str, *, kill: bool) -> Told:
        """Have the agent of a session brought back, or every one that has died."""
        return self._daemon.ask("agent_resume", agent_id=session or "", by=by, kill=kill, every=session is None)

    def resume_all(self, by: str, *, kill: bool, apart: list[str]) -> Told:
        """Have every agent brought back that ended without being asked to, except those below `apart`."""
        return self._daemon.ask("resume_all", by=by, kill=kill, apart=apart)


def _evidence(session: Session, status: str, choice: Choice, *, alive: bool) -> Iterator[str]:
    yield f"status {status} (state {session.state})"
    yield from (f"its archive: {line}" for line in session.imported)
    attempt = session.attempt
    if attempt is not None:
        ended = f", {attempt.how_ended}" if attempt.how_ended else ""
        yield f"attempt {attempt.number}: {attempt.status}{ended}; its keeper {'lives' if alive else 'is gone'}"
    unused = " (it will not be loaded)" if session.token and choice.how == "new" else ""
    yield f"resume token: {session.token or 'none'}{unused}"
    for one in session.prompts:
        if one.state not in ("done", "cancelled"):
            yield f"prompt {one.id}: {one.outcome if one.state == 'failed' and one.outcome else one.state}"
    yield from (f"its record: {note}" for note in choice.notes)
    number = next_attempt(session)
    yield from outstanding(session, number).lines(number)


def _decision(session: Session, choice: Choice, *, alive: bool) -> tuple[str, list[str]]:
    turn = session.turn
    reasons: list[str] = []
    if session.is_up and alive:
        decision = "nothing"
        reasons.append("its agent is alive")
    elif choice.how == "load":
        decision = f"start attempt {next_attempt(session)} and load the conversation"
        reasons.append("there is a token, and the agent can load")
    else:
        decision = f"start attempt {next_attempt(session)} with a new conversation"
        reasons.append(choice.why or "there is no usable token")
    if turn is not None and turn.state == "cut":
        reasons.append(
            "a turn was cut: the agent is told to continue if its record has the prompt, else the prompt is sent again"
        )
    elif is_cut(session):
        reasons.append("prompts that were never sent are delivered")
    return decision, reasons
