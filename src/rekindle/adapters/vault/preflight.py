"""The pre-flight: reads an agent's record, and puts a better one in its place where there is one. The agent is dead."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable

import msgspec

from rekindle import files
from rekindle.adapters.vault import kept
from rekindle.adapters.vault.vault import Vault, copies, transcript
from rekindle.agents.base.acknowledged import Spoken, lacking
from rekindle.agents.base.preflight import RecordDecision, decide
from rekindle.agents.base.transcript import TranscriptDialect, extends
from rekindle.ports.records import Checked, RecordComparison, RecordsError

_CHECKED = "checked.json"


def check(
    vault: Vault,
    dialect: TranscriptDialect,
    path: str,
    token: str,
    clock: Callable[[], float],
    expected: tuple[Spoken, ...] = (),
) -> Checked:
    """See `rekindle.ports.records.Records.check`. `expected` is what was acknowledged in the conversation."""
    path = os.path.realpath(path)
    source = transcript(path)
    try:
        aside = _make_way(path) if is_blocked(path) and any(copies(vault.folder, source.name)) else ()
        vault.copy(source, thorough=True)
        vault.sync()
        current = _current(path)
        decision = decide(dialect, current, copies(vault.folder, source.name), expected)
        original: str | None = None
        lies = current or b""
        if decision.data is not None:
            lies = decision.data
            note = kept.Note(token, path, clock(), current is not None)
            saved = kept.keep(vault.folder, note, current, lies)
            original = saved.before if current is not None else None
            _put(path, lies)
            vault.copy(source, thorough=True)
            vault.sync()
        found = _told(decision, lies, aside, original)
        _remember(vault.folder, token, found)
    except OSError as error:
        raise RecordsError(
            f"{path}: the agent's record could not be checked ({error.strerror})", "check room and permissions"
        ) from error
    return found


def foresee(folder: str, dialect: TranscriptDialect, path: str, expected: tuple[Spoken, ...] = ()) -> Checked:
    """See `rekindle.ports.records.Records.foresee`. `folder` is the vault's."""
    path = os.path.realpath(path)
    try:
        kept_before = list(copies(folder, transcript(path).name))
        current = None if is_blocked(path) and kept_before else _current(path)
    except OSError as error:
        raise RecordsError(
            f"{path}: the agent's record could not be read ({error.strerror})", "check its permissions"
        ) from error
    now = [current] if current is not None else []
    decision = decide(dialect, current, [*now, *kept_before], expected)
    return _told(decision, decision.data if decision.data is not None else current or b"")


def _told(decision: RecordDecision, lies: bytes, aside: tuple[str, ...] = (), original: str | None = None) -> Checked:
    record = decision.record
    return Checked(
        state=decision.state,
        prompts=_texts(record.prompts),
        entries=len(record.entries),
        notes=(*aside, *decision.notes),
        kept=original,
        size=len(lies),
        digest=hashlib.sha256(lies).hexdigest(),
        compactions=record.compactions,
        lacks=decision.lacks,
    )


def put_aside(folder: str, paths: Iterable[str]) -> None:
    """Move files that would mislead the agent into the vault's folder: they are kept, and not found any more."""
    for path in paths:
        try:
            data = files.read(path)
            files.replace(os.path.join(folder, f"aside-{os.path.basename(path)}"), data, mode=0o600, durable=True)
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise RecordsError(f"{path}: could not be put aside ({error.strerror})", "check its permissions") from error


def compare(
    folder: str, dialect: TranscriptDialect, path: str, before: Checked, expected: tuple[Spoken, ...] = ()
) -> RecordComparison:
    """See `rekindle.ports.records.Records.compare`. `expected` is what was acknowledged before the start."""
    path = os.path.realpath(path)
    try:
        current = _current(path)
    except OSError as error:
        return RecordComparison(None, (), f"the agent's record cannot be read ({error.strerror})")
    if before.state in ("missing", "unsupported"):
        prompts = _texts(dialect.read(current).prompts) if current is not None else ()
        return RecordComparison(None, prompts, "there was no record to go on from")
    if current is None:
        return RecordComparison(False, (), "the agent's record is gone")
    prompts = _texts(dialect.read(current).prompts)
    if hashlib.sha256(current[: before.size]).hexdigest() == before.digest:
        record = dialect.went_on(current, before.size)
        if record is None:
            return RecordComparison(None, prompts, "the agent has added nothing to its record yet")
        lacks = lacking(expected, record.turns, dialect.written(current[: before.size])).words
        why = f"the agent's record goes on behind the {before.entries} entries that it had"
        return RecordComparison(True, _texts(record.prompts), why, lacks)
    older = _as_it_was(folder, path, before)
    if older is None:
        return RecordComparison(None, prompts, "the agent's record was rewritten, and what it was is not kept")
    if extends(dialect.read(older), dialect.read(current)):
        lacks = dialect.lacks(current, expected, dialect.written(older)).words
        return RecordComparison(True, prompts, "the agent's record was rewritten and has everything that it had", lacks)
    return RecordComparison(False, prompts, "the agent's record lacks something that it had")


def last_check(folder: str, token: str) -> Checked | None:
    """What the last check of a token found."""
    return _remembered(folder).get(token)


def _texts(prompts: Iterable[str]) -> tuple[str, ...]:
    """Halves of characters, which JSON allows and UTF-8 does not, become question marks."""
    return tuple(prompt.encode("utf-8", "replace").decode() for prompt in prompts)


def _current(path: str) -> bytes | None:
    try:
        return files.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _as_it_was(folder: str, path: str, before: Checked) -> bytes | None:
    for copy in copies(folder, transcript(path).name):
        if len(copy) >= before.size and hashlib.sha256(copy[: before.size]).hexdigest() == before.digest:
            return copy[: before.size]
    return None


def is_blocked(path: str) -> bool:
    """Whether something that is not a file (a folder or a pipe) is where a record belongs."""
    return os.path.lexists(path) and not os.path.isfile(path)


def _make_way(path: str) -> tuple[str, ...]:
    """Move what is not a file aside. An agent would fail on it each time, or block forever."""
    number = 1
    while os.path.lexists(aside := f"{path}.aside-{number}"):
        number += 1
    os.rename(path, aside)
    return (f"what lay in the record's place was no file; it is {aside} now",)


def _put(path: str, data: bytes) -> None:
    """Replace the record in one step, with the mode that it had; a folder that was swept away is made again."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        mode = 0o600
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    files.replace(path, data, mode=mode & 0o700 | 0o600, durable=True)
    os.chmod(path, mode)  # what the umask took away


def _remember(folder: str, token: str, found: Checked) -> None:
    known = {**_remembered(folder), token: found}
    files.replace(os.path.join(folder, _CHECKED), msgspec.json.encode(known), mode=0o600, durable=True)


def _remembered(folder: str) -> dict[str, Checked]:
    try:
        return msgspec.json.decode(files.read(os.path.join(folder, _CHECKED)), type=dict[str, Checked])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
