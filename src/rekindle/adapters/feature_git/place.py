"""Where a feature lives in a repository, and how its refs are changed: compare-and-swap, past stale locks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rekindle import files
from rekindle.adapters.feature_git.ancestry import CommitAnswers
from rekindle.adapters.feature_git.folder_look import FolderLook
from rekindle.adapters.feature_git.locking import Locks
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.ref_files import Unsure, read_ref
from rekindle.adapters.git.repository import Repository
from rekindle.adapters.git.worktree_files import head_of, refs_of
from rekindle.core.feature import naming
from rekindle.core.git_complaints import reason
from rekindle.files import is_below
from rekindle.ports.errors import FeatureBlocked, GitFailed

#: A branch must not outlive what it points to.
DURABLE = ("-c", "core.fsync=committed,reference")
_NAME, _MAIL = "rekindle", "rekindle@localhost.invalid"
_OURS = {
    "GIT_AUTHOR_NAME": _NAME,
    "GIT_AUTHOR_EMAIL": _MAIL,
    "GIT_COMMITTER_NAME": _NAME,
    "GIT_COMMITTER_EMAIL": _MAIL,
}


@dataclass(frozen=True)
class Move:
    """A ref to move to `new`. `old` is where it must be now: None means nowhere, "" anywhere."""

    ref: str
    new: str
    old: str | None = ""

    def order(self) -> str:
        """A line for `git update-ref --stdin`."""
        expected = "0" * len(self.new) if self.old is None else self.old
        return f"update {self.ref} {self.new} {expected}".rstrip()


@dataclass(frozen=True)
class FeaturePlace:
    """A repository (`root`, its common git folder) and one feature of it. `trees` is the folder of its worktrees.

    `target_name` is the feature's branch if somebody gave it a name other than ours. `author` are the
    variables that make git commit in somebody's name.
    """

    root: str
    common: str
    feature: str
    trees: str
    shared_tree: bool = False
    target_name: str = ""
    author: Mapping[str, str] = field(default_factory=dict, compare=False)
    _notices: list[str] = field(default_factory=list, compare=False)
    _answers: CommitAnswers = field(default_factory=CommitAnswers, compare=False)
    _look: FolderLook | None = field(default=None, compare=False)

    def for_one_look(self) -> FeaturePlace:
        """The same place, for a look that changes nothing: it asks about each folder only once."""
        return replace(self, _look=FolderLook())

    def real(self, path: str) -> str:
        """Where a path really is."""
        return (self._look or FolderLook()).real(path)

    def worktree(self, path: str) -> Repository | None:
        """The worktree at a path, if it is sound."""
        return (self._look or FolderLook()).sound(path, lambda: self._sound_worktree(path))

    def _sound_worktree(self, path: str) -> Repository | None:
        if self.is_linked_away(path):
            return None
        found = (self._look or FolderLook()).around(path)
        if found is None or found.top != self.real(path):
            return None
        known = os.path.join(self.real(self.common), "worktrees")
        return found if os.path.dirname(found.git_dir) == known else None

    def tell(self, sentence: str) -> None:
        """Report something that a person should know."""
        self._notices.append(sentence)

    def told(self) -> tuple[str, ...]:
        """What was reported since the last call."""
        count = len(self._notices)  # others may report more meanwhile
        said = tuple(self._notices[:count])
        del self._notices[:count]
        return said

    @property
    def locks(self) -> Locks:
        """The lock files that may block us."""
        return Locks(self.root, self.common, self.trees, self.feature, self.tell)

    @property
    def answers(self) -> CommitAnswers:
        """What git has said about commits. In a shallow repository it may say something else tomorrow."""
        return CommitAnswers() if os.path.lexists(os.path.join(self.common, "shallow")) else self._answers

    @property
    def git(self) -> Git:
        """Git at the main checkout; in a bare repository, at the git folder."""
        return Git(self.root, unlock=self.locks.unlock)

    @property
    def branch(self) -> str:
        """The feature's branch."""
        return self.target_name or naming.feature_branch(self.feature)

    @property
    def integration(self) -> str:
        """The worktree that merges are made in."""
        return os.path.join(self.trees, naming.INTEGRATION)

    def tree(self, branch: str) -> str:
        """Where the worktree of a task's branch is made, unless it exists elsewhere."""
        word = naming.SHARED if self.shared_tree else naming.branch_word(branch.rpartition("/")[2])
        return os.path.join(self.trees, word)

    def is_linked_away(self, path: str) -> bool:
        """Whether a symbolic link leads from a path in the folder of the worktrees to somewhere else."""
        top = os.path.dirname(self.trees)
        real = self.real(top)
        inside = next((os.path.relpath(path, one) for one in (top, real) if is_below(path, one)), None)
        return inside is not None and self.real(path) != os.path.normpath(os.path.join(real, inside))

    def is_sound(self, tree: str) -> bool:
        """Whether a folder is still a worktree of this repository: an agent may have removed its `.git`."""
        return self.worktree(tree) is not None

    def at(self, tree: str) -> Git:
        """Git in a worktree of ours, and nowhere else: in a folder without `.git` it would take the user's checkout."""
        if not self.is_sound(tree):
            raise FeatureBlocked(
                f"{tree} is no worktree of this repository any more", "move it away, then resume the feature"
            )
        return Git(tree, unlock=self.locks.unlock).with_variables(
            GIT_CEILING_DIRECTORIES=os.path.dirname(self.real(tree))
        )

    def refuse_link(self, path: str) -> None:
        """Raise FeatureBlocked if a link would lead us out of the worktrees' folder."""
        if self.is_linked_away(path):
            raise FeatureBlocked(f"there is a symbolic link on the way to {path}", "take the link away, then resume")

    def tip(self, branch: str) -> str | None:
        """The commit that a branch is at."""
        return self.ref(f"refs/heads/{branch}")

    def ref(self, name: str) -> str | None:
        """What a ref points to, by its full name."""
        try:
            return refs_of(self.common).commit(name)
        except Unsure:
            return self.git.line("rev-parse", "--quiet", "--verify", name)

    def refs(self, folders: Iterable[str], names: Iterable[str] = ()) -> dict[str, str]:
        """The refs in folders, and others by name. One that is only a name of another is left out."""
        wanted = [*folders], [*names]
        try:
            return refs_of(self.common).below(*wanted)
        except Unsure:
            form = "--format=%(objectname) %(refname) %(symref)"
            told = self.git.output("for-each-ref", form, *wanted[0], *wanted[1]).decode("utf-8", "surrogateescape")
            lines = (line.split(" ") for line in told.splitlines())
            return {name: commit for commit, name, other in lines if not other}

    def head(self, tree: str) -> str | None:
        """The commit that a worktree of ours has checked out."""
        git = self.at(tree)
        found = self.worktree(tree)
        try:
            return head_of(self.common, found.git_dir)[0] if found is not None else None
        except Unsure:
            return git.line("rev-parse", "--quiet", "--verify", "HEAD")

    def merge_head(self, tree: str) -> str | None:
        """The commit that is being merged in a worktree of ours."""
        git = self.at(tree)
        found = self.worktree(tree)
        try:
            told = read_ref(os.path.join(found.git_dir, "MERGE_HEAD")) if found is not None else None
            return told.decode() if told is not None else None
        except Unsure:
            return git.line("rev-parse", "--quiet", "--verify", "MERGE_HEAD")

    def is_ancestor(self, commit: str, of: str) -> bool:
        """Whether git says that one commit is contained in another."""
        return commit == of or self.answers.contains(self.git, commit, of)

    def set_ref(self, ref: str, new: str, old: str | None) -> None:
        """Move a ref from `old` (None: it must not exist) to `new`, or fail without changing anything."""
        expected = old if old is not None else "0" * len(new)
        with self.locks.moving(ref):
            done = self.git.run("update-ref", "--no-deref", "-m", "rekindle", ref, new, expected)
        if done.returncode == 0:
            return
        said = reason(done.stderr)
        if old is None and "; cannot create" in said:  # `feature` may be a branch, and so cannot be a folder of some
            raise FeatureBlocked(f"a branch is in the way: {said}", "rename it: git branch -m OLD NEW")
        raise GitFailed(f"{ref} cannot be moved: {said}", "look at it with `git log`, then resume the feature")

    def move(self, *moves: Move) -> None:
        """Move several refs in one transaction: all of them, or none if one is not where it must be."""
        orders = "".join(f"{one.order()}\n" for one in moves)
        with self.locks.moving(*(one.ref for one in moves)):
            done = self.git.run("update-ref", "--no-deref", "-m", "rekindle", "--stdin", stdin=orders.encode())
        if done.returncode != 0:
            raise GitFailed(
                f"git moved no ref: {reason(done.stderr)}", "look at it with `git log`, then resume the feature"
            )

    def put_ref(self, ref: str, new: str) -> None:
        """Set a ref that is ours alone."""
        self.git.output("update-ref", "--no-deref", ref, new)

    def drop_ref(self, ref: str, old: str | None = None) -> None:
        """Delete a ref if it is there, only at `old` where that is given."""
        if old is None and self.ref(ref) is None:
            return
        with self.locks.moving(ref, "packed-refs"):
            self.git.output("update-ref", "--no-deref", "-d", ref, *([old] if old is not None else []))

    def forget_settings(self, branch: str) -> None:
        """Remove the configuration of a deleted branch, if there is any."""
        try:
            told = files.read(os.path.join(self.common, "config"))
        except OSError:
            told = os.fsencode(branch)
        if '"' not in branch and os.fsencode(branch) not in told:
            return
        with self.locks.moving("config"):
            self.git.run("config", "--remove-section", f"branch.{branch}")

    def commit(self, tree: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        """A call that makes a commit: as the person who runs the feature, or as rekindle if git knows no name.

        Nobody is there to be asked for a passphrase, so nothing is signed.
        """
        git = self.named(self.at(tree))
        return git.run(*DURABLE, words[0], "--no-verify", "--no-gpg-sign", "--quiet", *words[1:])

    def named(self, git: Git) -> Git:
        """Git with a name to commit as: ours if it does not know the user's."""
        if self.author:
            return git.with_variables(**self.author)
        known = all(self.git.line("var", name) for name in ("GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"))
        return git if known else git.with_variables(**_OURS)

    def commit_tree(self, tree: str, parents: Sequence[str], message: str) -> str:
        """A commit of a tree that git already has; touches no worktree. Duplicate parents count once."""
        words = [word for one in dict.fromkeys(parents) for word in ("-p", one)]
        made = self.named(self.git).output(
            *DURABLE, "commit-tree", "--no-gpg-sign", *words, tree, stdin=message.encode()
        )
        return made.decode().strip()
