"""The WebSocket: requests answered by number, and everything that happens pushed with its place in the feed.

What is pushed is read from the store from the place where the reader is, a little at a time and only as fast as it is
taken. So a slow reader costs a page of facts and no more; one that takes nothing for a while is cut off, and fetches
what it missed when it comes back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
from litestar import WebSocket, websocket
from litestar.exceptions import WebSocketDisconnect

from rekindle.app.conversing import MOST_TEXT, ReadPlace
from rekindle.app.session_view import SessionView, brief
from rekindle.core.session.pushing import MESSAGE, RECEIPT, events_of
from rekindle.doors.http.guard import read_only
from rekindle.doors.http.house import BY, House, HttpHouse
from rekindle.doors.http.keys import new_id
from rekindle.doors.http.problems import problem_of
from rekindle.ports.errors import RekindleError, UsageError

#: How long somebody may take to say who they are, and to take what they are sent.
AUTH_SECONDS, TAKE_SECONDS = 10.0, 15.0
#: How many facts are read at once, and how far behind somebody may be: after that, fetching is cheaper.
PAGE, FURTHEST = 200, 20_000
#: Entries of a conversation that are sent at once, and how many conversations one socket watches.
_ENTRIES, _MOST_WATCHED = 100, 50
TOO_SLOW, UNKNOWN, BAD = 4008, 4001, 4002
_MOST = 2**63 - 1
Socket = WebSocket[Any, Any, Any]


class ClientSaid(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says."""

    action: str = ""
    id: str | int | None = None
    payload: dict[str, Any] = {}
    type: str = ""
    secret: str = ""


class LiveChanges:
    """Wakes everybody who follows when a fact was recorded, or when an agent has said something."""

    def __init__(self) -> None:
        self._waiting: set[Callable[[str, bool], None]] = set()

    def recorded(self, session: str) -> None:
        """A fact about a session is in the store."""
        for tell in list(self._waiting):
            tell(session, False)

    def heard(self, session: str) -> None:
        """The agent of a session has said something."""
        for tell in list(self._waiting):
            tell(session, True)

    @contextlib.contextmanager
    def listened(self, tell: Callable[[str, bool], None]) -> Iterator[None]:
        """Tell somebody as long as this lasts."""
        self._waiting.add(tell)
        try:
            yield
        finally:
            self._waiting.discard(tell)

    @property
    def listeners(self) -> int:
        """How many follow."""
        return len(self._waiting)


@websocket("/ws")
async def live(socket: Socket, house: House) -> None:
    """Speak with one client until it leaves."""
    await socket.accept()
    admit: Callable[[str], Awaitable[str]] = dict(socket.scope)["rekindle.admit"]  # type: ignore[assignment]
    try:
        async with asyncio.timeout(AUTH_SECONDS):
            first = _said(await socket.receive_data("text"))
        scope = await admit(first.secret if first.type == "auth" else "")
    except (TimeoutError, msgspec.DecodeError, RekindleError) as error:
        with contextlib.suppress(Exception):
            if isinstance(error, RekindleError):
                await socket.send_data(_encoded({"error": msgspec.to_builtins(problem_of(error))}), "text")
            await socket.close(UNKNOWN, "say who you are first")
        return
    except WebSocketDisconnect:
        return
    await _Reader(socket, house, socket.app.state.changes, may_act=scope == "all").serve()


