"""A job as the command line has it, made into one that any host of the fleet can carry out.

Nothing of this machine is in it: no environment, and no folder outside of a repository that every host can fetch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from rekindle.core.job.order import JobOrder
from rekindle.ports.errors import UsageError
from rekindle.ports.workspace import Checkout

#: The commit that is checked out in a work tree, and whether a remote has it, as far as is known; None: no commit.
Head = Callable[[str], tuple[str, bool] | None]


def of_fleet(order: JobOrder, labels: Sequence[str], find: Callable[[str], Checkout | None], head: Head) -> JobOrder:
    """The same order, for any host. Raises UsageError."""
    if any(one.program for one in order.steps):
        raise UsageError("a runbook that names a program cannot be run by a fleet", "name the agent only")
    cwd = order.steps[0].cwd
    repo = find(cwd) if os.path.isdir(cwd) else None
    if repo is None or repo.top is None:
        return replace(order, labels=tuple(labels), steps=tuple(replace(one, cwd="") for one in order.steps))
    found = head(repo.top)
    if found is None:
        raise UsageError(f"{repo.top} has no commit that a host could begin with", "make a first commit, and push it")
    commit, is_pushed = found
    if not is_pushed:
        raise UsageError(
            f"no remote has the commit {commit[:10]} that is checked out in {repo.top}",
            "push it first: every host fetches the repository by itself",
        )
    top = os.path.realpath(repo.top)
    inner = []
    for one in order.steps:
        place = os.path.relpath(os.path.realpath(one.cwd), top)
        if place.split(os.sep)[0] == os.pardir:
            raise UsageError(f"{one.cwd} is outside of {top}", "a job of the fleet works in one repository")
        inner.append(replace(one, cwd="" if place == os.curdir else place))
    name = os.path.basename(os.path.realpath(repo.root))
    return replace(order, steps=tuple(inner), labels=tuple(labels), repository=name, commit=commit, worktree=None)
