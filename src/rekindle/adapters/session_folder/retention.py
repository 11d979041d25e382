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
from rekindle.adapters.session_folder.layout import SPOOLS, SessionFolder, session_folder
from rekindle.adapters.session_folder.spool_files import spool
from rekindle.adapters.session_folder.still_needed import (
    edition_stays,
    is_contained,
    session_stays,
    spool_stays,
    still_stays,
)
from rekindle.adapters.vault import kept as kept_
from rekindle.adapters.vault.vault import Vault, editions
from rekindle.core.session.state import TERMINAL, Session
from rekindle.keeper import launch, lockfile
from rekindle.keeper import room as reserve
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
        why = still_stays(own, item)
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
            why = spool_stays(own, source, is_over=attempt.status == "gone")
            if why is None:
                items.append(_item(session.id, "spool", source.path, "the vault has all of it"))
            else:
                remarks.append(KeptItem(session.id, source.path, why))


def _editions(own: SessionFolder, session: str, items: list[RemovableItem], remarks: list[KeptItem]) -> None:
    for one in editions(own.vault):
        why = edition_stays(one)
        if why is None:
            items.append(_item(session, "edition", one.path, "a newer edition has all of it"))
        elif why:
            remarks.append(KeptItem(session, one.path, why))


def _originals(
    own: SessionFolder, session: str, before: float | None, items: list[RemovableItem], remarks: list[KeptItem]
) -> None:
    vault = own.vault
    for one in kept_.listing(vault):
        if before is None or one.note.at >= before:
            continue
        if is_contained(vault, one):
            size = sum(room(path) for path in one.files)
            why = "an edition has all of it"
            items.append(RemovableItem(session, "original", one.before, size, one.note.at, why))
        else:
            remarks.append(KeptItem(session, one.before, "no edition has all of it"))


def _whole(own: SessionFolder, session: Session, items: list[RemovableItem], remarks: list[KeptItem]) -> None:
    why = session_stays(own, session)
    if why is None:
        items.append(_item(session.id, "session", own.path, f"{session.state}, and it never had a conversation"))
    else:
        remarks.append(KeptItem(session.id, own.path, why))


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
