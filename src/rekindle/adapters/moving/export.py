"""Writes a session into an archive, as it is now, without disturbing a live one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence

from rekindle import files
from rekindle.adapters.moving import archive, bundle
from rekindle.adapters.moving.collecting import collected
from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.sql_store.codec import Unreadable, decode_fact
from rekindle.adapters.vault import record_files
from rekindle.adapters.vault.vault import copies, transcript
from rekindle.agents.registry import AGENTS, record_place
from rekindle.core.masking import Masker
from rekindle.core.moving import FACTS, FOLDER, FORMAT, SNAPSHOTS, TRANSCRIPT, VERSION, Manifest, folded
from rekindle.core.session.state import Session
from rekindle.core.session.status import word
from rekindle.ports.archives import Exported
from rekindle.ports.errors import RekindleError


def export(
    folder: str, facts: Sequence[str], target: str, environment: Mapping[str, str], *, with_secrets: bool
) -> Exported:
    """Pack a session's folder, its facts (JSON texts), the agent's own record and the snapshots of its work tree.

    `environment` is the caller's: its secrets are masked too. Raises RekindleError and OSError.
    """
    kept = kept_environment.read(folder) or {}
    masker = None if with_secrets else Masker({**environment, **kept})
    told = b"".join(text.encode("utf-8", "surrogatepass") + b"\n" for text in facts)
    told = masker.lines(told) if masker is not None else told
    try:
        session = folded([decode_fact(line.decode("utf-8", "surrogatepass")) for line in told.splitlines()])
    except Unreadable as error:
        raise RekindleError(f"a fact of the session cannot be read: {error}", "see `rekindle doctor`") from error
    if session is None:
        raise RekindleError("the store has no facts of the session", "see `rekindle doctor`")
    notes: list[str] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rekindle-export-") as scratch:
        stage = os.path.join(scratch, "stage")
        _put(stage, FACTS, told)
        for path, data in collected(folder, masker, left_out):
            _put(stage, FOLDER + path, data)
        record = _record(folder, session, kept or environment)
        if record is not None:
            _put(stage, TRANSCRIPT, masker.lines(record) if masker is not None else record)
        elif session.token is not None:
            notes.append("the agent's own record was not found, so the agent will not remember the conversation")
        packed = os.path.join(stage, SNAPSHOTS)
        snapshots = bundle.write(session.cwd, session.id, packed, os.path.join(scratch, "git"), masker)
        if not snapshots.count:
            notes.append(f"there are no snapshots of {session.cwd}")
        names = sorted(os.path.relpath(os.path.join(at, name), stage) for at, _, of in os.walk(stage) for name in of)
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            session=session.id,
            agent=session.agent,
            title=session.title,
            cwd=session.cwd,
            token=session.token if record is not None else None,
            status=word(session, alive=False),
            with_secrets=with_secrets,
            members=[archive.member(stage, name) for name in names],
            masked=dict(sorted(masker.counts.items())) if masker is not None else {},
            masked_files=sorted(name.encode("utf-8", "backslashreplace").decode() for name in snapshots.masked),
            left_out=left_out,
            environment=sorted(kept),
            counts={
                "facts": len(facts),
                "attempts": len(session.attempts),
                "prompts": len(session.prompts),
                "receipts": sum(attempt.receipt is not None for attempt in session.attempts),
                "snapshots": snapshots.count,
            },
        )
        archive.write(target, stage, manifest)
    return Exported(manifest, notes)


def _put(stage: str, path: str, data: bytes) -> None:
    target = os.path.join(stage, path)
    files.make_private(os.path.dirname(target))
    with open(target, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)


def _record(folder: str, session: Session, environment: Mapping[str, str]) -> bytes | None:
    """The agent's own record of the conversation, as it is or as the vault has it."""
    place = record_place(session.agent, environment, session.cwd, session.token) if session.token is not None else None
    dialect, vault = AGENTS[session.agent].transcript if place is not None else None, SessionFolder(folder).vault
    if place is not None and dialect is not None and "*" in place:
        place = record_files.match(dialect, place, vault, thorough=True)
    if place is None:
        return None
    try:
        return files.read(place)
    except OSError:
        return next(copies(vault, transcript(os.path.realpath(place)).name), None)
