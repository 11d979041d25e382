"""An agent on the SDK's own agent side, run as a program by the tests: it asks for everything that it may ask for."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, cast

from acp import run_agent
from acp.exceptions import RequestError
from acp.helpers import start_tool_call, update_agent_message_text, update_tool_call, update_user_message_text
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)


class SdkAgent:
    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, *_: Any, **__: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="sdk", version="1"),
        )

    async def new_session(self, cwd: str, *_: Any, **__: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=f"for {cwd}")

    async def load_session(self, cwd: str, session_id: str, *_: Any, **__: Any) -> LoadSessionResponse:
        if session_id != "known":
            raise RequestError.resource_not_found(session_id)
        await self._client.session_update(session_id, update_user_message_text("what I asked"))
        await self._client.session_update(session_id, update_agent_message_text("what I was told"))
        return LoadSessionResponse()

    async def prompt(self, session_id: str, *_: Any, **__: Any) -> PromptResponse:
        say = self._client.session_update
        await say(session_id, update_agent_message_text("hello"))
        await say(session_id, start_tool_call("t1", "Edit", kind="edit", status="pending"))
        allowed = await self._client.request_permission(
            session_id=session_id,
            tool_call=ToolCallUpdate(tool_call_id="t1"),
            options=[PermissionOption(option_id="yes", name="Yes", kind="allow_once")],
        )
        read = await self._client.read_text_file(session_id=session_id, path="/w/a", line=1, limit=1)
        await say(session_id, update_tool_call("t1", status="completed"))
        await say(session_id, update_agent_message_text(f"{allowed.outcome.outcome} {read.content}"))
        try:
            await self._client.write_text_file(session_id=session_id, path="/etc/x", content="")
        except RequestError as error:
            raise RequestError(-32603, f"write failed: {error}", {"class": "overloaded"}) from error
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    print("a banner on stdout", flush=True)
    asyncio.run(run_agent(cast(Any, SdkAgent())))
    sys.exit(0)
