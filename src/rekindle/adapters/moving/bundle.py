"""Snapshots of a session as a git bundle, and back. The user's repository is only read, until a bundle is fetched.

Work is done in a bare repository of our own that borrows the objects of the user's. What is committed travels with the
repository anyway and is left alone; files that no commit has are masked, and their snapshots are remade.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from msgspec.structs import replace

from rekindle.adapters.git import written_tree
from rekindle.adapters.git.git import Git
from rekindle.adapters.snapshots import taking
from rekindle.core.masking import Masker
from rekindle.ports.errors import GitFailed, OwnedError
from rekindle.ports.snapshots import Snapshot

_REGULAR = ("100644", "100755")
_BINARY_HEAD = 8000


@dataclass(frozen=True)
class Bundled:
    """How many snapshots are in a bundle, and which files in them were masked."""

    count: int
    masked: list[str] = field(default_factory=list)


def write(cwd: str, session: str, target: str, scratch: str, masker: Masker | None) -> Bundled:
    """Put all snapshots of a session into a bundle; without any, there is none. Raises GitFailed.

    Commits that some remote has are not in it: the other repository has to have them.
    """
    place = written_tree.find(cwd) if os.path.isdir(cwd) else None
    known = taking.listing(cwd, session) if place is not None else []
    if place is None or not known:
        return Bundled(0)
    git = _borrowing(place, scratch)
    blobs: dict[str, str] = {}
    masked: set[str] = set()
    for one in known:
        ours = one.id if masker is None else _masked(git, one, masker, blobs, masked)
        git.output("update-ref", "--no-deref", taking.ref_of(one), ours)
    elsewhere = place.git.output("for-each-ref", "--format=^%(objectname)", "refs/remotes/")
    git.output("bundle", "create", "--quiet", target, "--all", "--stdin", stdin=elsewhere)
    return Bundled(len(known), sorted(masked))


def fetch(cwd: str, bundle: str, session: str, new: str) -> list[str]:
    """Bring the snapshots into the repository around a folder, under the new id; returns the refs that were made.

    None are made if they are there already. Raises OwnedError if the id has other snapshots there.
    """
    place = written_tree.find(cwd)
    if place is None:
        return []
    source, target = taking.namespace_of(session), taking.namespace_of(new)
    told = place.git.output("bundle", "list-heads", bundle).decode().splitlines()
    wanted = {(target + ref.removeprefix(source), tip) for tip, _, ref in (line.partition(" ") for line in told)}
    there = _refs(place.git, target)
    if wanted <= there:
        return []
    if there:
        raise OwnedError(
            f"{place.git.folder} has other snapshots of a session {new}", "import it with --as-new, or elsewhere"
        )
    settings = ("-c", "fetch.fsckObjects=true", "-c", "fetch.writeCommitGraph=false")
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--recurse-submodules=no")
    try:
        place.git.output(*settings, "fetch", *options, bundle, f"{source}*:{target}*")
    except GitFailed as error:
        raise GitFailed(
            f"the snapshots cannot be brought into {place.git.folder}: {error.message}",
            "is it a clone of the same repository? fetch its branches first (git fetch --all)",
        ) from error
    return [ref for ref, _ in _refs(place.git, target)]


def _refs(git: Git, namespace: str) -> set[tuple[str, str]]:
    told = git.output("for-each-ref", "--format=%(refname) %(objectname)", namespace).decode().splitlines()
    return {(ref, tip) for ref, _, tip in (line.partition(" ") for line in told)}


def is_outside(cwd: str) -> bool:
    """Whether a folder is in no work tree, so that its snapshots have no place there."""
    return written_tree.find(cwd) is None


def forget(cwd: str, refs: list[str]) -> None:
    """Take back what `fetch` has made."""
    place = written_tree.find(cwd)
    if place is not None:
        place.git.run("update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in refs).encode())


def _borrowing(place: written_tree.TreePlace, scratch: str) -> Git:
    kind = place.git.line("rev-parse", "--show-object-format") or "sha1"
    place.git.output("init", "--quiet", "--bare", f"--object-format={kind}", "--template=", scratch)
    os.makedirs(os.path.join(scratch, "objects", "info"), exist_ok=True)
    with open(os.path.join(scratch, "objects", "info", "alternates"), "wb") as file:
        file.write(os.fsencode(place.objects) + b"\n")
    return place.git.at(scratch)


def _masked(git: Git, one: Snapshot, masker: Masker, blobs: dict[str, str], masked: set[str]) -> str:
    """The snapshot, or one like it in which no file that is not committed holds a secret."""
    changes = {
        path: (mode, new)
        for path, mode, blob in _uncommitted(git, one)
        if (new := _without_secrets(git, blob, masker, blobs)) != blob
    }
    if not changes:
        return one.id
    masked |= {os.fsdecode(path) for path in changes}
    return taking.commit(git, replace(one, tree=_tree(git, one.tree, changes)))


def _uncommitted(git: Git, one: Snapshot) -> list[tuple[bytes, str, str]]:
    """The plain files of a snapshot that are not in the commit that was checked out."""
    found: list[tuple[bytes, str, str]] = []
    if one.head is not None and git.run("cat-file", "-e", f"{one.head}^{{commit}}").returncode == 0:
        told = git.output("diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AMT", one.head, one.id).split(b"\0")
        for head, path in zip(told[::2], told[1::2], strict=False):
            _, mode, _, blob, _ = head.decode().split()
            found.append((path, mode, blob))
    else:
        for line in filter(None, git.output("ls-tree", "-r", "-z", "--full-tree", one.id).split(b"\0")):
            head, _, path = line.partition(b"\t")
            mode, _, blob = head.decode().split()
            found.append((path, mode, blob))
    return [(path, mode, blob) for path, mode, blob in found if mode in _REGULAR]


def _without_secrets(git: Git, blob: str, masker: Masker, known: dict[str, str]) -> str:
    if blob not in known:
        data = git.output("cat-file", "blob", blob)
        clean = data if b"\0" in data[:_BINARY_HEAD] else masker.data(data)
        known[blob] = (
            blob if clean == data else git.output("hash-object", "-w", "--stdin", stdin=clean).decode().strip()
        )
    return known[blob]


def _tree(git: Git, tree: str, changes: dict[bytes, tuple[str, str]]) -> str:
    with written_tree.scratch_index() as index:
        ours = git.with_index(index)
        ours.output("read-tree", tree)
        lines = b"".join(f"{mode} {blob}\t".encode() + path + b"\0" for path, (mode, blob) in changes.items())
        ours.output("update-index", "-z", "--index-info", stdin=lines)
        return ours.output("write-tree").decode().strip()