class _Reader:
    """One client."""

    def __init__(self, socket: Socket, house: HttpHouse, changes: LiveChanges, *, may_act: bool) -> None:
        self._socket = socket
        self._house = house
        self._changes = changes
        self._may_act = may_act
        self._after: int | None = None
        self._watched: dict[str, ReadPlace] = {}
        #: whether everything that any agent says is pushed, or only what is watched
        self._hears_all = False
        self._news: set[str] = set()
        self._wake = asyncio.Event()
        self._has_facts = False
        self._sending = asyncio.Lock()
        self._actions: dict[str, Callable[[dict[str, Any], str | None], Awaitable[dict[str, Any]]]] = {
            "subscribe": self._subscribe,
            "task.session.status": self._status,
            "task.session.open": self._open,
            "task.session.resume": self._resume,
            "task.session.prompt": self._prompt,
            "task.session.watch": self._watch,
            "task.session.unwatch": self._unwatch,
        }

    async def serve(self) -> None:
        """Answer and push until the client leaves or is too slow."""
        with contextlib.suppress(WebSocketDisconnect, ConnectionError, RuntimeError):
            await self._send({"re": None, "ok": True, "read_only": not self._may_act})
            with self._changes.listened(self._told):
                tasks = [asyncio.ensure_future(self._answer_all()), asyncio.ensure_future(self._push_all())]
                try:
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for one in done:
                        one.result()
                except TimeoutError:
                    await self._cut_off()
                finally:
                    for one in tasks:
                        one.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)

    def _told(self, session: str, is_said: bool) -> None:
        self._has_facts = self._has_facts or not is_said
        if session in self._watched or (is_said and self._hears_all and len(self._watched) < _MOST_WATCHED):
            self._news.add(session)
        elif is_said:
            return
        self._wake.set()

    async def _cut_off(self) -> None:
        """Say why, if that is taken at once, and end the connection in any case: what is still unsent is dropped."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(1.0):
                await self._socket.close(TOO_SLOW, f"too slow: fetch, then subscribe after {self._after or 0}")
        state: Any = dict(self._socket.scope).get("state") or {}
        abort: Callable[[], None] = state.get("connection", {}).get("abort", lambda: None)
        abort()

    async def _send(self, what: dict[str, Any]) -> None:
        """Raises TimeoutError if the client does not take it."""
        data = _encoded(what)
        async with self._sending, asyncio.timeout(TAKE_SECONDS):
            await self._socket.send_data(data, "text")

    async def _answer_all(self) -> None:
        while True:
            text = await self._socket.receive_data("text")
            try:
                said = _said(text)
            except (msgspec.DecodeError, UnicodeError) as error:
                await self._send(_failed(None, UsageError(f"this is not a request: {error}", "see docs/http.md")))
                continue
            await self._send(await self._answered(said))

    async def _answered(self, said: ClientSaid) -> dict[str, Any]:
        action = self._actions.get(said.action)
        try:
            if action is None:
                raise UsageError(f"there is no action {said.action!r}", f"there are: {', '.join(self._actions)}")
            key = f"{said.payload['key']}" if said.payload.get("key") else None
            return {"re": said.id, "ok": True, **await action(said.payload, key)}
        except RekindleError as error:
            return _failed(said.id, error)
        except (TypeError, ValueError) as error:
            return _failed(said.id, UsageError(f"bad request: {error}", "see docs/http.md"))

    async def _subscribe(self, payload: dict[str, Any], _key: str | None) -> dict[str, Any]:
        last = await self._house.last_seq()
        after = payload.get("after", last)
        if isinstance(after, bool) or not isinstance(after, int) or not 0 <= after <= _MOST:
            raise UsageError("`after` is the number of the last event that you know", "0 replays everything")
        self._hears_all = payload.get("messages", "all") == "all"
        if after > last or last - after > FURTHEST or not await self._is_known(after, payload.get("at")):
            self._after = last
            self._wake.set()
            return {"seq": last, "reset": True}
        self._after, self._has_facts = after, True
        self._wake.set()
        return {"seq": last, "reset": False}

    async def _is_known(self, after: int, at: object) -> bool:
        """Whether the fact at that place is the one that the client means. A store that was lost counts anew."""
        if at is None or after == 0:
            return True
        found = (await self._house.service.feed(after - 1, 1)).facts
        return bool(found) and (found[0]["seq"], found[0]["at"]) == (after, at)

    async def _status(self, payload: dict[str, Any], _key: str | None) -> dict[str, Any]:
        return {"payload": brief(await self._house.sessions.shown(_session(payload)))}

    async def _open(self, payload: dict[str, Any], _key: str | None) -> dict[str, Any]:
        self._refuse_reader()
        return {"payload": await self._house.sessions.open(_session(payload), by=BY)}

    async def _resume(self, payload: dict[str, Any], _key: str | None) -> dict[str, Any]:
        self._refuse_reader()
        return {"payload": await self._house.sessions.resume(_session(payload), by=BY)}

    async def _prompt(self, payload: dict[str, Any], key: str | None) -> dict[str, Any]:
        self._refuse_reader()
        text, given = payload.get("text"), payload.get("prompt_id") or new_id(key, "prompt", 16)
        if not isinstance(text, str) or not isinstance(given, str):
            raise UsageError("a prompt has a `text`", "see docs/http.md")
        return {"payload": await self._house.sessions.prompt(_session(payload), text, given)}

    async def _watch(self, payload: dict[str, Any], _key: str | None) -> dict[str, Any]:
        found = await self._house.sessions.here(_session(payload), "what is said there is heard there")
        if len(self._watched) >= _MOST_WATCHED and found.id not in self._watched:
            raise UsageError(f"one connection watches {_MOST_WATCHED} conversations at most", "unwatch some")
        start = payload.get("from", -1)
        if isinstance(start, bool) or not isinstance(start, int):
            raise UsageError("`from` is the number of an entry", "a negative one counts from the end")
        page = await self._house.pages.page(found.id, start, 1)
        self._watched[found.id] = ReadPlace(page.start)
        self._news.add(found.id)
        self._wake.set()
        return {"payload": {"session": found.id, "total": page.total}}

    async def _unwatch(self, payload: dict[str, Any], _key: str | None) -> dict[str, Any]:
        self._watched.pop(_session(payload), None)
        return {"payload": {}}

    def _refuse_reader(self) -> None:
        if not self._may_act:
            raise read_only()

    async def _push_all(self) -> None:
        while True:
            self._wake.clear()
            if not await self._push_facts() and not await self._push_entries():
                await self._wake.wait()

    async def _push_facts(self) -> bool:
        """Push the next facts; whether there were any."""
        if self._after is None or not self._has_facts:
            return False
        self._has_facts = False
        facts = (await self._house.service.feed(self._after, PAGE)).facts
        last = {fact["session"]: fact["seq"] for fact in facts}
        for fact in facts:
            view = None
            if last[fact["session"]] == fact["seq"]:
                view = await self._shown(fact["session"])
            for frame in frames(fact, view):
                await self._send(frame)
            self._after = fact["seq"]
        self._has_facts = self._has_facts or bool(facts)
        return bool(facts)

    async def _shown(self, session: str) -> SessionView | None:
        """The session now; None if this host has it no longer: the facts about it are told all the same."""
        try:
            found = await self._house.service.find(session)
        except RekindleError:
            return None
        return self._house.service.shown(found)

    async def _push_entries(self) -> bool:
        """Push what was added to one of the conversations that are watched; whether there was anything."""
        while self._news:
            session = self._news.pop()
            place = self._watched.get(session)
            if place is None and not self._hears_all:
                continue
            if place is None:  # its last entry may be growing
                place = self._watched[session] = ReadPlace((await self._house.pages.page(session, -1, 1)).start)
            entries, total = await self._house.pages.news(session, place, _ENTRIES)
            if entries:
                payload = {"session": session, "total": total, "entries": entries}
                await self._send({"seq": self._after or 0, "event": MESSAGE, "payload": payload})
                if len(entries) == _ENTRIES or sum(len(one.text) for one in entries) >= MOST_TEXT:
                    self._news.add(session)
                return True  # facts come first
        return False


def frames(fact: dict[str, Any], view: Any) -> Iterator[dict[str, Any]]:
    """The events of one fact, all with its number; `more`: another one of the same fact follows."""
    names = events_of(str(fact["fact"]))
    for name in names:
        payload: dict[str, Any] = {"session": fact["session"], "fact": fact, "view": view}
        if name == RECEIPT:
            payload["receipt"] = fact["receipt"]
        more = {"more": True} if name != names[-1] else {}
        yield {"seq": fact["seq"], "event": name, "payload": payload, **more}


def _said(text: str) -> ClientSaid:
    """What a client says. Raises msgspec.DecodeError."""
    try:
        return msgspec.json.decode(text, type=ClientSaid)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


def _session(payload: dict[str, Any]) -> str:
    """The session that is meant: the seed's name for it is accepted too."""
    found = payload.get("session") or payload.get("session_id") or payload.get("task_session_id")
    if not isinstance(found, str):
        raise UsageError("say which session is meant", 'for example {"session": "0123456789"}')
    return found


def _failed(id_: str | int | None, error: RekindleError) -> dict[str, Any]:
    return {"re": id_, "ok": False, "error": msgspec.to_builtins(problem_of(error))}


def _encoded(what: dict[str, Any]) -> str:
    try:
        return msgspec.json.encode(what).decode()
    except UnicodeEncodeError:  # half a character, from an agent
        import json

        return json.dumps(msgspec.to_builtins(what))
