"""Where a feature lives in a repository, and how its refs are changed: compare-and-swap, past locks of the dead."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rekindle.adapters.feature_git.locking import Locks
from rekindle.adapters.git import repository
from rekindle.adapters.git.git import Git
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
    """A ref that is to be at `new`. `old` is where it must be now: None nowhere, "" wherever it is."""

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

    `target_name` is the feature's branch where somebody has given it another name than we would. `author` are the
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

    def tell(self, sentence: str) -> None:
        """Say something that a person should know."""
        self._notices.append(sentence)

    def told(self) -> tuple[str, ...]:
        """What was said since the last time that somebody asked."""
        count = len(self._notices)  # others may go on saying something meanwhile
        said = tuple(self._notices[:count])
        del self._notices[:count]
        return said

    @property
    def locks(self) -> Locks:
        """The lock files that may be in our way."""
        return Locks(self.root, self.common, self.trees, self.feature, self.tell)

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
        """Where the worktree of a task's branch is made, unless somebody has made it elsewhere."""
        word = naming.SHARED if self.shared_tree else naming.branch_word(branch.rpartition("/")[2])
        return os.path.join(self.trees, word)

    def is_linked_away(self, path: str) -> bool:
        """Whether a symbolic link leads from a path in the folder of the worktrees to somewhere else."""
        top = os.path.dirname(self.trees)
        real = os.path.realpath(top)
        inside = next((os.path.relpath(path, one) for one in (top, real) if is_below(path, one)), None)
        return inside is not None and os.path.realpath(path) != os.path.normpath(os.path.join(real, inside))

    def is_sound(self, tree: str) -> bool:
        """Whether a folder is a worktree of this repository still: an agent may have taken its `.git` away."""
        if self.is_linked_away(tree):
            return False
        found = repository.find(tree)
        if found is None or found.top != os.path.realpath(tree):
            return False
        return os.path.dirname(found.git_dir) == os.path.join(os.path.realpath(self.common), "worktrees")

    def at(self, tree: str) -> Git:
        """Git in a worktree of ours, and nowhere else: in a folder without `.git` it would take the user's checkout."""
        if not self.is_sound(tree):
            raise FeatureBlocked(
                f"{tree} is no worktree of this repository any more", "move it away, then resume the feature"
            )
        return Git(tree, unlock=self.locks.unlock).with_variables(
            GIT_CEILING_DIRECTORIES=os.path.dirname(os.path.realpath(tree))
        )

    def refuse_link(self, path: str) -> None:
        """Raise FeatureBlocked where a link would lead us out of the folder of the worktrees."""
        if self.is_linked_away(path):
            raise FeatureBlocked(f"there is a symbolic link on the way to {path}", "take the link away, then resume")

    def tip(self, branch: str) -> str | None:
        """The commit that a branch is at."""
        return self.git.line("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}^{{commit}}")

    def is_ancestor(self, commit: str, of: str) -> bool:
        """Whether git says that one commit is contained in another."""
        return self.git.run("merge-base", "--is-ancestor", commit, of).returncode == 0

    def set_ref(self, ref: str, new: str, old: str | None) -> None:
        """Move a ref from `old` (None: it must not exist) to `new`, or fail without changing anything."""
        expected = old if old is not None else "0" * len(new)
        with self.locks.moving(ref):
            done = self.git.run("update-ref", "--no-deref", "-m", "rekindle", ref, new, expected)
        if done.returncode == 0:
            return
        said = reason(done.stderr)
        if old is None and "; cannot create" in said:  # `feature` is a branch, say, and so cannot be a folder of some
            raise FeatureBlocked(f"a branch is in the way: {said}", "rename it: git branch -m OLD NEW")
        raise GitFailed(f"{ref} cannot be moved: {said}", "look at it with `git log`, then resume the feature")

    def move(self, *moves: Move) -> None:
        """Move several refs in one transaction: all of them, or none where one is not where it must be."""
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
        """Delete a ref, only at `old` where that is given."""
        with self.locks.moving(ref, "packed-refs"):
            self.git.output("update-ref", "--no-deref", "-d", ref, *([old] if old is not None else []))

    def forget_settings(self, branch: str) -> None:
        """Drop what git's configuration says of a branch that is gone, if it says anything."""
        with self.locks.moving("config"):
            self.git.run("config", "--remove-section", f"branch.{branch}")

    def commit(self, tree: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        """A call that makes a commit: by whoever runs the feature, or by ourselves where git does not know a name.

        Nobody is there to be asked for a passphrase, so nothing is signed.
        """
        git = self.named(self.at(tree))
        return git.run(*DURABLE, words[0], "--no-verify", "--no-gpg-sign", "--quiet", *words[1:])

    def named(self, git: Git) -> Git:
        """Git with a name to commit by: ours where it does not know the user's."""
        if self.author:
            return git.with_variables(**self.author)
        known = all(self.git.line("var", name) for name in ("GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"))
        return git if known else git.with_variables(**_OURS)

    def commit_tree(self, tree: str, parents: Sequence[str], message: str) -> str:
        """A commit of a tree that git has already; no worktree is touched. Parents that are the same count once."""
        words = [word for one in dict.fromkeys(parents) for word in ("-p", one)]
        made = self.named(self.git).output(
            *DURABLE, "commit-tree", "--no-gpg-sign", *words, tree, stdin=message.encode()
        )
        return made.decode().strip()
