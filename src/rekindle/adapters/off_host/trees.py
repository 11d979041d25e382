"""Snapshots of a work tree as git bundles, each with what is new since the one before, and back.

Commits that some remote has are not in them: the other host's clone has them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.adapters.git import written_tree
from rekindle.adapters.git.git import Git
from rekindle.adapters.snapshots import taking
from rekindle.ports.errors import GitFailed


@dataclass(frozen=True)
class Bundle:
    """The snapshots up to `number`, without those of earlier bundles."""

    number: int
    data: bytes


def newer(cwd: str, session: str, after: int) -> Bundle | None:
    """What was kept of a work tree since the snapshot `after`; None if nothing was. Raises GitFailed."""
    place = written_tree.find(cwd) if os.path.isdir(cwd) else None
    known = taking.listing(cwd, session) if place is not None else []
    new = [one for one in known if one.number > after]
    if place is None or not new:
        return None
    told = place.git.output("for-each-ref", "--format=^%(objectname)", "refs/remotes/").decode()
    without = told + "".join(f"^{one.id}\n" for one in known if one.number <= after)
    with tempfile.TemporaryDirectory(prefix="rekindle-tree-") as scratch:
        target = os.path.join(scratch, "bundle")
        refs = [taking.ref_of(one) for one in new]
        place.git.output("bundle", "create", "--quiet", target, *refs, "--stdin", stdin=without.encode())
        with open(target, "rb") as file:
            return Bundle(max(one.number for one in new), file.read())


def put_back(clone: str, session: str, bundle: bytes) -> dict[str, str]:
    """Bring the snapshots of a bundle into a clone; returns their refs and commits. Raises GitFailed.

    A host that had the session before may have another snapshot under the same number, which nobody copied. It is kept
    beside the others.
    """
    refs = f"{taking.namespace_of(session)}*"
    settings = ("-c", "fetch.fsckObjects=true", "-c", "fetch.writeCommitGraph=false")
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--recurse-submodules=no")
    with tempfile.NamedTemporaryFile(prefix="rekindle-tree-", suffix=".bundle") as file:
        file.write(bundle)
        file.flush()
        try:
            told = Git(clone).output("bundle", "list-heads", file.name).decode("utf-8", "replace").splitlines()
            pairs = (line.partition(" ") for line in told)
            heads = {ref: commit for commit, _, ref in pairs if ref.startswith(refs.removesuffix("*"))}
            kept = {one for one in _local(clone, session).items() if one[0] in heads and one[1] != heads[one[0]]}
            taking.set_aside(Git(clone), session, dict(kept))
            Git(clone).output(*settings, "fetch", *options, file.name, f"{refs}:{refs}")
        except GitFailed as error:
            raise GitFailed(
                f"the snapshots cannot be brought into {clone}: {error.message}",
                "is it a clone of the same repository, with all branches that the other host had?",
            ) from error
    return heads


def only(clone: str, session: str, heads: Mapping[str, str]) -> int:
    """Keep snapshots beside the others that are not among those that were copied; how many these are.

    The last one of all is what the work tree is put back to, and these are not what its agent left.
    """
    foreign = {ref: one for ref, one in _local(clone, session).items() if heads.get(ref) != one}
    taking.set_aside(Git(clone), session, foreign)
    return len(foreign)


def _local(clone: str, session: str) -> dict[str, str]:
    return {taking.ref_of(one): one.id for one in taking.known(Git(clone), taking.namespace_of(session)) if one.number}
