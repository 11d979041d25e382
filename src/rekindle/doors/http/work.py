"""Features, jobs, runbooks and skill sessions over HTTP."""

from __future__ import annotations

import os
from typing import Annotated, Any

from litestar.params import FromQuery, JSONBody, QueryParameter

from rekindle.app.feature_view import RunView
from rekindle.app.job_submitting import JobTerms
from rekindle.app.jobs import ListedJobs, ShownJob
from rekindle.app.requests import FeatureResumeRequest
from rekindle.app.runbooks import ShownRunbook
from rekindle.core.journal.document import document
from rekindle.doors.http import bodies as b
from rekindle.doors.http.answers import (
    CheckedRunbook,
    FeatureDetail,
    JournalLines,
    KnownFeature,
    KnownFeatures,
    ResumedRun,
    SkillSession,
    SkillSessionList,
)
from rekindle.doors.http.house import BY, BlockingUses, House, HttpHouse, RequestKey
from rekindle.doors.http.keys import new_id
from rekindle.doors.http.routes import Id, get, post
from rekindle.ports.errors import NoOpenRun, NoRepository, NoSuchFeature, RekindleError

Folder = Annotated[str, QueryParameter(max_length=4000)]
LineCount = Annotated[int, QueryParameter(ge=1, le=1000)]
LineNumber = Annotated[int, QueryParameter(ge=0, le=2**53)]


async def _known(house: HttpHouse, repository: str) -> str:
    """A repository in which somebody has a session. No other one is looked into."""
    sessions = (await house.service.list_sessions()).sessions
    known = {one.repository for one in sessions} | {one.cwd for one in sessions}
    if repository not in known:
        raise NoRepository(
            f"no session works in {repository!r}", "GET /api/v1/features names the repositories that are known"
        )
    return repository


@get("/features")
async def features(house: House) -> KnownFeatures:
    """The features of all repositories in which somebody has a session."""
    sessions = (await house.service.list_sessions()).sessions
    found: list[KnownFeature] = []
    problems: list[str] = []
    for root in sorted({one.repository for one in sessions if one.repository}):
        if not os.path.isdir(root):
            continue
        try:
            rows = (await house.blocking(lambda uses: uses.features().listed(), root)).features
        except RekindleError as error:
            problems.append(f"{root}: {error.message}")
            continue
        found += [KnownFeature(root, one.feature, one.state, one.sid, one.last_ts, one.end_reason) for one in rows]
    return KnownFeatures(found, problems)


@get("/features/{feature:str}")
async def feature_shown(house: House, feature: Id, repository: Folder) -> FeatureDetail:
    """A feature: what its journal says, and its run if one is under way."""
    root = await _known(house, repository)
    found = await house.blocking(lambda uses: document(uses.journals().analyse(_name(feature)).analysis), root)
    run: RunView | None = None
    try:
        run = await house.features.state(cwd=root, feature=feature)
    except NoOpenRun:
        run = None
    return FeatureDetail(root, feature, run, found)


@post("/features/{feature:str}/resume", status_code=202)
async def feature_resume(house: House, feature: Id, data: JSONBody[b.FeatureResumeBody]) -> ResumedRun:
    """Resume a feature, with the answer to its question if it has one."""
    root = await _known(house, data.repository)
    asked = FeatureResumeRequest(
        cwd=root,
        feature=_name(feature),
        env=house.environment,
        choice=data.choice,
        instructions=data.instructions,
        seen=data.seen,
    )
    found = await house.features.resume(asked)
    return ResumedRun(feature, found.sid, found.resumes)


@post("/features/{feature:str}/stop", status_code=200)
async def feature_stop(house: House, feature: Id, data: JSONBody[b.RepositoryBody]) -> RunView:
    """End a feature's run; it can be resumed."""
    return await house.features.stop(cwd=await _known(house, data.repository), feature=_name(feature))


