"""Gemini CLI's conversation file: what its records mean. Checked against the real program, 0.61.0.

Later lines change earlier ones: a message that is written again replaces the older one, and `$set` with messages
replaces all of them. Each load leaves behind a second file without a prompt in it, and the next start deletes every
file of a conversation that has such a shell: the shell has to be moved aside before a load.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.json_lines import Reading, home

#: What the program itself tells the model in the user's name.
_ITS_OWN: Final = ("<session_context>", "<hook_context>")


class GeminiMeaning:
    """See `rekindle.agents.base.json_lines.Meaning`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """The token tells neither the project's folder nor the minute in which the conversation began."""
        own = home(environment, "GEMINI_CLI_HOME", "")
        chats = posixpath.join(cwd, own, ".gemini", "tmp", "*", "chats")
        return posixpath.join(posixpath.normpath(chats), f"session-*-{token[:8]}.jsonl")

    def is_record(self, found: dict[str, Any]) -> bool:
        return "$set" in found or ("id" in found and isinstance(found.get("type"), str)) or "projectHash" in found

    def name(self, record: dict[str, Any]) -> str | None:
        """A message may be written again with more in it: what it says names it, not its id."""
        return None

    def take(self, record: dict[str, Any], reading: Reading) -> None:
        replaced = fields.mapping(record.get("$set")).get("messages")
        if isinstance(replaced, list):
            reading.forget()
            for message in fields.mappings(replaced):
                _take(message, reading)
        elif "id" in record:
            _take(record, reading)


def _take(message: dict[str, Any], reading: Reading) -> None:
    match message.get("type"):
        case "user":
            text = "".join(_texts(message.get("content")))
            if text and not text.lstrip().startswith(_ITS_OWN):
                reading.prompt(text)
        case "gemini":
            reading.say("".join(_texts(message.get("content"))))
            for call in fields.mappings(message.get("toolCalls")):
                title = f"{fields.text(call.get('name'))} {json.dumps(call.get('args'), ensure_ascii=False)}"
                reading.start(fields.text(call.get("id")), title)
                if call.get("result") is not None:
                    reading.finish(fields.text(call.get("id")))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for part in fields.mappings(content if isinstance(content, list) else [content]):
        yield fields.text(part.get("text"))
