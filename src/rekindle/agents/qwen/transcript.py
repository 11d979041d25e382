"""Qwen Code's conversation file: what its records mean. Checked against the real program, 0.24.4."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rekindle.agents.base import fields
from rekindle.agents.base.json_lines import Reading, home


class QwenMeaning:
    """See `rekindle.agents.base.json_lines.Meaning`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """In a folder named after the path, with a dash for everything that is neither a letter nor a digit."""
        slug = re.sub("[^A-Za-z0-9]", "-", cwd)
        own = home(environment, "QWEN_HOME", ".qwen")
        return posixpath.normpath(posixpath.join(cwd, own, "projects", slug, "chats", f"{token}.jsonl"))

    def is_record(self, found: dict[str, Any]) -> bool:
        return isinstance(found.get("type"), str) and "uuid" in found and "sessionId" in found

    def name(self, record: dict[str, Any]) -> str | None:
        return fields.optional_text(record.get("uuid"))

    def take(self, record: dict[str, Any], reading: Reading) -> None:
        match record.get("type"):
            case "user" if record.get("provenance", "real_user") == "real_user":
                reading.prompt("".join(fields.text(part.get("text")) for part in _parts(record)))
            case "assistant":
                for part in _parts(record):
                    call = fields.mapping(part.get("functionCall"))
                    if call:
                        title = f"{fields.text(call.get('name'))} {json.dumps(call.get('args'), ensure_ascii=False)}"
                        reading.start(fields.text(call.get("id")), title)
                    elif part.get("thought") is not True:
                        reading.say(fields.text(part.get("text")))
            case "system" if "compressedHistory" in fields.mapping(record.get("systemPayload")):
                reading.compacted()
            case "tool_result":
                for part in _parts(record):
                    reading.finish(fields.text(fields.mapping(part.get("functionResponse")).get("id")))


def _parts(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return fields.mappings(fields.mapping(record.get("message")).get("parts"))
