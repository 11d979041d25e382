"""What to do with an agent's record before a resume: keep, repair, switch to another branch, or restore. Sans-IO.

First the lines: they must be whole, and none that a kept copy has may be missing. Then the content: the conversation
that a resume would load must have everything that was acknowledged. If it cannot, the result says what is lacking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.transcript import Record, TranscriptDialect
from rekindle.core.vault.joining import join


@dataclass(frozen=True)
class RecordDecision:
    """`data` is what the file should contain; None if there is nothing to put there, or nothing to change.

    `lacks` says in words what a resume would continue without; empty: nothing that is known.
    """

    state: Literal["intact", "repaired", "restored", "missing"]
    record: Record
    data: bytes | None = None
    notes: tuple[str, ...] = ()
    lacks: str = ""


def decide(
    dialect: TranscriptDialect, current: bytes | None, copies: Iterable[bytes], expected: tuple[Spoken, ...] = ()
) -> RecordDecision:
    """Whether an agent's record can be loaded and, if not, what to put in its place.

    `current` is the record on disk (None: there is none), `copies` are kept ones, newest first.
    `expected` is what was acknowledged in this conversation.
    """
    kept = list(copies)
    found = _whole(dialect, current, kept)
    if not expected or found.state == "missing":
        return found
    lies = found.data if found.data is not None else current or b""
    return _complete(dialect, found, lies, kept, expected)


def _whole(dialect: TranscriptDialect, current: bytes | None, copies: Iterable[bytes]) -> RecordDecision:
    """Every line that can be read, here or in a copy of the same record."""
    mended = dialect.repair(current or b"")
    record = dialect.read(mended.data)
    here = _lines(mended.data) if record.entries else []
    best, unrelated = here, 0
    for copy in copies:
        if mended.data.startswith(copy):
            continue  # it has nothing that is not here
        whole = dialect.repair(copy).data
        if not dialect.read(whole).entries:
            continue
        joined = join(best, _lines(whole))
        if joined is None:
            unrelated += 1
        elif len(joined) > len(best):
            best = joined
    notes = [f"{unrelated} kept copies tell another story and were left alone" if unrelated > 1 else _ONE] * bool(
        unrelated
    )
    if not best:
        why = "there is no record" if current is None else "the record has nothing in it"
        return RecordDecision("missing", dialect.read(current or b""), notes=(f"{why}, and no copy of it was kept",))
    if best == here:
        if not mended.changes:
            return RecordDecision("intact", record, notes=tuple(notes))
        return RecordDecision("repaired", record, mended.data, (*mended.changes, *notes))
    data = b"\n".join(best) + b"\n"
    restored = dialect.read(data)
    lost = len(restored.entries) - (len(record.entries) if here else 0)
    return RecordDecision("restored", restored, data, (_what_was_wrong(current, here, lost), *mended.changes, *notes))


def _complete(
    dialect: TranscriptDialect, found: RecordDecision, lies: bytes, copies: list[bytes], expected: tuple[Spoken, ...]
) -> RecordDecision:
    """The first way that leads to a complete conversation."""
    whole = [dialect.repair(copy).data for copy in copies if not lies.startswith(copy)]
    written = frozenset[str]().union(*(dialect.written(one) for one in (lies, *whole)))
    lacks = dialect.lacks(lies, expected, written)
    if not lacks.any:
        return found
    if _went_back(dialect, found.record, lies, expected):
        return replace(found, notes=(*found.notes, _WENT_BACK))
    led = dialect.redirected(lies, expected, written)
    if led is not None:
        state = "repaired" if found.state == "intact" else found.state
        beside = _beside(_strange(found.record, expected))
        return RecordDecision(state, dialect.read(led.data), led.data, (*found.notes, *led.changes, *beside))
    for copy in whole:
        for data in _put_back(dialect, lies, copy):
            better = data if not dialect.lacks(data, expected, written).any else None
            if better is None and (led := dialect.redirected(data, expected, written)) is not None:
                better = led.data
            if better is not None:
                note = f"what lay there lacked {lacks.words}; the record was put back from the vault"
                return RecordDecision("restored", dialect.read(better), better, (note,))
    return replace(found, lacks=f"the agent's record lacks {lacks.words}")


def _put_back(dialect: TranscriptDialect, lies: bytes, copy: bytes) -> Iterator[bytes]:
    """A copy plus what has come since; only the copy if the file on disk is not the same conversation."""
    here, there = dialect.read(lies).entries, set(dialect.read(copy).entries)
    lines = _lines(lies)
    if there & dialect.written(lies) and len(lines) == len(here):
        since = [line for name, line in zip(here, lines, strict=True) if name not in there]
        yield b"".join(line + b"\n" for line in [*_lines(copy), *since])
    yield copy


def _went_back(dialect: TranscriptDialect, record: Record, lies: bytes, expected: tuple[Spoken, ...]) -> bool:
    """Whether somebody used the agent without us, went back in this conversation and continued from there, on purpose.

    What was written before our newest turn is not such a step back: somebody had the conversation open alongside us.
    """
    sure = {one.id for one in expected if one.sure}
    order = {name: at for at, name in enumerate(record.entries)}
    newest = max((order.get(name, -1) for name in sure), default=-1)
    is_used = any(order.get(one.id, -1) > newest for one in _strange(record, expected))
    return is_used and sure <= dialect.written(lies)


def _strange(record: Record, expected: tuple[Spoken, ...]) -> list[Spoken]:
    """The prompts after our last one in the branch that would be loaded: somebody else's. None of ours: none."""
    ours = {one.id for one in expected}
    last = max((at for at, one in enumerate(record.turns) if one.id in ours), default=-1)
    return [one for one in record.turns[last + 1 :] if one.role == "user"] if last >= 0 else []


def _beside(strange: list[Spoken]) -> list[str]:
    """What somebody else said in a branch that is no longer loaded."""
    return [f"not loaded, because it was said beside this conversation: {one.text[:200]}" for one in strange]


_ONE = "one kept copy tells another story and was left alone"
_WENT_BACK = "somebody has gone back in this conversation and on from there; it is left as it is"


def _what_was_wrong(current: bytes | None, here: list[bytes], lost: int) -> str:
    entries = "1 entry" if lost == 1 else f"{lost} entries"
    if current is None:
        return f"the record was gone; {entries} put back from the vault"
    if not here:
        return f"the record had nothing readable in it; {entries} put back from the vault"
    return f"the record lacked {entries} that the vault has; put back"


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line.strip()]
