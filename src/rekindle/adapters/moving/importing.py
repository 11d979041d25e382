"""Puts a session from an archive in place on this machine: all of it or nothing.

First everything is checked and unpacked beside the sessions; then snapshots and the agent's record are put where they
belong; last the daemon takes the session over. Whatever fails takes back what was done before it, and importing again
after a crash finds what is there and continues.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from rekindle import files
from rekindle.adapters.moving import archive, bundle
from rekindle.adapters.session_folder import handovers
from rekindle.adapters.session_folder.layout import SessionFolder, session_folder
from rekindle.adapters.session_folder.left_behind import cut_of
from rekindle.adapters.session_folder.spool_files import with_payloads
from rekindle.adapters.sql_store.codec import Unreadable, decode_fact, encode_fact
from rekindle.agents.registry import AGENTS, record_place
from rekindle.core.archive_trust import Wish, settled, why_not_facts, wishes, withheld
from rekindle.core.moving import FACTS, FOLDER, SNAPSHOTS, TRANSCRIPT, Manifest, at_rest, folded, moved
from rekindle.core.session.facts import AnyFact, Handover, Imported, LaunchIntended, ResumeAsked
from rekindle.core.session.state import Session
from rekindle.keeper.spec import Layout
from rekindle.ports.archives import Arrival, ImportTarget
from rekindle.ports.errors import OwnedError


def put_in_place(
    path: str,
    choose: Callable[[Manifest], ImportTarget],
    take_over: Callable[[ImportTarget, str], None],
    staging: str,
    now: float,
) -> Arrival:
    """Import an archive. `choose` says where to (or refuses), `take_over` has the daemon take the staged folder.

    Raises RekindleError and OSError; then nothing of it is left here.
    """
    files.make_private(staging)
    notes: list[str] = []
    with ExitStack() as undo:
        undo.enter_context(_alone(staging))
        stage = undo.enter_context(
            tempfile.TemporaryDirectory(prefix="import-", dir=staging, ignore_cleanup_errors=True)
        )
        manifest = archive.unpack(path, stage)
        place = choose(manifest)
        folder = os.path.join(stage, FOLDER.rstrip("/"))
        files.make_private(folder)
        _check_facts(stage, manifest)
        if place.token is not None and manifest.token is not None:
            _rename_conversation(stage, folder, manifest.token, place.token)
        session, asked = _write_facts(stage, folder, manifest, place, now)
        with ExitStack() as taken_back:
            _snapshots(stage, folder, manifest, place, notes, taken_back)
            _record(stage, place, session, notes, taken_back)
            take_over(place, folder)
            taken_back.pop_all()
    return Arrival(manifest, asked, notes)


@contextmanager
def _alone(staging: str) -> Iterator[None]:
    """One import at a time: who fails would take back what another has found there and relies on.

    Anything found there is left over from a killed import.
    """
    fd = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        for name in os.listdir(staging):
            shutil.rmtree(os.path.join(staging, name), ignore_errors=True)
        yield
    finally:
        os.close(fd)


def _rename_conversation(stage: str, folder: str, old: str, new: str) -> None:
    """Give the agent's conversation another name everywhere, so that two sessions never share a record."""
    before, after = json.dumps(old).encode(), json.dumps(new).encode()  # as a whole text of JSON, nowhere else
    own = SessionFolder(folder)
    attempts = [Layout(own.attempt(number)) for number in own.attempts()]
    lines = [os.path.join(stage, FACTS), os.path.join(stage, TRANSCRIPT), *(one.out for one in attempts)]
    for path in filter(os.path.exists, lines):
        files.replace(path, files.read(path).replace(before, after), mode=0o600)
    for path in filter(os.path.exists, (one.input for one in attempts)):
        renamed = with_payloads(files.read(path), lambda payload: payload.replace(before, after))
        files.replace(path, renamed, mode=0o600)


