"""Amp's stream (`--execute --stream-json --stream-json-input`), written from its documentation and never tried.

The lines are those of Claude Code, with two differences. Amp answers nothing before the first prompt, so it counts as
ready once it has been running silently for a moment; the line that begins the first turn names a new thread. And it
accepts nothing but prompts: a turn cannot be interrupted, and Amp asks for no permission.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from rekindle.agents.base import fields
from rekindle.agents.base.dialect import Awaited, Opening, OpenState, OurRequest, Outgoing, Silence
from rekindle.agents.base.lenient import encode_line, parse
from rekindle.agents.base.observation import How, Observation
from rekindle.agents.base.transcript import Record
from rekindle.agents.claude.dialect import ClaudeDialect

#: If it cannot start (no account, no such thread), it ends sooner than this.
READY_SECONDS: Final = 2.0


class AmpDialect(ClaudeDialect):
    """See `rekindle.agents.base.dialect.Dialect`."""

    @property
    def open(self) -> OpenState:
        """What is still open between the agent and us. A new thread has an empty name until the agent reports one."""
        found = super().open
        return replace(found, token="") if found.token is None and found.opened == "new" else found

    def begin(self, how: How, token: str | None) -> list[Outgoing]:
        """The command line already said which thread it is."""
        self.asked = Opening(how, token or self._stored_token)
        return []

    def silence(self, seconds: float, turn: Awaited | None, record: Record | None) -> Silence:
        """It is running and has said nothing, so it is waiting for a prompt."""
        if self.asked is None or self._opened is not None or seconds < READY_SECONDS:
            return "nothing"
        self._opened = self.asked.how
        self.token = self.asked.token if self.asked.how == "load" else self.token
        return "ready"

    def say(self, prompt_id: str, text: str) -> Outgoing:
        """The message that carries a prompt."""
        content = [{"type": "text", "text": text}]
        body = {"type": "user", "message": {"role": "user", "content": content}}
        return Outgoing(f"{self.generation}-prompt-{prompt_id}", encode_line(body))

    def cancel(self, prompt_id: str) -> list[Outgoing]:
        """Amp reads nothing that would end a turn."""
        return []

    def prompt_in(self, message_id: str, line: bytes) -> tuple[str, str] | None:
        """The id and text of the prompt, if our message is one."""
        _, _, key = message_id.partition("-")
        blocks = fields.mappings(fields.mapping(fields.mapping(parse(line)).get("message")).get("content"))
        texts = [fields.text(one.get("text")) for one in blocks if one.get("type") == "text"]
        return (key.removeprefix("prompt-"), "".join(texts)) if key.startswith("prompt-") and texts else None

    def sent(self, message_id: str, line: bytes) -> None:
        """One record of the input spool, in order."""
        prompt = self.prompt_in(message_id, line)
        if message_id in self._messages or prompt is None:
            return
        self._messages.add(message_id)
        self._prompt = OurRequest(message_id, "prompt", self.token or "", prompt[0])

    def is_due(self, message_id: str, line: bytes) -> bool:
        """Prompts are sent one after the other."""
        return self._prompt is None

    def _result(self, value: dict[str, Any], line: bytes) -> list[Observation]:
        error = fields.text(value.get("error"))
        return super()._result({**value, "result": error} if error and not value.get("result") else value, line)
