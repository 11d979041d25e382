"""Recorded conversations: what we sent and what the agent wrote, in the order of a live daemon.

A golden file has one JSON object per line: `{"in": message id, "message": …}`, or `{"out": …, "sees": […]}` with the
observations of that line (`out` is a text where the agent wrote no JSON), and at its end `{"open": …}`.
`python -m tests.acp_conversations` writes `sees` and `open` anew; look at the difference before you keep it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.dialect import OpenState
from rekindle.agents.base.observation import Observation

GOLDEN = Path(__file__).parent / "unit" / "acp" / "golden"
GENERATION = 3


class Sent(msgspec.Struct, frozen=True):
    message_id: str
    line: bytes


class Received(msgspec.Struct, frozen=True):
    line: bytes


Step = Sent | Received


class Golden(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...]
    sees: tuple[list[Any], ...]
    open: Any


def golden_names() -> list[str]:
    return sorted(path.stem for path in GOLDEN.glob("*.jsonl"))


def read_golden(name: str) -> Golden:
    steps: list[Step] = []
    sees: list[list[Any]] = []
    state: Any = None
    for text in (GOLDEN / f"{name}.jsonl").read_text().splitlines():
        value = json.loads(text)
        match value:
            case {"in": message_id, "message": message}:
                steps.append(Sent(message_id, _line(message)))
            case {"out": out}:
                steps.append(Received(out.encode() if isinstance(out, str) else _line(out).removesuffix(b"\n")))
                sees.append(value.get("sees", []))
            case {"open": state}:
                pass
    return Golden(tuple(steps), tuple(sees), state)


def live(steps: tuple[Step, ...], generation: int = GENERATION) -> tuple[OpenState, list[list[Observation]]]:
    """What a daemon gets that was there all the time."""
    wire = AcpDialect(generation, "/w")
    sees = [observed for step in steps if (observed := feed(wire, step)) is not None]
    return wire.open, sees


def feed(wire: AcpDialect, step: Step) -> list[Observation] | None:
    if isinstance(step, Sent):
        wire.sent(step.message_id, step.line)
        return None
    return wire.received(step.line)


def plain(value: object) -> Any:
    return json.loads(msgspec.json.encode(value))


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _rewrite(name: str) -> None:
    path = GOLDEN / f"{name}.jsonl"
    state, sees = live(read_golden(name).steps)
    left = iter(sees)
    lines = []
    for text in path.read_text().splitlines():
        value = json.loads(text)
        if "open" in value:
            continue
        if "out" in value:
            value["sees"] = plain(next(left))
        lines.append(json.dumps(value, ensure_ascii=False))
    lines.append(json.dumps({"open": plain(state)}, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for each in golden_names():
        _rewrite(each)
