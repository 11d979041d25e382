"""Why something in a session's folder stays: it is in use, or nobody else has all of it. Looks, and changes nothing."""

from __future__ import annotations

import os

from rekindle import files
from rekindle.adapters.session_folder.layout import SessionFolder, attempt_of
from rekindle.adapters.session_folder.spool_files import spool
from rekindle.adapters.vault import kept as kept_
from rekindle.adapters.vault.vault import Listed, Source, copies, editions, is_transcript
from rekindle.core.session.state import Session
from rekindle.keeper import launch
from rekindle.keeper import room as reserve
from rekindle.keeper.spec import Layout
from rekindle.ports.retention import RemovableItem


def spool_stays(own: SessionFolder, source: Source, *, is_over: bool) -> str | None:
    """Why a spool stays; None if the vault has all of it. `is_over`: its attempt has ended."""
    folder = os.path.dirname(source.path)
    if not is_over or launch.is_alive(folder) or (not _was_succeeded(folder) and reserve.may_run(folder)):
        return "its attempt may still live"
    listed = editions(own.vault, source.name)
    copied = listed[-1].read() if listed else None
    if copied is None or not copied.is_whole:
        return "the vault has no whole copy of it"
    return None if files.read(source.path) == copied.data else "the vault's copy is not complete yet"


def edition_stays(one: Listed) -> str | None:
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


def is_contained(vault: str, one: kept_.KeptReplacement) -> bool:
    """Whether a copy has all of an original that was replaced."""
    if not one.note.existed:
        return True
    original = files.read(one.before)
    sources = {listed.source for listed in editions(vault) if is_transcript(listed.source)}
    return any(original in copy for source in sources for copy in copies(vault, source))


def session_stays(own: SessionFolder, session: Session) -> str | None:
    """Why a session that has ended stays; None if nothing of it would be missed."""
    if files.is_locked(own.lock):
        return "its agent may still live"
    if session.token is not None or any(attempt.token is not None for attempt in session.attempts):
        return "it holds a token"
    if any(prompt.state != "queued" for prompt in session.prompts) or _has_conversation(own):
        return "it holds the only copy of a conversation"
    return None


def still_stays(own: SessionFolder, item: RemovableItem) -> str | None:
    """The second look, with the vault locked."""
    vault = own.vault
    match item.what:
        case "spool":
            folder, name = os.path.split(item.path)
            return spool_stays(own, spool(own, attempt_of(folder)[1], name), is_over=True)
        case "edition":
            found = next((one for one in editions(vault) if one.path == item.path), None)
            return edition_stays(found) if found is not None else "it is gone already"
        case "original":
            original = next((one for one in kept_.listing(vault) if one.before == item.path), None)
            if original is None:
                return "it is gone already"
            return None if is_contained(vault, original) else "no edition has all of it"
        case "room":
            return None
        case "session":
            busy = files.is_locked(own.lock) or _has_conversation(own)
            return "it has come to life" if busy else None


def _was_succeeded(folder: str) -> bool:
    """Whether a later attempt of the session ran: it was only started when this one was proven gone."""
    own, number = attempt_of(folder)
    return any(launch.read_identity(own.attempt(one)) is not None for one in own.attempts() if one > number)


def _has_conversation(own: SessionFolder) -> bool:
    if editions(own.vault):
        return True
    found = (Layout(own.attempt(number)).out for number in own.attempts())
    return any(os.path.exists(path) and os.path.getsize(path) > 0 for path in found)
