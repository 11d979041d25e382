"""What may go: only what the vault has a whole and checked copy of, and room that holds nothing. The rest is kept.

First a look, which changes nothing; then each thing that may go is looked at once more, with the vault locked, and
removed. Whatever belongs to an attempt that may still live is never touched (docs/decisions/0002).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Literal

from rekindle import files
from rekindle.adapters.session_folder.layout import SPOOLS, SessionFolder, attempt_of, session_folder
from rekindle.adapters.session_folder.spool_files import spool
from rekindle.adapters.vault import kept as kept_
from rekindle.adapters.vault.vault import Listed, Source, Vault, copies, editions, is_transcript
from rekindle.core.session.state import TERMINAL, Session
from rekindle.keeper import launch, lockfile
from rekindle.keeper import room as reserve
from rekindle.keeper.spec import Layout
from rekindle.ports.errors import OwnedError
from rekindle.ports.retention import KeptItem, RemovableItem, RoomSurvey

DAY = 86400.0


_ORDER = ("room", "spool", "edition", "original", "session")


def survey(folder: str, sessions: Iterable[Session], now: float, older_than: float | None = None) -> RoomSurvey:
    """Look at all sessions. `older_than` days is needed for originals that were replaced, and for whole sessions."""
    items: list[RemovableItem] = []
    remarks: list[KeptItem] = []
    for session in sessions:
        own = session_folder(folder, session.id)
        if not os.path.isdir(own.path):
            continue
        _reserved(own, session, items, remarks)
        _spools(own, session, items, remarks)
        _editions(own, session.id, items, remarks)
        is_old = older_than is not None and session.changed_at < now - older_than * DAY
        _originals(own, session.id, None if older_than is None else now - older_than * DAY, items, remarks)
        if is_old and session.state in TERMINAL:
            _whole(own, session, items, remarks)
    items.sort(key=lambda item: (_ORDER.index(item.what), item.changed_at))
    return RoomSurvey(tuple(items), tuple(remarks), room(folder))


def complete(folder: str, session: Session) -> None:
    """Copy what the attempts that are over have said, as far as the vault lacks it. Raises OwnedError or OSError."""
    own = session_folder(folder, session.id)
    over = [attempt.number for attempt in session.attempts if attempt.status == "gone"]
    sources = [spool(own, number, name) for number in over for name in SPOOLS]
    sources = [source for source in sources if os.path.exists(source.path)]
    if not sources:
        return
    with Vault(own.vault, session.id) as vault:
        for source in sources:
            vault.copy(source)


def remove(folder: str, items: Sequence[RemovableItem]) -> tuple[list[RemovableItem], list[KeptItem]]:
    """Remove what may still go. Returns what went, and what did not."""
    gone: list[RemovableItem] = []
    remarks: list[KeptItem] = []
    for item in items:
        own = session_folder(folder, item.session)
        try:
            if item.what == "room":
                why = _give_back(own, item.path)
            else:
                why = _remove_checked(own, item)
        except OwnedError:
            why = "its vault is in use"
        except OSError as error:
            why = f"it could not be removed ({error.strerror})"
        if why is None:
            gone.append(item)
        else:
            remarks.append(KeptItem(item.session, item.path, why))
    return gone, remarks


class VaultRetention:
    """See `rekindle.ports.retention.Retention`. `folder` is that of all sessions."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def survey(self, sessions: Iterable[Session], now: float, older_than: float | None = None) -> RoomSurvey:
        """Look at all sessions."""
        return survey(self._folder, sessions, now, older_than)

    def complete(self, session: Session) -> None:
        """Copy what the attempts that are over have said, as far as the vault lacks it."""
        complete(self._folder, session)

    def remove(self, items: Sequence[RemovableItem]) -> tuple[list[RemovableItem], list[KeptItem]]:
        """Remove what may still go."""
        return remove(self._folder, items)


def _remove_checked(own: SessionFolder, item: RemovableItem) -> str | None:
    with Vault(own.vault, item.session) as vault:
        why = _why_not(own, item)
        if why is None and item.what == "edition":
            vault.remove(next(one for one in editions(vault.folder) if one.path == item.path))
        elif why is None:
            _remove(item)
    return why


