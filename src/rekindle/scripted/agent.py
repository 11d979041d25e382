"""The ACP agent: sessions by name, and what each method of the protocol means for them."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rekindle.scripted import greeting, report, transcript
from rekindle.scripted.acting import ActionContext, TurnError
from rekindle.scripted.client import AcpClient
from rekindle.scripted.conversation import ASSISTANT, SESSION, TURN_ENDED, USER, Conversation, Record, Stop
from rekindle.scripted.failures import SESSION_NOT_FOUND
from rekindle.scripted.greeting import Offers
from rekindle.scripted.rpc import Message, RequestError
from rekindle.scripted.session import ScriptedSession
from rekindle.scripted.transcript import Transcript
from rekindle.scripted.turn import ScriptedTurn

_TITLE_LENGTH = 60
_CHARACTERS_PER_TOKEN = 4


class ScriptedAgent:
    """One agent process; any number of sessions, at most one turn at a time in each."""

    def __init__(
        self,
        home: Path,
        *,
        load: bool = True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._home = home
        self._load = load
        self._offers = Offers()
        self._now = now
        self._new_id = new_id
        self._sessions: dict[str, ScriptedSession] = {}
        self._client: AcpClient | None = None

    def on_connect(self, conn: AcpClient) -> None:
        """Set the client that gets updates."""
        self._client = conn

    async def initialize(self, offers: Offers) -> Message:
        """Say what this agent can do; remember what the client can do."""
        self._offers = offers
        return greeting.answer(load=self._load)

    async def new_session(self, cwd: str) -> Message:
        """Start a conversation."""
        _check_cwd(cwd)
        session_id = self._new_id()
        path = transcript.path_of(self._home, session_id)
        assert path is not None
        session = ScriptedSession(Transcript(path), Conversation(), cwd)
        session.record(SESSION, id=session_id, cwd=cwd, created=self._now().isoformat())
        self._sessions[session_id] = session
        return {"sessionId": session_id}

    async def load_session(self, session_id: str, cwd: str) -> Message:
        """Open a conversation again and show the client what was said and done in it."""
        records = self._open("session/load", session_id, cwd)
        assert self._client is not None
        for record in records:
            for update in report.replay(record, cwd):
                await self._client.update(session_id, update)
        return {}

    async def resume_session(self, session_id: str, cwd: str) -> Message:
        """Open a conversation again and show nothing."""
        self._open("session/resume", session_id, cwd)
        return {}

    async def list_sessions(self, cwd: str | None = None) -> Message:
        """All conversations of this home, or those of one folder, the newest first."""
        self._check_load("session/list")
        found: list[Message] = []
        for session_id in transcript.session_ids(self._home):
            path = transcript.path_of(self._home, session_id)
            if path is None:
                continue
            _, conversation = _remember(path)
            if conversation.cwd and cwd in (None, conversation.cwd):
                updated = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
                title = {"title": conversation.users[0][:_TITLE_LENGTH]} if conversation.users else {}
                found.append({"sessionId": session_id, "cwd": conversation.cwd, **title, "updatedAt": updated})
        return {"sessions": found}

    async def prompt(self, session_id: str, prompt: list[Any]) -> Message:
        """One turn."""
        session = self._sessions.get(session_id)
        if session is None:
            raise _not_found(session_id)
        if session.turn is not None:
            raise RequestError.invalid_request(f"A turn is in progress in session {session_id}")
        text = "\n".join(block["text"] for block in prompt if block["type"] == "text")
        session.record(USER, text=text)
        session.turn = turn = ScriptedTurn(session, self._hands(session_id, session))
        try:
            stop = await turn.play(text)
        except TurnError as failed:
            session.record(TURN_ENDED, stop="failed")
            raise RequestError(failed.code, failed.message, failed.data) from failed
        except asyncio.CancelledError:
            if not turn.cancelled:
                raise
            stop = "cancelled"
        finally:
            session.turn = None
        session.record(TURN_ENDED, stop=stop)
        return _response(stop, session.conversation)

    async def cancel(self, session_id: str) -> None:
        """End the turn in progress, if there is one."""
        session = self._sessions.get(session_id)
        if session is not None and session.turn is not None:
            session.turn.cancel()

    def _hands(self, session_id: str, session: ScriptedSession) -> ActionContext:
        assert self._client is not None

        def remember(text: str) -> None:
            session.record(ASSISTANT, text=text)

        return ActionContext(self._client, session_id, session.cwd, self._offers, remember, self._now)

    def _open(self, method: str, session_id: str, cwd: str) -> list[Record]:
        self._check_load(method)
        path = transcript.path_of(self._home, session_id)
        if path is None or not path.exists():
            raise _not_found(session_id)
        _check_cwd(cwd)
        live = self._sessions.get(session_id)
        if live is not None and live.turn is not None:
            raise RequestError.invalid_request(f"A turn is in progress in session {session_id}")
        records, conversation = _remember(path)
        if not conversation.cwd:
            raise _not_found(session_id)  # emptied: a conversation whose beginning is gone is not this conversation
        if live is not None:
            live.close()
        self._sessions[session_id] = ScriptedSession(Transcript(path), conversation, cwd)
        return records

    def _check_load(self, method: str) -> None:
        if not self._load:
            raise RequestError.method_not_found(method)


def _remember(path: Path) -> tuple[list[Record], Conversation]:
    records = list(transcript.read(path))
    conversation = Conversation()
    for record in records:
        conversation.evolve(record)
    return records, conversation


def _check_cwd(cwd: str) -> None:
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise RequestError.invalid_params(f"cwd must be an absolute path of a folder: {cwd}")


def _not_found(session_id: str) -> RequestError:
    return RequestError(SESSION_NOT_FOUND, f"Session not found: {session_id}", {"sessionId": session_id})


def _response(stop: Stop, conversation: Conversation) -> Message:
    heard = sum(len(text) for text in conversation.users) // _CHARACTERS_PER_TOKEN + 1
    spoken = conversation.spoken // _CHARACTERS_PER_TOKEN
    return {
        "stopReason": "cancelled" if stop == "cancelled" else "end_turn",
        "usage": {"inputTokens": heard, "outputTokens": spoken, "totalTokens": heard + spoken},
    }
