"""The scripted agent's own conversation file: where it is, what it says, how to repair it. Sans-IO."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping
from typing import Any, Final

from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.observation import OpenTool
from rekindle.agents.base.transcript import NoPlace, OneBranch, Record, Repaired
from rekindle.agents.base.transcript_lines import lines, repaired

_TOKEN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")
_KINDS: Final = ("session", "user", "assistant", "step-started", "step-finished", "turn-ended")


class ScriptedTranscript(OneBranch):
    """See `rekindle.agents.base.transcript.TranscriptDialect`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """`$REKINDLE_SCRIPTED_HOME/TOKEN.jsonl`, or below the user's state folder. Raises NoPlace."""
        if not _TOKEN.fullmatch(token):
            raise NoPlace(f"{token!r} cannot be the name of a conversation")
        return posixpath.normpath(posixpath.join(cwd, _home(environment), f"{token}.jsonl"))

    def read(self, data: bytes) -> Record:
        """What the file says. `open_tools` are the steps of the last prompt whose end nobody recorded."""
        prompts: list[str] = []
        entries: list[str] = []
        turns: list[Spoken] = []
        said = ""
        steps: dict[object, OpenTool] = {}
        problems: list[str] = []
        for line in lines(data, _is_record):
            if line.problem:
                problems.append(line.problem)
            for kept in line.kept:
                entries.append(hashlib.sha256(kept.data.strip()).hexdigest())
                match kept.record:
                    case {"kind": "user", "text": str(text)}:
                        prompts.append(text)
                        turns.append(Spoken("user", text))
                        said = ""
                        steps.clear()
                    case {"kind": "assistant", "text": str(text)}:
                        said += text
                        _say(turns, text)
                    case {"kind": "step-started", "number": int(number), "directive": str(directive)}:
                        steps[number] = _tool(kept.record.get("call"), number, directive)
                    case {"kind": "step-finished", "number": int(number)}:
                        steps.pop(number, None)
        return Record(
            prompts=tuple(prompts),
            entries=tuple(entries),
            said=said,
            turns=tuple(turns),
            open_tools=tuple(steps.values()),
            problems=tuple(problems),
        )

    def repair(self, data: bytes) -> Repaired:
        """Complete records, one per line."""
        return repaired(data, _is_record)


def _say(turns: list[Spoken], text: str) -> None:
    """Consecutive lines are one answer."""
    before = turns.pop().text + "\n" if turns and turns[-1].role == "assistant" else ""
    turns.append(Spoken("assistant", before + text))


def _home(environment: Mapping[str, str]) -> str:
    if own := environment.get("REKINDLE_SCRIPTED_HOME"):
        return own
    state = environment.get("XDG_STATE_HOME")
    if not state:
        if not environment.get("HOME"):
            raise NoPlace("the agent's environment has no HOME")
        state = posixpath.join(environment["HOME"], ".local", "state")
    return posixpath.join(state, "rekindle", "scripted")


def _tool(call: object, number: int, directive: str) -> OpenTool:
    name = call if isinstance(call, str) else f"step {number}"
    return OpenTool(tool_id=name, title=directive, kind="other", paths=(), status="pending")


def _is_record(found: dict[str, Any]) -> bool:
    return found.get("kind") in _KINDS
