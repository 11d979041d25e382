"""The id of a repository, in its git folder, and what has to be fixed when a repository was moved or copied.

Every command looks here whether its repository was moved, so this loads little, and the rest only where it is used.
"""

from __future__ import annotations

import os

from rekindle import files
from rekindle.adapters.git import pointers
from rekindle.adapters.git.repository import own_clones
from rekindle.core.identity import RepositoryIdentity, SeenFolder, carried, judge
from rekindle.ports.errors import ForeignRepository
from rekindle.ports.identity import KnownRepository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.ports.workspace import Checkout

_FILE = os.path.join("rekindle", "identity.json")
#: What the file has. It must be able to hold any byte of a path, so the path is quoted as in a URL.
_FIELDS = {"id": str, "path": str, "device": int, "inode": int}


def find(repo: Checkout) -> KnownRepository | None:
    """A repository's own record; None if it has no id yet. Changes nothing."""
    kept = _read(repo.common)
    if kept is None:
        return None
    verdict = judge(kept, _seen(repo.common), _at(kept.seen.path))
    return KnownRepository(kept.id, verdict, None if verdict == "same" else _root(kept.seen.path, repo))


def ensure(repo: Checkout, remembered: str | None = None) -> str:
    """The repository's id, made if it has none; a copy gets one of its own.

    `remembered` is what sessions know it by, in case that it has lost its id or could never write it down. Where git's
    folder cannot be written to, its path has to do.
    """
    found = find(repo)
    if found is not None and found.verdict != "copy":
        return found.id
    given = remembered if found is None else None
    try:
        if found is not None and found.before is not None:
            relink(repo, found.before, is_copy=True)
        return _write(repo.common, given or os.urandom(16).hex())
    except OSError:
        return given or by_path(repo)


def by_path(repo: Checkout) -> str:
    """The id of a repository that has none: it is derived from the path, and can be stored later."""
    import hashlib

    return hashlib.sha256(b"path\0" + os.fsencode(repo.root)).hexdigest()[:32]


def holds(repo: Checkout, worktree: str) -> bool:
    """Whether a folder is a linked worktree of this repository, according to both."""
    try:
        target = pointers.git_file(os.path.join(worktree, ".git"))
    except (OSError, ForeignRepository):
        return False
    entries = os.path.join(repo.common, "worktrees")
    return target is not None and os.path.dirname(target) == entries and os.path.isdir(target)


def put_right(repo: Checkout, found: KnownRepository, state_dir: str, progress: str) -> None:
    """Repair a moved repository: its worktrees know it again, its journals (in `progress`) are the user's own.

    Safe to repeat: `settle` drops the old place once its sessions know the new one.
    """
    if found.verdict != "moved" or found.before is None:
        return
    from rekindle.adapters.journal_file import ledger

    relink(repo, found.before)
    if not os.path.lexists(carried(repo.common, repo.root, found.before)):  # else it may be another one's by now
        for name in sorted(os.listdir(progress)) if os.path.isdir(progress) else []:
            journal = os.path.join(progress, name, files.EVENTS)
            ledger.carry(state_dir, carried(journal, repo.root, found.before), journal)


def settle(repo: Checkout, found: KnownRepository) -> None:
    """Record where the repository is now."""
    if found.verdict == "moved":
        _write(repo.common, found.id)


def relink(repo: Checkout, before: str, *, is_copy: bool = False) -> None:
    """Make the linked worktrees and the repository find each other again. Changes only what points to the old place.

    git's own repair would let a copy take the worktrees of the repository that it was copied from. Those outside the
    checkout were not copied.
    """
    for common in (repo.common, *own_clones(repo.common)):
        _relink(common, repo.root, before, is_copy=is_copy)


def _relink(common: str, root: str, before: str, *, is_copy: bool) -> None:
    old_common = carried(common, root, before)
    folder = os.path.join(common, "worktrees")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        entry = os.path.join(folder, name)
        told = _line(os.path.join(entry, "gitdir"))
        if told is None or not os.path.isabs(told):
            continue
        dot_git = carried(told, before, root)
        if dot_git == told and (is_copy or os.path.lexists(old_common)):
            continue  # a worktree outside, of which another repository may know
        try:
            target = pointers.git_file(dot_git)
        except (OSError, ForeignRepository):
            continue
        if target is None or target not in (os.path.join(old_common, "worktrees", name), entry):
            continue
        _replace(os.path.join(entry, "gitdir"), dot_git)
        _replace(dot_git, f"gitdir: {entry}")


def _replace(path: str, line: str) -> None:
    if _line(path) != line:
        files.replace(path, os.fsencode(line) + b"\n", mode=0o644)


def _line(path: str) -> str | None:
    try:
        with os.fdopen(files.open_to_read(path), "rb") as file:
            return os.fsdecode(file.read(1 << 16)).rstrip("\n")
    except OSError:
        return None


def _root(common: str, repo: Checkout) -> str:
    """The main checkout that a git folder had: in the same relative place as now."""
    below = os.path.relpath(repo.common, repo.root)
    return common if below == os.curdir else common.removesuffix(os.sep + below)


def _seen(common: str) -> SeenFolder:
    at = os.stat(common)
    return SeenFolder(os.path.realpath(common), at.st_dev, at.st_ino)


def _at(common: str) -> RepositoryIdentity | None:
    """The repository at a place, with the folder that is there now."""
    kept = _read(common)
    try:
        return RepositoryIdentity(kept.id, _seen(common)) if kept is not None else None
    except OSError:
        return None


def _read(common: str) -> RepositoryIdentity | None:
    path = os.path.join(common, _FILE)
    if os.path.islink(os.path.dirname(path)):
        return None
    try:
        with os.fdopen(files.open_to_read(path, follow=False), "rb") as file:
            raw = file.read(1 << 16)
    except OSError:
        return None
    import json
    from urllib.parse import unquote_to_bytes

    try:
        kept = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(kept, dict) or any(type(kept.get(name)) is not kind for name, kind in _FIELDS.items()):
        return None
    id_, seen = kept["id"], os.fsdecode(unquote_to_bytes(kept["path"]))
    good = id_.isascii() and id_.isalnum() and 16 <= len(id_) <= 64
    return (
        RepositoryIdentity(id_, SeenFolder(seen, kept["device"], kept["inode"]))
        if good and os.path.isabs(seen)
        else None
    )


def _write(common: str, id_: str) -> str:
    import json
    from urllib.parse import quote_from_bytes

    seen = _seen(common)
    path = os.path.join(common, _FILE)
    files.make_own(os.path.dirname(path))
    kept = (id_, quote_from_bytes(os.fsencode(seen.path)), seen.device, seen.inode)
    line = json.dumps(dict(zip(_FIELDS, kept, strict=True)), separators=(",", ":"))
    files.replace(path, line.encode(), mode=0o600, durable=True)
    return id_
