"""Sessions over HTTP: shown, opened, resumed, told something, stopped; conversations, snapshots, receipts."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from litestar.params import JSONBody, QueryParameter

from rekindle.app.agent_resuming import ResumedAgents
from rekindle.app.forking import ForkRequest, Point
from rekindle.app.opening import SessionOpened
from rekindle.app.parking import parked
from rekindle.app.questions import AnsweredQuestion
from rekindle.app.queueing import AcceptedPrompt, PromptQueue
from rekindle.app.running import RunRequest
from rekindle.app.session_view import SessionView, WholeSession
from rekindle.app.time_travel import RestoredTree, RestoreRequest, SnapshotList
from rekindle.core.session.facts import Receipt
from rekindle.doors.http import bodies as b
from rekindle.doors.http.answers import (
    AttemptReceipt,
    ConversationPage,
    Difference,
    Facts,
    ForkPoints,
    Inbox,
    InboxQuestion,
    ReceiptList,
    Sessions,
    TaskList,
    TaskRow,
)
from rekindle.doors.http.house import BY, House, RequestKey
from rekindle.doors.http.keys import new_id
from rekindle.doors.http.routes import Id, delete, get, patch, post, put
from rekindle.ports.errors import UsageError

#: The most entries in one page of a conversation.
MOST_ENTRIES = 500
_LONGEST_DIFF = 2_000_000
#: Why something can be done on a session's own host only.
_FILES, _QUEUE = "its files are there", "its queue is changed there"
_MOST = 2**53
Start = Annotated[int, QueryParameter(name="from", ge=-_MOST, le=_MOST)]
After = Annotated[int, QueryParameter(ge=0, le=_MOST)]
EntryLimit = Annotated[int, QueryParameter(ge=1, le=MOST_ENTRIES)]
FactLimit = Annotated[int, QueryParameter(ge=1, le=10_000)]
Which = Annotated[str | None, QueryParameter(max_length=200)]


@get("/sessions")
async def list_sessions(house: House) -> Sessions:
    """All sessions, as `rekindle ps --all` shows them, and what spans them."""
    seq = await house.last_seq()
    found = await house.sessions.listed()
    return Sessions(seq, time.time(), found.sessions, found.governor, found.host or "")


@get("/tasks")
async def tasks(house: House) -> TaskList:
    """All tasks with their states, which follow from those of their sessions."""
    listed = (await house.sessions.listed()).sessions
    return TaskList(
        [TaskRow(one.task or one.id, one.title, one.task_state, one.id, one.feature, one.repository) for one in listed]
    )


@get("/inbox")
async def inbox(house: House) -> Inbox:
    """Everything that waits for a person, as `rekindle inbox` shows it."""
    seq = await house.last_seq()
    asked = (await house.sessions.questions()).questions
    listed = (await house.sessions.listed()).sessions
    rows = [{name: getattr(one, name) for name in one.__struct_fields__} for one in listed]
    waiting = {one["id"] for one in parked(rows, asked, time.time())}
    questions = [msgspec.convert(one, InboxQuestion) for one in asked]
    return Inbox(seq, time.time(), questions, [one for one in listed if one.id in waiting])


@post("/questions/{question:str}/answer", status_code=200)
async def answer(house: House, question: Id, data: JSONBody[b.AnswerBody]) -> AnsweredQuestion:
    """Answer a question, once. Somebody was faster: 409, with who and what."""
    by = f"{BY} {data.client}" if data.client else BY
    return await house.sessions.answer(question, data.option, by=by, text=data.text, env=house.environment)


@post("/sessions", status_code=201)
async def begin(house: House, data: JSONBody[b.SessionBody], key: RequestKey) -> SessionView:
    """Start a session with its first prompt."""
    asked = RunRequest(
        prompt=data.prompt,
        agent=data.agent,
        cwd=data.cwd,
        title=data.title,
        policy=data.policy,
        policy_given=True,
        permission=data.permission,
        model=data.model,
        worktree=data.worktree,
    )
    named = new_id(key, "session", 10), new_id(key, "prompt", 8)
    told = await house.blocking(lambda uses: uses.running().begin(asked, *named))
    return house.service.shown(await house.service.find(told["id"]))


@get("/sessions/{session:str}")
async def show(house: House, session: Id) -> WholeSession:
    """One session with everything. An id may be shortened."""
    return await house.sessions.shown(session)


@get("/sessions/{session:str}/receipts")
async def receipts(house: House, session: Id) -> ReceiptList:
    """What each resume proved, oldest first."""
    found = (await house.sessions.shown(session)).session
    kept = [AttemptReceipt(one.number, one.receipt) for one in found.attempts if isinstance(one.receipt, Receipt)]
    return ReceiptList(found.id, kept)


@get("/sessions/{session:str}/facts")
async def facts(house: House, session: Id, after: After = 0, limit: FactLimit = 1000) -> Facts:
    """What has happened to a session, in order."""
    found = await house.sessions.here(session, "its record is read there")
    told = (await house.service.feed(after, limit, session=found.id)).facts
    return Facts(told, told[-1]["seq"] if told else after)


@get("/sessions/{session:str}/conversation")
async def conversation(house: House, session: Id, start: Start = -100, limit: EntryLimit = 100) -> ConversationPage:
    """Entries of the conversation by number; a negative `from` counts from the end."""
    found, page = await house.sessions.conversation(session, start, limit)
    return ConversationPage(found, page.total, page.start, page.entries, page.attempts, page.source)


@post("/sessions/{session:str}/prompts", status_code=202)
async def prompt(house: House, session: Id, data: JSONBody[b.PromptBody], key: RequestKey) -> AcceptedPrompt:
    """Tell the agent something. It is on disk when this answers, and sent once; an agent that is gone comes back."""
    return await house.sessions.prompt(session, data.text, data.prompt_id or new_id(key, "prompt", 16))


@get("/sessions/{session:str}/queue")
async def queue(house: House, session: Id) -> PromptQueue:
    """The prompts that are not sent yet."""
    return await house.sessions.queue(session)


@put("/sessions/{session:str}/queue")
async def reorder(house: House, session: Id, data: JSONBody[b.QueueBody]) -> PromptQueue:
    """Put prompts that are not sent yet in another order."""
    await house.sessions.here(session, _QUEUE)
    return await house.queueing.reorder(session, list(data.prompts), by=BY)


@patch("/sessions/{session:str}/prompts/{prompt_id:str}")
async def edit(house: House, session: Id, prompt_id: Id, data: JSONBody[b.PromptText]) -> PromptQueue:
    """Change a prompt that is not sent yet; 409 if it is."""
    await house.sessions.here(session, _QUEUE)
    return await house.queueing.edit(session, prompt_id, data.text, by=BY)


@delete("/sessions/{session:str}/prompts/{prompt_id:str}", status_code=200)
async def withdraw(house: House, session: Id, prompt_id: Id) -> PromptQueue:
    """Never send a prompt; 409 if it was sent."""
    await house.sessions.here(session, _QUEUE)
    return await house.queueing.withdraw(session, prompt_id, by=BY)


@post("/sessions/{session:str}/open", status_code=200)
async def open_session(house: House, session: Id) -> SessionOpened:
    """Somebody looks at a session: its policy says whether its agent comes back for that."""
    return await house.sessions.open(session, by=BY)


@post("/sessions/{session:str}/resume", status_code=202)
async def resume(house: House, session: Id, data: JSONBody[b.ResumeBody | None] = None) -> SessionOpened:
    """Bring the agent back, and have a turn that was cut off go on."""
    asked = data or b.ResumeBody()
    return await house.sessions.resume(session, by=BY, kill=asked.kill, wait=asked.wait)


@post("/sessions/{session:str}/stop", status_code=200)
async def stop(house: House, session: Id, data: JSONBody[b.StopBody | None] = None) -> SessionView:
    """End the agent and its whole tree."""
    return await house.sessions.stop(session, to=(data or b.StopBody()).to, by=BY)


@post("/sessions/{session:str}/cancel", status_code=200)
async def cancel(house: House, session: Id) -> SessionView:
    """End the turn that is running, and nothing else."""
    return await house.sessions.cancel(session)


@post("/sessions/{session:str}/hold", status_code=200)
async def hold(house: House, session: Id) -> SessionView:
    """Do nothing automatically about a session until it is resumed."""
    return await house.sessions.hold(session, by=BY)


@post("/sessions/{session:str}/hurry", status_code=200)
async def hurry(house: House, session: Id) -> SessionView:
    """Let a session that waits go on now."""
    return await house.sessions.hurry(session, by=BY)


@post("/agents/resume", status_code=200)
async def agents_resume(house: House, data: JSONBody[b.AgentResumeBody]) -> ResumedAgents:
    """Bring back one dead agent, or all: which are back, and which were skipped and why."""
    return await house.agents.resume(data.id, BY, kill=data.kill, every=data.all)


@get("/sessions/{session:str}/snapshots")
async def snapshots(house: House, session: Id) -> SnapshotList:
    """The kept states of the work tree, oldest first."""
    found = await house.sessions.here(session, _FILES)
    return await house.blocking(lambda uses: uses.time_travel().listed(found.id))


@get("/sessions/{session:str}/diff")
async def difference(house: House, session: Id, a: Which = None, b: Which = None) -> Difference:
    """What changed from snapshot `a` to `b` or, without `b`, to the work tree as it is."""
    found = await house.sessions.here(session, _FILES)
    told = await house.blocking(lambda uses: uses.time_travel().difference(found.id, a, b))
    text = told.told[:_LONGEST_DIFF].decode("utf-8", "replace")
    return Difference(found.id, a, b, text, len(told.told) > _LONGEST_DIFF)


@post("/sessions/{session:str}/restore", status_code=200)
async def restore(house: House, session: Id, data: JSONBody[b.RestoreBody | None] = None) -> RestoredTree:
    """Put a snapshot back; a work tree is not changed under an agent that works in it."""
    asked = data or b.RestoreBody()
    found = await house.sessions.here(session, _FILES)
    if asked.to is not None and not asked.to.startswith("/"):
        raise UsageError(f"{asked.to!r} is not a whole path", "give a path that begins with /")
    return await house.blocking(lambda uses: uses.time_travel().restore(RestoreRequest(found.id, asked.at, asked.to)))


@get("/sessions/{session:str}/points")
async def points(house: House, session: Id) -> ForkPoints:
    """The answers after which a copy of the session can go on."""
    found = await house.sessions.here(session, _FILES)
    told: tuple[Point, ...] = await house.blocking(lambda uses: uses.forking().points(found.id))
    return ForkPoints(found.id, list(told))


@post("/sessions/{session:str}/fork", status_code=201)
async def fork(house: House, session: Id, data: JSONBody[b.ForkBody], key: RequestKey) -> SessionView:
    """Start a copy of a session after one of its answers. The session stays as it is."""
    found = await house.sessions.here(session, _FILES)
    asked = ForkRequest(found.id, data.at, data.prompt)
    named = new_id(key, "session", 10), new_id(key, "prompt", 16)
    told = await house.blocking(lambda uses: uses.forking().fork(asked, *named))
    return house.service.shown(await house.service.find(told.copy["id"]))


HANDLERS = [
    *(list_sessions, tasks, inbox, answer, begin, show, receipts, facts, conversation),
    *(prompt, queue, reorder, edit, withdraw, open_session, resume, stop, cancel, hold, hurry, agents_resume),
    *(snapshots, difference, restore, points, fork),
]
