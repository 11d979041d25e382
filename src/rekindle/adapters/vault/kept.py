"""Originals that were replaced, kept beside the copies, with what was put in their place: VAULT/kept/NUMBER.*."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass

import msgspec

from rekindle import files

FOLDER = "kept"
_BEFORE, _AFTER, _NOTE = ".before", ".after", ".json"
_LONGEST_LINE = 400


class Note(msgspec.Struct, frozen=True):
    """Which record it was. `existed`: there was an original at all."""

    token: str
    path: str
    at: float
    existed: bool


@dataclass(frozen=True)
class KeptReplacement:
    """One replacement. The note is written last: without it the two others are of a check that did not get so far."""

    number: int
    note: Note
    folder: str

    @property
    def before(self) -> str:
        """Where the original is."""
        return os.path.join(self.folder, f"{self.number}{_BEFORE}")

    @property
    def after(self) -> str:
        """Where that is which was put in its place."""
        return os.path.join(self.folder, f"{self.number}{_AFTER}")

    @property
    def files(self) -> tuple[str, ...]:
        """All its files."""
        return self.before, self.after, os.path.join(self.folder, f"{self.number}{_NOTE}")


def keep(vault: str, note: Note, before: bytes | None, after: bytes) -> KeptReplacement:
    """Keep an original and its replacement; on disk when this returns. The same pair is kept once."""
    earlier = listing(vault)
    folder = os.path.join(vault, FOLDER)
    for one in earlier:
        if (one.note.token, one.note.path) == (note.token, note.path) and _same(one, before, after):
            return one
    os.makedirs(folder, mode=0o700, exist_ok=True)
    files.sync_folder(vault)
    numbers = [int(name.partition(".")[0]) for name in os.listdir(folder) if name.partition(".")[0].isdecimal()]
    kept = KeptReplacement(max(numbers, default=0) + 1, note, folder)
    if before is not None:
        files.replace(kept.before, before, mode=0o600, durable=True)
    files.replace(kept.after, after, mode=0o600, durable=True)
    files.replace(kept.files[-1], msgspec.json.encode(note), mode=0o600, durable=True)
    return kept


def listing(vault: str) -> list[KeptReplacement]:
    """All replacements, oldest first."""
    folder = os.path.join(vault, FOLDER)
    found: list[KeptReplacement] = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        stem, dot, kind = name.partition(".")
        if stem.isdecimal() and dot + kind == _NOTE:
            try:
                note = msgspec.json.decode(files.read(os.path.join(folder, name)), type=Note)
            except (OSError, msgspec.DecodeError, UnicodeDecodeError):
                continue
            found.append(KeptReplacement(int(stem), note, folder))
    return sorted(found, key=lambda one: one.number)


def difference(vault: str) -> str:
    """What the last replacement of a record changed; empty if there was none."""
    found = listing(vault)
    if not found:
        return ""
    last = found[-1]
    before = _shown(files.read(last.before)) if last.note.existed else []
    told = difflib.unified_diff(
        before,
        _shown(files.read(last.after)),
        f"{last.note.path} (as it was)" if last.note.existed else "(there was none)",
        f"{last.note.path} (as it was put back)",
        lineterm="",
    )
    return "".join(f"{line}\n" for line in told)


def _same(one: KeptReplacement, before: bytes | None, after: bytes) -> bool:
    try:
        was = files.read(one.before) if one.note.existed else None
        return was == before and files.read(one.after) == after
    except OSError:
        return False


def _shown(data: bytes) -> list[str]:
    """Lines for a terminal: nothing in them can move the cursor, and none is endless."""
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [_short("".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)) for line in lines]


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line)} characters)"
