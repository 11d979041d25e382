"""What an agent's record should be before a resume: as it is, repaired, or joined with kept copies. Sans-IO."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rekindle.agents.transcript import Record, TranscriptDialect
from rekindle.core.vault.joining import join


@dataclass(frozen=True)
class Decision:
    """`data` is what should lie there; None where there is nothing to put there, or nothing to change."""

    state: Literal["intact", "repaired", "restored", "missing"]
    record: Record
    data: bytes | None = None
    notes: tuple[str, ...] = ()


def decide(dialect: TranscriptDialect, current: bytes | None, copies: Iterable[bytes]) -> Decision:
    """`current` is the record as it lies there (None: it does not), `copies` are kept ones, the newest first."""
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
        return Decision("missing", dialect.read(current or b""), notes=(f"{why}, and no copy of it was kept",))
    if best == here:
        if not mended.changes:
            return Decision("intact", record, notes=tuple(notes))
        return Decision("repaired", record, mended.data, (*mended.changes, *notes))
    data = b"\n".join(best) + b"\n"
    restored = dialect.read(data)
    lost = len(restored.entries) - (len(record.entries) if here else 0)
    return Decision("restored", restored, data, (_what_was_wrong(current, here, lost), *mended.changes, *notes))


_ONE = "one kept copy tells another story and was left alone"


def _what_was_wrong(current: bytes | None, here: list[bytes], lost: int) -> str:
    entries = "1 entry" if lost == 1 else f"{lost} entries"
    if current is None:
        return f"the record was gone; {entries} put back from the vault"
    if not here:
        return f"the record had nothing readable in it; {entries} put back from the vault"
    return f"the record lacked {entries} that the vault has; put back"


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line.strip()]
