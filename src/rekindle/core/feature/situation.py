"""Everything that a feature's run looks at when it decides, and questions that this alone can answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.core.feature.evidence import GitEvidence, RunMemory, TalkState, WorkTree
from rekindle.core.feature.modes import Mode
from rekindle.core.feature.naming import feature_branch, session_id
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.talks import talk
from rekindle.core.journal.run import COMPLETE, SKIPPED
from rekindle.core.session.state import Session

#: How many rounds of quality assurance a task gets before it has failed.
ROUNDS: dict[Mode, int] = {"strict": 3, "standard": 2, "fast": 1}


@dataclass(frozen=True)
class Situation:
    """Everything that the decision looks at. `marked` is the last wave with a checkpoint, None without any."""

    repository: str
    feature: str
    plan: Plan
    progress: Mapping[str, TaskProgress]
    git: GitEvidence
    sessions: Mapping[str, Session]
    memory: RunMemory
    mode: Mode = "standard"
    jobs: int = 4
    marked: int | None = None
    shared_tree: bool = False
    now: float = 0.0
    #: the epoch of tasks that nobody has started over
    root: str = ""
    #: sessions with a snapshot from after their last turn, among those whose worktrees are removed
    kept: frozenset[str] = frozenset()

    def session_of(self, task: str, role: str) -> str:
        """The id of a task's session."""
        return session_id(self.repository, self.feature, self.progress[task].epoch, task, role)

    def sessions_of(self, task: str) -> list[str]:
        """All existing sessions of a task."""
        last = self.progress[task].rounds_before + max(ROUNDS.values())
        roles = ("work", "merge", *(f"review-{number}" for number in range(1, last + 1)))
        return [name for role in roles if (name := self.session_of(task, role)) in self.sessions]

    def tree_of(self, task: str) -> WorkTree | None:
        """The worktree that has the task's branch checked out."""
        branch, home = self.progress[task].branch, self.git.homes.get(task)
        found = (tree for tree in self.git.trees.values() if tree.branch == branch and home in (None, tree.path))
        return next(found, None)

    def removed_under(self) -> dict[str, Session]:
        """The sessions of unfinished tasks whose worktrees are removed, by task."""
        unfinished = (name for name in self.git.removed if self.progress[name].status not in (COMPLETE, SKIPPED))
        found = {name: self.sessions.get(self.session_of(name, "work")) for name in unfinished}
        return {name: session for name, session in found.items() if session is not None}

    @property
    def target(self) -> str:
        """The name of the feature's branch."""
        return self.git.target or feature_branch(self.feature)

    def talk_with(self, task: str, role: str, prompt: str) -> TalkState:
        """The state of a task's session."""
        name = self.session_of(task, role)
        return talk(name, self.sessions.get(name), prompt)