def room(path: str) -> int:
    """The room that a file, or everything in a folder, takes on the disk."""
    try:
        found = os.lstat(path).st_blocks * 512
    except FileNotFoundError:
        return 0
    for place, folders, names in os.walk(path):
        for name in (*folders, *names):
            try:
                found += os.lstat(os.path.join(place, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return found


def _reserved(own: SessionFolder, session: Session, items: list[RemovableItem], remarks: list[KeptItem]) -> None:
    for attempt in session.attempts:
        folder = own.attempt(attempt.number)
        size = reserve.reserved(folder)
        if not size or launch.is_alive(folder):
            continue
        if reserve.may_run(folder):
            remarks.append(KeptItem(session.id, folder, "a process of it may still run"))
        else:
            why = "reserved by an attempt that is dead, and never used"
            items.append(RemovableItem(session.id, "room", folder, size, os.lstat(folder).st_mtime, why))


def _give_back(own: SessionFolder, folder: str) -> str | None:
    """Take the session's lock, so that no keeper can live meanwhile, and shorten the files to what they hold."""
    lock = lockfile.take(own.lock)
    if lock is None:
        return "its session has an agent"
    try:
        if reserve.may_run(folder):
            return "a process of it may still run"
        reserve.give_back(folder)
        return None
    finally:
        os.close(lock)


def _spools(own: SessionFolder, session: Session, items: list[RemovableItem], remarks: list[KeptItem]) -> None:
    for attempt in session.attempts:
        for name in reversed(SPOOLS):
            source = spool(own, attempt.number, name)
            if not os.path.exists(source.path):
                continue
            why = _spool_stays(own, source, is_over=attempt.status == "gone")
            if why is None:
                items.append(_item(session.id, "spool", source.path, "the vault has all of it"))
            else:
                remarks.append(KeptItem(session.id, source.path, why))


def _spool_stays(own: SessionFolder, source: Source, *, is_over: bool) -> str | None:
    folder = os.path.dirname(source.path)
    if not is_over or launch.is_alive(folder) or (not _was_succeeded(folder) and reserve.may_run(folder)):
        return "its attempt may still live"
    listed = editions(own.vault, source.name)
    copied = listed[-1].read() if listed else None
    if copied is None or not copied.is_whole:
        return "the vault has no whole copy of it"
    return None if files.read(source.path) == copied.data else "the vault's copy is not complete yet"


def _was_succeeded(folder: str) -> bool:
    """Whether a later attempt of the session ran: it was only started when this one was proven gone."""
    own, number = attempt_of(folder)
    return any(launch.read_identity(own.attempt(one)) is not None for one in own.attempts() if one > number)


def _editions(own: SessionFolder, session: str, items: list[RemovableItem], remarks: list[KeptItem]) -> None:
    for one in editions(own.vault):
        why = _edition_stays(one)
        if why is None:
            items.append(_item(session, "edition", one.path, "a newer edition has all of it"))
        elif why:
            remarks.append(KeptItem(session, one.path, why))


def _edition_stays(one: Listed) -> str | None:
    """Why it stays; nothing to be said about the newest."""
    newer = [other for other in editions(os.path.dirname(one.path), one.source) if other.number > one.number]
    if not newer:
        return ""
    copied = one.read()
    if copied.scan.damage:
        return "it is damaged, and may hold what no other has"
    for other in newer:
        found = other.read()
        if found.is_whole and copied.data in found.data:
            return None
    return "no newer edition has all of it"


def _originals(
    own: SessionFolder, session: str, before: float | None, items: list[RemovableItem], remarks: list[KeptItem]
) -> None:
    vault = own.vault
    for one in kept_.listing(vault):
        if before is None or one.note.at >= before:
            continue
        if _is_contained(vault, one):
            size = sum(room(path) for path in one.files)
            why = "an edition has all of it"
            items.append(RemovableItem(session, "original", one.before, size, one.note.at, why))
        else:
            remarks.append(KeptItem(session, one.before, "no edition has all of it"))


def _is_contained(vault: str, one: kept_.KeptReplacement) -> bool:
    if not one.note.existed:
        return True
    original = files.read(one.before)
    sources = {listed.source for listed in editions(vault) if is_transcript(listed.source)}
    return any(original in copy for source in sources for copy in copies(vault, source))


def _whole(own: SessionFolder, session: Session, items: list[RemovableItem], remarks: list[KeptItem]) -> None:
    why = _session_stays(own, session)
    if why is None:
        items.append(_item(session.id, "session", own.path, f"{session.state}, and it never had a conversation"))
    else:
        remarks.append(KeptItem(session.id, own.path, why))


def _session_stays(own: SessionFolder, session: Session) -> str | None:
    if files.is_locked(own.lock):
        return "its agent may still live"
    if session.token is not None or any(attempt.token is not None for attempt in session.attempts):
        return "it holds a token"
    if any(prompt.state != "queued" for prompt in session.prompts) or _has_conversation(own):
        return "it holds the only copy of a conversation"
    return None


def _has_conversation(own: SessionFolder) -> bool:
    if editions(own.vault):
        return True
    found = (Layout(own.attempt(number)).out for number in own.attempts())
    return any(os.path.exists(path) and os.path.getsize(path) > 0 for path in found)


def _why_not(own: SessionFolder, item: RemovableItem) -> str | None:
    """The second look, with the vault locked."""
    vault = own.vault
    match item.what:
        case "spool":
            folder, name = os.path.split(item.path)
            return _spool_stays(own, spool(own, attempt_of(folder)[1], name), is_over=True)
        case "edition":
            found = next((one for one in editions(vault) if one.path == item.path), None)
            return _edition_stays(found) if found is not None else "it is gone already"
        case "original":
            original = next((one for one in kept_.listing(vault) if one.before == item.path), None)
            if original is None:
                return "it is gone already"
            return None if _is_contained(vault, original) else "no edition has all of it"
        case "room":
            return None
        case "session":
            busy = files.is_locked(own.lock) or _has_conversation(own)
            return "it has come to life" if busy else None


def _remove(item: RemovableItem) -> None:
    match item.what:
        case "spool":
            os.unlink(item.path)
        case "original":
            stem = item.path.removesuffix(".before")
            for suffix in (".json", ".after", ".before"):  # the note first: without it the rest is of no check
                if os.path.exists(stem + suffix):
                    os.unlink(stem + suffix)
        case "session":
            shutil.rmtree(item.path)
            return
        case "room" | "edition":
            return
    files.sync_folder(os.path.dirname(item.path))


def _item(session: str, what: Literal["spool", "edition", "session"], path: str, why: str) -> RemovableItem:
    size = room(path) - reserve.behind(path) if what == "spool" else room(path)
    return RemovableItem(session, what, path, size, os.lstat(path).st_mtime, why)