@get("/features/{feature:str}/journal")
async def journal(
    house: House, feature: Id, repository: Folder, start: LineNumber = 0, limit: LineCount = 200
) -> JournalLines:
    """Lines of a feature's journal from line `start` on."""
    root = await _known(house, repository)

    def read(uses: BlockingUses) -> tuple[list[dict[str, Any]], bool]:
        return uses.features().lines(_name(feature), start, limit)

    lines, more = await house.blocking(read, root)
    return JournalLines(root, feature, lines, start + len(lines) if more else None)


@get("/jobs")
async def jobs(house: House, every: FromQuery[bool] = True) -> ListedJobs:
    """Jobs, oldest first; without `every` only those that have not ended."""
    return await house.jobs.list_jobs(every)


@post("/jobs", status_code=201)
async def submit(house: House, data: JSONBody[b.JobBody], key: RequestKey) -> ShownJob:
    """Submit a job."""
    given = {
        "turn_seconds": data.timeout,
        "cost": data.max_cost,
        "age_seconds": data.max_age,
        "resumes": data.max_resumes,
        "priority": data.priority,
    }
    terms = JobTerms(
        words=(data.prompt,),
        agent=data.agent,
        model=data.model,
        permission=data.permission,
        cwd=data.cwd,
        title=data.title,
        limits={name: value for name, value in given.items() if value is not None},
        policy=data.policy,
        resume=data.resume,
        retries=data.retries,
        at=data.at,
        every=data.every,
        zone=data.zone,
        worktree=data.worktree,
    )
    name = f"j{new_id(key, 'job', 8)}"
    told = await house.blocking(lambda uses: uses.jobs().submit(terms, name))
    return await house.jobs.show(told["id"])


@get("/jobs/{job:str}")
async def job_shown(house: House, job: Id) -> ShownJob:
    """One job."""
    return await house.jobs.show(job)


@post("/jobs/{job:str}/retry", status_code=200)
async def job_retry(house: House, job: Id, resume: FromQuery[bool | None] = None) -> ShownJob:
    """Try a job again: in the same conversation, or anew; without `resume`, as the job says."""
    return await house.jobs.retry(job, BY, resume)


@post("/jobs/{job:str}/cancel", status_code=200)
async def job_cancel(house: House, job: Id) -> ShownJob:
    """End a job and its session."""
    return await house.jobs.cancel(job, BY)


@get("/runbooks/default")
async def runbook(house: House) -> ShownRunbook:
    """The runbook that applies to every session by default."""
    return await house.blocking(lambda uses: uses.runbooks().shown())


@post("/runbooks/check", status_code=200)
async def runbook_check(house: House, data: JSONBody[b.RunbookBody]) -> CheckedRunbook:
    """Read a runbook; a mistake is reported with its line, its key and what is allowed there."""
    content = data.text.encode("utf-8", "replace")
    found = await house.blocking(lambda uses: uses.runbooks().check(content, data.name))
    return CheckedRunbook(list(found.agents), [one.name for one in found.steps])


@get("/skill-sessions")
async def skill_sessions(house: House, repository: Folder) -> SkillSessionList:
    """The skill sessions of a repository."""
    root = await _known(house, repository)

    def listed(uses: BlockingUses) -> list[SkillSession]:
        sessions = uses.skill_sessions()
        mine, others = sessions.find()
        every = {one.folder: one for one in [*([mine] if mine is not None else []), *others]}
        return [SkillSession(folder, sessions.shown(folder)) for folder in every]

    return SkillSessionList(root, await house.blocking(listed, root))


def _name(feature: str) -> str:
    """A feature's name, never a path: that would be read wherever it leads."""
    if "/" in feature or feature.endswith(".jsonl") or "\0" in feature:
        raise NoSuchFeature(f"{feature!r} is not a feature's name", "give it as GET /api/v1/features shows it")
    return feature


HANDLERS = [
    *(features, feature_shown, feature_resume, feature_stop, journal),
    *(jobs, submit, job_shown, job_retry, job_cancel, runbook, runbook_check, skill_sessions),
]
