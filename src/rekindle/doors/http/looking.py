"""Search, reports, the machine and the feed over HTTP, and how a page gets its secret."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from typing import Annotated, Any, Literal

from litestar import Request
from litestar.params import FromQuery, JSONBody, QueryParameter

from rekindle import __version__
from rekindle.app.governance import GovernorView
from rekindle.app.searching import SearchRequest
from rekindle.app.takeovers import FleetStatus
from rekindle.core.fleet.left_out import left_out
from rekindle.core.report.contents import MorningReport
from rekindle.doors.http import bodies as b
from rekindle.doors.http.answers import AgentRows, Facts, Findings, MachineView, Me, Paired, SearchHits
from rekindle.doors.http.house import BY, House
from rekindle.doors.http.passes import Passes
from rekindle.doors.http.problems import DoorRefusal
from rekindle.doors.http.routes import get, post

Words = Annotated[str, QueryParameter(name="q", max_length=1000)]
Name = Annotated[str | None, QueryParameter(max_length=200)]
HitLimit = Annotated[int, QueryParameter(ge=1, le=200)]
When = Annotated[str, QueryParameter(max_length=100)]
MaybeWhen = Annotated[str | None, QueryParameter(max_length=100)]
After = Annotated[int, QueryParameter(ge=0, le=2**53)]
FactLimit = Annotated[int, QueryParameter(ge=1, le=10_000)]


@post("/pair", status_code=200, opt={"open": True})
async def pair(request: Request[Any, Any, Any], data: JSONBody[b.PairBody]) -> Paired:
    """Exchange the code of a link for the secret. A code works once, for a minute."""
    passes: Passes = request.app.state.passes
    found = passes.exchange(data.code)
    if found is None:
        # only a wrong code counts: a page that is open with an old secret must not keep a new link out
        guessed: Callable[[], None] = dict(request.scope).get("rekindle.guessed", lambda: None)  # type: ignore[assignment]
        guessed()
        raise DoorRefusal(
            401, "this link was used before, or is too old", "get a new one: rekindle open", code="bad_code"
        )
    return Paired(found[0], found[1] == "read")


@get("/me")
async def me(request: Request[Any, Any, Any]) -> Me:
    """Who asks, and who answers."""
    about: dict[str, object] = dict(request.scope)
    return Me(about.get("rekindle.scope") == "read", socket.gethostname(), __version__, os.getpid())


@get("/machine")
async def machine(house: House) -> MachineView:
    """The machine and its daemon."""
    disk = shutil.disk_usage(house.state_dir)
    sessions = (await house.service.list_sessions()).sessions
    return MachineView(
        socket.gethostname(),
        __version__,
        os.getpid(),
        house.started_at,
        house.state_dir,
        disk.free,
        disk.total,
        house.url(),
        len(sessions),
        sum(one.is_running for one in sessions),
    )


@get("/fleet")
async def fleet(house: House) -> FleetStatus:
    """The hosts that share a store with this one, and their sessions. Empty: this is one machine."""
    if house.fleet is None:
        return FleetStatus("", [], [])
    found = await house.fleet()
    assert isinstance(found, FleetStatus)
    return found


@get("/governor")
async def governor(house: House) -> GovernorView:
    """What spans sessions: restarts, spending, who waits for which limit."""
    return await house.service.governance.governor()


@post("/governor/go-on", status_code=200)
async def go_on(house: House) -> GovernorView:
    """Allow automatic restarts again after the breaker has stopped them."""
    return await house.service.governance.go_on(BY)


@get("/agents")
async def agents(house: House) -> AgentRows:
    """The agents on this machine."""
    return AgentRows(list(await house.blocking(lambda uses: uses.agents().listed())))


@get("/doctor")
async def doctor(house: House) -> Findings:
    """Whether this machine is set up correctly."""
    return Findings(await house.blocking(lambda uses: uses.at(house.state_dir).doctor().of_machine()))


@get("/search")
async def search(
    house: House,
    words: Words,
    session: Name = None,
    agent: Name = None,
    limit: HitLimit = 20,
    order: FromQuery[Literal["best", "newest"]] = "best",
) -> SearchHits:
    """Search all conversations of this host. Secrets in the results are masked."""
    asked = SearchRequest(words, session, agent, limit, order)
    hits = await house.blocking(lambda uses: uses.searching().search(asked))
    others = await house.sessions.elsewhere() if session is None else {}
    way = "the sessions view names them; search on their hosts"
    return SearchHits(words, hits, left_out(others, "The search was", way))


@get("/report")
async def report(house: House, since: When = "yesterday", until: MaybeWhen = None) -> MorningReport:
    """What was asked, done, cut off, resumed and spent, and what proves each line."""
    return await house.blocking(lambda uses: uses.reporting().asked_for(since, until))


@get("/feed")
async def feed(house: House, after: After = 0, limit: FactLimit = 1000) -> Facts:
    """What has happened to all sessions, in order. The WebSocket pushes the same, with the same numbers."""
    told = (await house.service.feed(after, limit)).facts
    return Facts(told, told[-1]["seq"] if told else after)


HANDLERS = [pair, me, machine, fleet, governor, go_on, agents, doctor, search, report, feed]
