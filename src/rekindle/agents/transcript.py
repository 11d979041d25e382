"""stub: the other helper's file"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Record:
    prompts: tuple[str, ...]
    entries: int
    said: str = ""
    open_tools: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Repaired:
    data: bytes
    changes: tuple[str, ...] = ()


class TranscriptDialect(Protocol):
    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str: ...
    def read(self, data: bytes) -> Record: ...
    def repair(self, data: bytes) -> Repaired: ...


def extends(dialect: TranscriptDialect, older: bytes, newer: bytes) -> bool:
    a, b = (dialect.repair(one).data.split(b"\n") for one in (older, newer))
    a = [x for x in a if x]
    return a == b[: len(a)]
