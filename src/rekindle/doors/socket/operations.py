"""The one table of what the daemon can be asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from rekindle.app.agent_resuming import AgentResuming
from rekindle.app.beginnings import Beginnings
from rekindle.app.features import Features
from rekindle.app.holding import Holding
from rekindle.app.jobs import JobService
from rekindle.app.journals import JournalWriters
from rekindle.app.questions import Questions
from rekindle.app.relocation import Relocations
from rekindle.app.service import FactFeed, ListedSessions, Service
from rekindle.app.session_view import WholeSession
from rekindle.ports.errors import UsageError

#: The highest sequence number in a store.
MOST_FACTS = 2**63 - 1
Operation = Callable[..., Awaitable[msgspec.Struct]]


def operations(
    service: Service,
    beginnings: Beginnings,
    questions: Questions,
    journals: JournalWriters,
    features: Features,
    relocations: Relocations,
    holding: Holding,
    jobs: JobService,
) -> dict[str, Operation]:
    """Every operation by its name on the wire, except the server's own."""

    async def list_() -> ListedSessions:
        return await service.list_sessions()

    async def show(session: str) -> WholeSession:
        return await service.show(session)

    async def feed(after: int = 0, limit: int = 1000) -> FactFeed:
        if not 0 <= after <= MOST_FACTS or limit < 0:
            raise UsageError("a place in the feed is a number, 0 or more", "give the `seq` of the last fact you know")
        return await service.feed(after, min(limit, 10_000))

    return {
        "run": beginnings.run,
        "adopt": beginnings.adopt,
        "fork": beginnings.fork,
        "send": service.send,
        "resume": service.resume,
        "resume_all": service.resume_all,
        "agent_resume": AgentResuming(service).resume,
        "hold": holding.hold,
        "hurry": holding.hurry,
        "governor": service.governance.governor,
        "restarts_go_on": service.governance.go_on,
        "stop": service.stop,
        "stop_all": service.stop_all,
        "cancel": service.cancel,
        "questions": questions.open,
        "answer": questions.answer,
        "wait": service.wait,
        "list": list_,
        "show": show,
        "feed": feed,
        "journal_append": journals.append,
        "feature_begin": features.begin,
        "feature_resume": features.resume,
        "feature_state": features.state,
        "feature_stop": features.stop,
        "repository_seen": relocations.seen,
        "job_submit": jobs.submit,
        "job_list": jobs.list_jobs,
        "job_show": jobs.show,
        "job_retry": jobs.retry,
        "job_cancel": jobs.cancel,
        "job_wait": jobs.wait,
    }
