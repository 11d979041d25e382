"""Copilot CLI's conversation file: what its records mean. Checked against the real program, 1.0.102."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from typing import Any

from rekindle.agents.base import fields
from rekindle.agents.base.json_lines import Reading, home


class CopilotMeaning:
    """See `rekindle.agents.base.json_lines.Meaning`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        own = home(environment, "COPILOT_HOME", ".copilot")
        return posixpath.normpath(posixpath.join(cwd, own, "session-state", token, "events.jsonl"))

    def is_record(self, found: dict[str, Any]) -> bool:
        return isinstance(found.get("type"), str) and "id" in found and isinstance(found.get("data"), dict)

    def name(self, record: dict[str, Any]) -> str | None:
        return fields.optional_text(record.get("id"))

    def take(self, record: dict[str, Any], reading: Reading) -> None:
        data = fields.mapping(record.get("data"))
        match record.get("type"):
            case "user.message":
                reading.prompt(fields.text(data.get("content")))
            case "assistant.message":
                reading.say(fields.text(data.get("content")))
                for asked in fields.mappings(data.get("toolRequests")):
                    title = f"{fields.text(asked.get('name'))} {json.dumps(asked.get('arguments'), ensure_ascii=False)}"
                    reading.start(fields.text(asked.get("toolCallId")), title)
            case "session.compaction_complete" if data.get("success") is True:
                reading.compacted()
            case "session.truncation" if data.get("messagesRemovedDuringTruncation"):
                reading.compacted()
            case "tool.execution_complete":
                reading.finish(fields.text(data.get("toolCallId")))
