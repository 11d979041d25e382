"""The Agent Client Protocol as a dialect: the state of the wire, and what we send over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rekindle.agents.acp import messages
from rekindle.agents.acp.decoding import Message, Request, Response, decode
from rekindle.agents.acp.wire import Wire
from rekindle.agents.base import fields
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult, Outgoing, SpeaksInLines
from rekindle.agents.base.observation import AgentAskedPermission, CallbackAsked, How, Initialized, Observation

_CODES: Final = {
    "not_served": -32601,
    "bad_request": -32602,
    "not_found": -32002,
    "not_allowed": -32000,
    "failed": -32603,
}


class AcpDialect(Wire, SpeaksInLines):
    """See `agents.base.dialect.Dialect`. `stored_token` is needed if a shortened spool no longer shows the token."""

    #: What an agent offers beyond the protocol, and only to a client that asks for it.
    extensions: Mapping[str, Any] | None = None

    def __init__(self, generation: int, cwd: str, stored_token: str | None = None) -> None:
        super().__init__(generation)
        self._cwd = cwd
        self._stored_token = stored_token
        self._wanted: tuple[How, str | None] | None = None
        self._decoded: tuple[bytes, Message | None] = (b"", None)

    def begin(self, how: How, token: str | None) -> list[Outgoing]:
        """Greet the agent or, if that is done already, ask for the conversation."""
        self._wanted = (how, token)
        if self.open.initialized is not None:
            return [self._asking(how, token)]
        return [messages.initialize(self.generation, extensions=self.extensions)]

    def follow_up(self, seen: Observation) -> list[Outgoing]:
        """Ask for the conversation once the agent has greeted us, if it can do what is wanted."""
        if not isinstance(seen, Initialized) or self._wanted is None:
            return []
        how, token = self._wanted
        return [self._asking(how, token)] if how != "load" or seen.can_load or seen.can_resume else []

    def say(self, prompt_id: str, text: str) -> Outgoing:
        """The message that carries a prompt."""
        return messages.prompt(self.generation, prompt_id, self.token or self._stored_token or "", text)

    def cancel(self, prompt_id: str) -> list[Outgoing]:
        """End a turn; questions that the agent still has open are answered as cancelled."""
        asked = [one for one in self.open.unanswered if isinstance(one, AgentAskedPermission)]
        token = self.token or self._stored_token
        stop = [messages.cancel(self.generation, prompt_id, token)] if token else []
        return stop + [messages.answer(self.generation, one.request_id, messages.CANCELLED) for one in asked]

    def answer(self, request: str, option: str | None) -> Outgoing | None:
        """The answer to a request for permission, if it is still open."""
        for asked in self.open.unanswered:
            if fields.key(asked.request_id) == request:
                result = messages.selected(option) if option is not None else messages.CANCELLED
                return messages.answer(self.generation, asked.request_id, result)
        return None

    def reply(self, asked: CallbackAsked, result: CallbackResult) -> Outgoing | None:
        """The answer to something that the agent asked us to do."""
        if isinstance(result, CallbackRefused):
            return messages.refuse(self.generation, asked.request_id, _CODES[result.reason], result.message)
        return messages.answer(self.generation, asked.request_id, result)

    def prompt_in(self, message_id: str, line: bytes) -> tuple[str, str] | None:
        """The id and text of the prompt, if our message is one."""
        return messages.prompt_in(message_id, line)

    def is_due(self, message_id: str, line: bytes) -> bool:
        """Whether our message can have been sent by now."""
        match self._message(line):
            case Response(request_id=request_id):
                return self.has_asked(fields.key(request_id))
            case Request(method="session/prompt"):
                return self.token is not None and not self.is_prompting and not self.is_opening
            case Request(method=method):
                return method == "initialize" or not self.is_awaiting
            case _:
                return True

    def needed(self, line: bytes, waiting: Sequence[tuple[str, bytes]]) -> int:
        """How many messages must have been sent before this line, because the line answers the last of them."""
        answer = self._read(line)
        if not isinstance(answer, Response) or answer.request_id is None:
            return 0
        asked = (decode(payload) for _, payload in waiting)
        return next(
            (
                at
                for at, one in enumerate(asked, start=1)
                if isinstance(one, Request) and one.request_id == answer.request_id
            ),
            0,
        )

    def _message(self, line: bytes) -> Message | None:
        """The head of the queue is checked again for every line, so it is decoded only once."""
        if self._decoded[0] is not line:
            self._decoded = (line, decode(line))
        return self._decoded[1]

    def _asking(self, how: How, token: str | None) -> Outgoing:
        """Prefer a load: it replays the conversation, which proves that it is the same one."""
        if how == "load" and token is not None:
            can = self.open.initialized
            ask = messages.load_session if can is None or can.can_load else messages.resume_session
            return ask(self.generation, token, self._cwd)
        return messages.new_session(self.generation, self._cwd)
