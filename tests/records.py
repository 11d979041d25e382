"""A record in the simplest language: `u:TEXT;` is a prompt, `a:TEXT;` an answer, one a line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rekindle.agents.base.transcript import OneBranch, Record, Repaired

_LINE = re.compile(rb"[ua]:[^;:\0]*;")


class LineDialect(OneBranch):
    """See `rekindle.agents.base.transcript.TranscriptDialect`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        return f"{environment['AGENT_HOME']}/{token}.txt"

    def read(self, data: bytes) -> Record:
        lines = data.splitlines()
        whole = [line for line in lines if _LINE.fullmatch(line)]
        prompts = tuple(line[2:-1].decode("utf-8", "replace") for line in whole if line.startswith(b"u"))
        entries = tuple(line.decode("utf-8", "replace") for line in whole)
        return Record(prompts=prompts, entries=entries, problems=("bad line",) * (len(lines) - len(whole)))

    def repair(self, data: bytes) -> Repaired:
        changes: list[str] = []
        kept: list[bytes] = []
        for line in data.split(b"\n"):
            found = _LINE.findall(line)
            if line and (not found or found[-1] != line):
                changes.append("a damaged line was taken out")
            kept += found[-1:]
        if data and not data.endswith(b"\n"):
            changes.append("the last line was not closed")
        return Repaired(b"".join(line + b"\n" for line in kept) if changes else data, tuple(changes))
