"""Git as a feature's run needs it: evidence, and the few changes to branches and worktrees."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.strays import Stray
from rekindle.core.git_locks import Lock


@dataclass(frozen=True)
class Prepared:
    """What was made for a task: None for what already existed. `notice` is for the person."""

    path: str
    made_branch: str | None = None
    made_tree: bool = False
    restored: str | None = None
    notice: str | None = None


@dataclass(frozen=True)
class Merged:
    """How a merge ended. `commit` is None while there are conflicts.

    It is also None if somebody else's merge has the work in its history but not in its files: those are `left_out`.
    """

    commit: str | None
    conflicts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cleared:
    """What was cleaned up, and what was kept and why."""

    removed_tree: str | None = None
    deleted_branch: str | None = None
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class StartedOver:
    """Where the old tips are kept, by branch."""

    kept: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CommandDone:
    """How a check command ended, and the end of its output. `commit` was checked out all the time, if that is known."""

    passed: bool
    output: str
    commit: str = ""


class CheckCommands(Protocol):
    """Runs the commands that check a plan's work."""

    async def run(self, words: Sequence[str], cwd: str, env: Mapping[str, str], seconds: float) -> CommandDone:
        """Run a command to its end. If it cannot be started, or takes too long, it has failed."""
        ...


class RunEvents(Protocol):
    """The journal of a feature, as one of its runs writes to it."""

    async def append(self, type_: str, data: dict[str, Any], event_id: str) -> None:
        """Write an event of the run; returns when it is on disk. An id that already exists is not written again."""
        ...

    async def flush(self) -> None:
        """Returns when everything that has happened to the run's sessions is on disk too."""
        ...


class FeatureGit(Protocol):
    """One feature in one repository. Blocking: call it in a thread. Raises RekindleError that says what to do.

    Every change may be requested twice. The user's checkout, index and branch are never touched.
    """

    @property
    def shared_tree(self) -> bool:
        """Whether all tasks work in one worktree, one after the other."""
        ...

    @property
    def branch(self) -> str:
        """The feature's branch."""
        ...

    def observe(
        self,
        tasks: Mapping[str, TaskProgress],
        recorded: Mapping[str, str] | None = None,
        anew: Collection[str] | None = None,
    ) -> GitEvidence:
        """What git says now about the feature and its tasks, as the journal has them; `recorded`: worktrees by branch.

        Call it before changing anything: where a task's worktree is depends on all of them. Only the worktrees of the
        tasks in `anew` are checked for uncommitted changes (None: all of them); for the others the answer may be what
        was seen before, and then they are `remembered`. Before acting on a task, look at it again.
        """
        ...

    def snapshot_reasons(self, sessions: Collection[str]) -> dict[str, frozenset[str]]:
        """Why the snapshots of these sessions were taken."""
        ...

    def make_feature(self, base: str) -> str:
        """Make the feature's branch at `base` (default: what the user has checked out); returns where it began."""
        ...

    def prepare(self, task: str, branch: str, session: str, wave: str) -> Prepared:
        """Make a task's branch and worktree, whichever is missing; files that only a snapshot has are restored.

        The branches of a wave all begin at one commit; without a wave, at the feature's branch as it is now.
        """
        ...

    def restore(self, task: str, branch: str, tip: str) -> None:
        """Recreate a task's branch at a commit that was merged and is no longer in the feature's branch."""
        ...

    def commit(self, task: str, branch: str, message: str) -> tuple[str, ...]:
        """Commit what the task's worktree has, without what checks left; returns what was left out, and why."""
        ...

    def begin_checks(self, task: str, branch: str, tip: str) -> None:
        """Put the task's worktree at this commit. From now on until `end_checks`, changes there are not work."""
        ...

    def put_back(self, task: str, branch: str) -> tuple[str, ...]:
        """Restore the commit's files that a check has changed, and keep the changed versions; returns them."""
        ...

    def end_checks(self, task: str, branch: str) -> tuple[str, ...]:
        """The checks are over; returns the files that they left."""
        ...

    def make_copy(self, task: str, tip: str) -> str | None:
        """Make a copy of a commit for the task's reviewer; returns the ref of changes that an older copy had."""
        ...

    def copy_of(self, task: str) -> str:
        """Where that copy is, or would be."""
        ...

    def drop_copy(self, task: str) -> str | None:
        """Remove the reviewer's copy; returns the ref that keeps what the reviewer changed in it."""
        ...

    def changed_files(self, task: str, branch: str) -> list[str]:
        """The files that a task's branch changes."""
        ...

    def merge(self, task: str, branch: str, tip: str, epoch: str, message: str) -> Merged:
        """Merge, or finish a merge that is resolved, in the integration worktree; then move the feature's branch."""
        ...

    def tree_of(self, task: str, branch: str) -> str:
        """Where a task's worktree is, or would be."""
        ...

    def integration(self, tip: str = "") -> str:
        """The integration worktree: clean, with the feature's tip checked out, or with the merge of `tip` in it."""
        ...

    def keep_left(self, wave: int) -> None:
        """Keep what the checks of a wave left in the integration worktree. It stays there until that is reused."""
        ...

    def notices(self) -> tuple[str, ...]:
        """What a person should know about what was done since the last call."""
        ...

    def keep_strays(self, task: str, branch: str, found: Sequence[Stray]) -> None:
        """Keep commits that are not on their task's branch, by private refs."""
        ...

    def take_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        """Put the strays of a task that nobody has decided about on its branch; returns them. A conflict is raised."""
        ...

    def leave_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        """Keep the strays of a task that nobody has decided about by private refs, and go back to its branch."""
        ...

    def clear(self, task: str, branch: str, *, unchanged: bool = False) -> Cleared:
        """Remove the worktree and the branch of a merged task, as far as nothing is lost.

        If it is `unchanged`, files that git ignores may be all there is: then its worktree stays.
        """
        ...

    def clear_integration(self) -> None:
        """Remove the integration worktree, and the one that tasks have shared; what is in no commit is kept."""
        ...

    def start_over(self, branches: Mapping[str, str], epoch: str, *, whole: bool) -> StartedOver:
        """Keep the tips of these branches under private refs and remove the branches.

        `whole`: the feature's tip is kept too, and its branch reset to where it began, unless others have committed
        to it.
        """
        ...


class ResumableGit(FeatureGit, Protocol):
    """The same, for those who begin a run or decide about its resume."""

    def check_base(self, base: str) -> None:
        """Raise FeatureBlocked if a new feature could not begin; changes nothing."""
        ...

    def choose_base(self, base: str) -> None:
        """Settle where a new feature begins. An existing branch is built upon."""
        ...

    def commit_as(self, environment: Mapping[str, str]) -> None:
        """From now on, commit in the name of the owner of this environment."""
        ...

    def keep_untracked(self) -> None:
        """Make sure that the user's status does not show the worktrees."""
        ...

    def with_snapshots(self, branches: Mapping[str, str]) -> frozenset[str]:
        """The sessions whose snapshots have files beyond what their branch has. `branches` is by session."""
        ...

    def fallen_in_snapshots(self, branches: Mapping[str, str]) -> dict[str, str]:
        """Where branches that are gone were, according to the snapshots of their sessions. By session, both."""
        ...

    def locks(self) -> list[Lock]:
        """Locks in the way of the feature and its tasks that are not ours, after watching them."""
        ...

    def remove_lock(self, lock: Lock) -> bool:
        """Remove a lock that was watched, unless it is gone or has been replaced by now."""
        ...