def _write_facts(
    stage: str, folder: str, manifest: Manifest, place: ImportTarget, now: float
) -> tuple[Session, list[Wish]]:
    facts = [fact for fact in _facts(os.path.join(stage, FACTS)) if not isinstance(fact, Imported)]
    theirs = folded(facts)
    kept = settled(facts, place.trusted)
    kept = moved(kept, session=place.session, cwd=place.cwd, folder=session_folder(place.sessions, place.session).path)
    session = folded(kept)
    if session is None or theirs is None:
        raise archive.BadArchive("the archive's facts do not begin with a session", "write it again")
    asked = wishes(facts, theirs, place.trusted, manifest.environment)
    kept += at_rest(session, now, cut_of(folder, session))
    kept += [
        *withheld(folded(kept) or session, now, place.trusted),
        Imported(at=now, asked=[str(one) for one in asked]),
    ]
    _write_handovers(folder, kept)
    data = b"".join(encode_fact(fact).encode("utf-8", "surrogatepass") + b"\n" for fact in kept)
    files.replace(SessionFolder(folder).imported, data, mode=0o600, durable=True)
    return session, asked


def _check_facts(stage: str, manifest: Manifest) -> None:
    """Raises BadArchive for what no export of ours says. Before anything is done with names that the facts hold."""
    facts = _facts(os.path.join(stage, FACTS))
    problem = why_not_facts(facts, manifest.agent)
    session = folded(facts)
    if problem is None and session is not None and manifest.token not in (None, session.token):
        problem = "its manifest names another conversation than its facts"
    if problem is not None:
        raise archive.BadArchive(f"the archive cannot be used: {problem}", "write it again with `rekindle export`")


def _write_handovers(folder: str, facts: Sequence[AnyFact]) -> None:
    """Which attempt was whose, as the facts that count here tell it, and not as a file of the archive does."""
    handovers.forget(folder)
    pending: Handover | None = None
    for fact in facts:
        if isinstance(fact, ResumeAsked) and fact.handover is not None:
            pending = fact.handover
        elif isinstance(fact, LaunchIntended) and pending is not None:
            handovers.keep(folder, fact.attempt, pending)
            pending = None


def _facts(path: str) -> list[AnyFact]:
    try:
        return [decode_fact(line.decode("utf-8", "surrogatepass")) for line in files.read(path).splitlines()]
    except (Unreadable, UnicodeDecodeError) as error:
        raise archive.BadArchive(f"the archive's facts cannot be read: {error}", "use a newer rekindle") from error


def _snapshots(
    stage: str, folder: str, manifest: Manifest, place: ImportTarget, notes: list[str], taken_back: ExitStack
) -> None:
    packed = os.path.join(stage, SNAPSHOTS)
    if not os.path.exists(packed):
        return
    taken_back.callback(bundle.forget, place.cwd, bundle.fetch(place.cwd, packed, manifest.session, place.session))
    if bundle.is_outside(place.cwd):
        shutil.move(packed, SessionFolder(folder).snapshots)
        notes.append(f"{place.cwd} is in no git repository, so its snapshots wait in the session's folder as a bundle")


def _record(stage: str, place: ImportTarget, session: Session, notes: list[str], taken_back: ExitStack) -> None:
    packed = os.path.join(stage, TRANSCRIPT)
    if not os.path.exists(packed) or session.token is None:
        return
    data = files.read(packed)
    target = record_target(session.agent, place.environment, place.cwd, session.token, data)
    if target is None:
        notes.append(f"where {session.agent} keeps its records is not known, so the agent will not remember")
        return
    try:
        there = files.read(target)
    except FileNotFoundError:
        files.make_private(os.path.dirname(target))
        files.replace(target, data, mode=0o600, durable=True)
        taken_back.callback(os.unlink, target)
        return
    if there != data:
        raise OwnedError(
            f"{target} is there already and says something else",
            "the agent on this machine has gone on with it; keep that",
        )


def record_target(agent: str, environment: Mapping[str, str], cwd: str, token: str, data: bytes) -> str | None:
    """Where the agent looks for its record on this machine."""
    target = record_place(agent, environment, cwd, token)
    if target is None or "*" not in target:
        return target
    there = glob.glob(target)
    return max(there) if there else AGENTS[agent].new_place(target, data)
