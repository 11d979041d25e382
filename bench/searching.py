"""Measures search over many conversations, against reading and decoding every spool for each question."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, time_ns
from typing import Any

from bench.measured import Disagreement, Measured, in_turn, rounded
from bench.stage import Stage
from rekindle.adapters.search.index import SearchIndex
from rekindle.core.masking import Masker
from rekindle.core.search import expression
from rekindle.keeper.input_records import InputReader, InputRecord
from rekindle.keeper.outcome import EndedBy, ExitRecord, create_exit_file, write_exit

_SESSIONS = 100
_WORD = "albatross"
_EVERY = 1_999
_WARM = 5
_WORDS = (
    "the",
    "parser",
    "reads",
    "tokens",
    "from",
    "lexer",
    "and",
    "builds",
    "nodes",
    "which",
    "module",
    "cache",
    "keeps",
)


def search(stage: Stage) -> Measured:
    """A word that a few messages have: from the index, which is up to date, and by reading everything."""
    sessions, path = stage.folder / "spools", str(stage.folder / "search.db")
    lines = stage.sizes.long * 3 // 10
    if not sessions.exists():
        _write(sessions, lines)
    index = SearchIndex(path, str(sessions), lambda _: Masker())
    wanted = expression(_WORD)
    assert wanted is not None
    begun = perf_counter()
    expected = len(index.search(wanted, time_ns() + 10**10, limit=1_000))
    building = perf_counter() - begun

    def reference() -> float:
        begun = perf_counter()
        found = _naive(sessions)
        spent = perf_counter() - begun
        if found != expected or not found:
            raise Disagreement(f"reading everything finds {found} messages, the index {expected}")
        return spent

    def candidate() -> float:
        seconds: list[float] = []
        for _ in range(_WARM):
            begun = perf_counter()
            found = index.search(wanted, time_ns())
            seconds.append(perf_counter() - begun)
            if len(found) != min(expected, 20):
                raise Disagreement("the index finds something else each time")
        return median(seconds)

    measured = in_turn(stage.sizes.heavy, reference, candidate)
    size = sum(file.stat().st_size for file in sessions.glob("*/1/out"))
    facts = {"sessions": _SESSIONS, "lines": lines, "bytes": size, "hits": expected}
    return replace(measured, facts={**facts, "building_the_index_ms": rounded(building * 1000)})


def _naive(sessions: Path) -> int:
    """How many messages have the word: every spool is read and decoded, and a message is put together of its pieces."""
    found = 0
    for folder in sorted(sessions.iterdir()):
        with open(folder / "1" / "in", "rb") as file:
            for record in InputReader(file):
                blocks = json.loads(record.payload).get("params", {}).get("prompt") or []
                found += any(_WORD in block.get("text", "") for block in blocks)
        said = ""
        with open(folder / "1" / "out", "rb") as file:
            for line in file:
                update = json.loads(line).get("params", {}).get("update", {})
                if update.get("sessionUpdate") == "agent_message_chunk":
                    said += update["content"]["text"]
                    continue
                found += _WORD in said
                said = ""
                found += any(_WORD in part["content"]["text"] for part in update.get("content") or [])
        found += _WORD in said
    return found


def _write(sessions: Path, lines: int) -> None:
    each = lines // _SESSIONS
    for number in range(_SESSIONS):
        folder = sessions / f"{number:010x}" / "1"
        folder.mkdir(parents=True)
        requests = [
            ("1-initialize", "initialize", {"protocolVersion": 1}),
            ("1-new", "session/new", {"cwd": "/work", "mcpServers": []}),
            ("1-prompt-p", "session/prompt", {"sessionId": "c", "prompt": [{"type": "text", "text": "Go on, please"}]}),
        ]
        with open(folder / "in", "wb") as file:
            for n, (name, method, params) in enumerate(requests, start=1):
                payload = json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": params}).encode()
                file.write(InputRecord(n, 1, name, payload).encode())
        with open(folder / "out", "wb") as file:
            file.writelines(
                json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
                for message in _spoken(number, each)
            )
        write_exit(create_exit_file(str(folder)), _exit(folder))
        os.utime(folder.parent, ns=(1, 1))


def _spoken(number: int, each: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(number)
    yield {"id": "1-initialize", "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}
    yield {"id": "1-new", "result": {"sessionId": "c"}}
    for line in range(each):
        rare = f"{_WORD} " if (number * each + line) % _EVERY == 0 else ""
        text = rare + " ".join(chance.choices(_WORDS, k=8)) + f" {chance.randrange(10**6)} "
        update: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        if line % 10 >= 8:
            output = text + "\n".join(" ".join(chance.choices(_WORDS, k=10)) for _ in range(20))
            content = [{"type": "content", "content": {"type": "text", "text": output}}]
            name = f"t{line - line % 10}"
            update = {"sessionUpdate": "tool_call", "toolCallId": name, "title": f"Read {line}", "kind": "read"}
            if line % 10 == 9:
                done = {"status": "completed", "content": content}
                update = {"sessionUpdate": "tool_call_update", "toolCallId": name, **done}
        yield {"method": "session/update", "params": {"sessionId": "c", "update": update}}


def _exit(folder: Path) -> ExitRecord:
    return ExitRecord(
        session=folder.parent.name,
        attempt=1,
        generation=1,
        ended_by=EndedBy.STOP,
        reason="asleep",
        code=0,
        signal=None,
        written_by="keeper",
        out_size=0,
        err_size=0,
        in_size=0,
        spooled_n=3,
        started_n=3,
        delivered_n=3,
        truncated_out=None,
        truncated_err=None,
        swept=(),
        swept_count=0,
        left=(),
        started_at=0.0,
        ended_at=1.0,
        boot="",
    )
