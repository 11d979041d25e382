"""Where a session of the fleet's job begins on this host: in a clone of its repository, or in an empty folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from rekindle import files
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import make_branch
from rekindle.adapters.off_host import clones
from rekindle.core.job.order import JobOrder, StepOrder
from rekindle.core.session_worktree import branch_of
from rekindle.ports.errors import RekindleError


class Ground:
    """`state` is the folder of this host's own state; the agent gets this host's environment, no other one."""

    def __init__(self, state: str, sources: Sequence[str], environment: Mapping[str, str]) -> None:
        self._state = state
        self._sources = sources
        self._environment = environment

    def __call__(self, job: str, order: JobOrder, step: StepOrder, session: str) -> tuple[str, dict[str, str]]:
        """The folder to begin in, and the environment. The job's branch is at its commit. Raises RekindleError."""
        if not order.repository:
            folder = os.path.join(self._state, "folders", session)
            files.make_private(folder)
            return folder, dict(self._environment)
        clone = self.branch(job, order)
        cwd = os.path.normpath(os.path.join(clone, step.cwd))
        if os.path.commonpath([cwd, clone]) != clone:
            raise RekindleError(f"{step.cwd!r} is outside of the repository {order.repository}", "submit it again")
        os.makedirs(cwd, exist_ok=True)
        return cwd, dict(self._environment)

    def branch(self, job: str, order: JobOrder) -> str:
        """The clone, in which the branch of a job is there."""
        clone = clones.ready(os.path.join(self._state, clones.CLONES), order.repository, self._sources)
        git, branch = Git(clone), branch_of(job)
        if git.line("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}") is None:
            if git.line("rev-parse", "--quiet", "--verify", f"{order.commit}^{{commit}}") is None:
                raise RekindleError(
                    f"the source of {order.repository} has no commit {order.commit[:10]}",
                    "push it there; the job begins as soon as it can be fetched",
                )
            make_branch(git, branch, order.commit)
        return clone
