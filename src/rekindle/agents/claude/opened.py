"""Which conversation Claude Code loads from a transcript, as a pure function: records in, one branch of the tree out.

A transcript is a tree (`uuid`, `parentUuid`), and `--resume` opens one branch of it; whatever is not on that branch
stays in the file and never reaches the model. The rule was measured with the versions in `MEASURED`, and tests compare
it with those programs on random trees (`tests/real/test_claude_trees.py`). It is a model of them: what an agent really
continued with shows in its first new record (`above`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final

import msgspec

from rekindle.agents.base import fields

Row = dict[str, Any]

_KINDS: Final = ("user", "assistant", "attachment", "system")
_SPOKEN: Final = ("user", "assistant")
#: A row whose parent is missing is attached to the nearest row before it, if that is at most this many seconds older.
_SPLICE_SECONDS: Final = 5.0


class LeafRule(Enum):
    """How the leaf is chosen. The rules differ if the file names none."""

    LAST_ROW = "the last row of the file"
    NEWEST_BELOW = "the newest row at or below the last one of the file"


#: The versions whose choice was measured.
MEASURED: Final[Mapping[str, LeafRule]] = {"2.1.197": LeafRule.LAST_ROW, "2.1.325": LeafRule.NEWEST_BELOW}


class LoadedBranch(msgspec.Struct, frozen=True):
    """What is loaded: its rows from the first to the leaf, and the notes after it, which nobody said.

    `behind` are the rows that a summary stands for. `spliced` are rows whose parent is missing and that were attached
    to another one, and `cut` is the row after which nothing is loaded because its parent is missing. `refused`: the
    program would say that there is no such conversation.
    """

    rows: tuple[Row, ...] = ()
    leaf: str | None = None
    behind: tuple[Row, ...] = ()
    spliced: tuple[str, ...] = ()
    cut: str | None = None
    refused: bool = False


class _Scan:
    """The rows of a file by name, and what its lines say about the leaf. The later text of a row counts."""

    def __init__(self, records: Iterable[Row]) -> None:
        self.rows: dict[str, Row] = {}
        self.last: str | None = None
        self.named: str | None = None
        self.explicit = self.cleared = False
        self.boundary: str | None = None
        for record in records:
            self._take(record)

    def _take(self, record: Row) -> None:
        if record.get("type") == "last-prompt":
            self._name(record.get("leafUuid"), explicit=record.get("explicit") is True)
            return
        uuid = _uuid(record)
        if uuid is None:
            return
        self.rows[uuid] = record
        if record.get("isSidechain") is not True:
            self.last, self.explicit, self.cleared = uuid, False, False
        if _is_boundary(record):
            self.named, self.explicit, self.boundary = None, False, uuid

    def _name(self, leaf: object, *, explicit: bool) -> None:
        if isinstance(leaf, str):
            self.explicit = explicit or (self.explicit and leaf == self.named)
            self.named = leaf
        elif leaf is None and explicit:
            self.cleared = True


def opened(records: Iterable[Row], rule: LeafRule) -> LoadedBranch:
    """The branch that a resume loads from these records, in the order of the file."""
    found = _Scan(records)
    if found.cleared or found.last is None:
        return LoadedBranch()
    everything = dict(found.rows)
    kept = _relinked(found)
    rows = found.rows if kept is None else kept
    start = _start(found, rows, rule, is_summed=kept is not None)
    leaf = _spoken_at(rows, start)
    if leaf is None:
        return LoadedBranch()
    if rows[leaf].get("isSidechain") is True:
        return LoadedBranch(leaf=leaf, refused=True)
    assert start is not None
    return _branch(rows, everything, start, leaf)


def above(records: Iterable[Row], first: str, *, splices: bool) -> LoadedBranch:
    """The branch that ends with a row: what the agent had loaded when it wrote it. `splices`: as in `LoadedBranch`."""
    found = _Scan(records)
    if first not in found.rows:
        return LoadedBranch()
    kept = _relinked(found)
    rows = kept if kept is not None and first in kept else found.rows
    return _branch(rows, found.rows, first, first, splices=splices)


def is_row(record: Row) -> bool:
    """Whether a record is part of the tree."""
    return _uuid(record) is not None


def rows_below(records: Iterable[Row], wanted: str) -> list[str]:
    """What was said at or below a row, in file order: the possible leaves of a branch with that row."""
    rows = _Scan(records).rows
    below = {wanted}
    for uuid, row in rows.items():
        if row.get("parentUuid") in below:
            below.add(uuid)
    return [one for one, row in rows.items() if one in below and _is_spoken(row) and row.get("isSidechain") is not True]


def _relinked(found: _Scan) -> dict[str, Row] | None:
    """The rows after a summary whose kept messages are all there: summary, kept messages, what came since."""
    if found.boundary is None:
        return None
    metadata = fields.mapping(found.rows[found.boundary].get("compactMetadata"))
    preserved = fields.mapping(metadata.get("preservedMessages"))
    names, anchor = preserved.get("uuids"), preserved.get("anchorUuid")
    if not isinstance(names, list) or not names or any(name not in found.rows for name in names):
        return None
    order = list(found.rows)
    since = set(order[order.index(found.boundary) :])
    rows = {uuid: row for uuid, row in found.rows.items() if uuid in since or uuid in names}
    gone = found.rows.keys() - rows.keys()
    for uuid, row in list(rows.items()):
        if uuid not in names and (row.get("parentUuid") == anchor or row.get("parentUuid") in gone):
            rows[uuid] = {**row, "parentUuid": names[-1]}
    for before, uuid in zip([anchor, *names], names, strict=False):
        rows[uuid] = {**rows[uuid], "parentUuid": before}
    return rows


def _start(found: _Scan, rows: Mapping[str, Row], rule: LeafRule, *, is_summed: bool) -> str | None:
    """Where the walk up begins: at the row that the file names, or at its last one."""
    named = found.named if found.named in rows else None
    if is_summed and not (found.explicit and named is not None):
        leaves = _leaves(rows)
        if len(leaves) == 1:
            return leaves[0]
        return named if named in leaves else found.last
    if named is not None and not found.explicit and found.last in rows and named in _way_up(rows, found.last):
        named = found.last
    if named is not None:
        return named
    if found.last is None or rule is LeafRule.LAST_ROW or found.named is not None:
        return found.last
    return _newest_below(rows, found.last)


def _leaves(rows: Mapping[str, Row]) -> list[str]:
    parents = {row.get("parentUuid") for row in rows.values() if _is_spoken(row)}
    return [
        uuid
        for uuid, row in rows.items()
        if _is_spoken(row) and row.get("isSidechain") is not True and uuid not in parents
    ]


def _newest_below(rows: Mapping[str, Row], last: str) -> str:
    below = {last}
    newest = last
    for uuid, row in rows.items():
        if uuid != last and row.get("parentUuid") in below and row.get("isSidechain") is not True:
            below.add(uuid)
            newest = max(newest, uuid, key=lambda one: _time(rows[one]))
    return newest


def _spoken_at(rows: Mapping[str, Row], start: str | None) -> str | None:
    if start is None or start not in rows:
        return None
    return next((uuid for uuid in _way_up(rows, start) if _is_spoken(rows[uuid])), None)


def _way_up(rows: Mapping[str, Row], start: str | None) -> Iterator[str]:
    seen: set[str] = set()
    while isinstance(start, str) and start in rows and start not in seen:
        seen.add(start)
        yield start
        start = rows[start].get("parentUuid")


def _branch(
    rows: Mapping[str, Row], everything: Mapping[str, Row], start: str, leaf: str, *, splices: bool = True
) -> LoadedBranch:
    chain: dict[str, Row] = {}
    spliced: list[str] = []
    cut = None
    order = list(rows)
    at: str | None = start
    while at is not None and at not in chain:
        row = chain[at] = rows[at]
        parent = row.get("parentUuid")
        if _is_boundary(row) or not isinstance(parent, str):
            break
        if parent not in rows:
            hung = _nearest(rows, order, at, chain) if splices else None
            if hung is None:
                cut = at
                break
            spliced.append(at)
            parent = hung
        at = parent
    found = list(chain.values())[::-1]
    behind = tuple(_behind(everything, found[0])) if found and _is_boundary(found[0]) else ()
    return LoadedBranch(tuple(found), leaf, behind, tuple(spliced), cut)


def _nearest(rows: Mapping[str, Row], order: Sequence[str], at: str, chain: Mapping[str, Row]) -> str | None:
    """The row that one without a parent is attached to."""
    here = _time(rows[at])
    for uuid in reversed(order[: order.index(at)]):
        row = rows[uuid]
        if uuid in chain or row.get("isSidechain") is True:
            continue
        age = here - _time(row)
        return uuid if 0 <= age <= _SPLICE_SECONDS else None
    return None


def _behind(everything: Mapping[str, Row], boundary: Row) -> list[Row]:
    """What was said before a summary, back to the beginning: older summaries stand for what came before them."""
    found: dict[str, Row] = {}
    at = boundary.get("logicalParentUuid")
    while isinstance(at, str) and at in everything and at not in found:
        row = found[at] = everything[at]
        at = row.get("logicalParentUuid") if _is_boundary(row) else row.get("parentUuid")
    return list(found.values())[::-1]


def _uuid(record: Row) -> str | None:
    uuid = record.get("uuid")
    return uuid if record.get("type") in _KINDS and isinstance(uuid, str) else None


def _is_boundary(row: Row) -> bool:
    return row.get("type") == "system" and row.get("subtype") == "compact_boundary"


def _is_spoken(row: Row) -> bool:
    return row.get("type") in _SPOKEN


def _time(row: Row) -> float:
    try:
        return datetime.fromisoformat(fields.text(row.get("timestamp"))).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
