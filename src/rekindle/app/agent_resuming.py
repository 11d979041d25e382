"""Brings dead agents back on request, one or all: which are back, and which were skipped, with the reasons."""

from __future__ import annotations

import msgspec

from rekindle.app.requests import ResumeRequest
from rekindle.app.service import Service
from rekindle.ports.errors import OwnedError, UsageError


class ResumedAgents(msgspec.Struct, frozen=True):
    """Sessions whose agents are back, and pairs of a session and the reason why its agent is not.

    `failed`: at least one was tried and did not come back.
    """

    resumed: list[str]
    skipped: list[tuple[str, str]]
    failed: bool = False


class AgentResuming:
    """Uses the same resume as everything else. Raises RekindleError."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def resume(self, agent_id: str, by: str, *, kill: bool = False, every: bool = False) -> ResumedAgents:
        """Bring back the agent of one session, or with `every` all agents that have died. An id may be shortened."""
        if every == bool(agent_id):
            raise UsageError("Either provide an agent ID or use --all", "`rekindle ps` lists the sessions")
        if every:
            told = await self._service.resume_all(by=by, kill=kill)
            left = [(one.id, one.reason) for one in told.skipped if not one.is_over]
            failed = [(one.id, one.reason) for one in told.failed]
            return ResumedAgents(told.resumed, [*left, *failed], bool(failed))
        found = await self._service.find(agent_id)
        try:
            back = await self._service.resume(ResumeRequest(session=found.id, by=by, kill=kill))
        except OwnedError as error:
            return ResumedAgents([], [(found.id, error.message)])
        if back.is_back:
            return ResumedAgents([found.id], [])
        return ResumedAgents([], [(found.id, back.why or back.status)], failed=True)
