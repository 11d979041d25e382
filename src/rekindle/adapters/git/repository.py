"""Finds the git repository around a folder by git's own file layout, without starting git.

`rekindle` with no arguments and the hook client run on every prompt and every tool call, and a subprocess (or the
import of `subprocess`) would cost more than the rest of them. Layouts that cannot be told from the files alone
(environment overrides, submodules, `core.worktree`) are left to git itself. Light standard library only.
"""

from __future__ import annotations

import os
import stat

from rekindle import files
from rekindle.adapters.git import ownership, pointers
from rekindle.adapters.git.refusal import refused
from rekindle.core.git_names import is_git_name
from rekindle.core.names import feature_of_branch

_OVERRIDES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
PROGRESS = os.path.join(".claude", "progress")
_LONGEST_EXCLUDE = 1 << 20
#: Where in git's common folder clones of our own are, for features without worktrees.
CLONES = ("rekindle", "clones")
_LONGEST_CONFIG = 1 << 20


class Repository:
    """A repository as seen from one of its worktrees."""

    __slots__ = ("common", "git_dir", "root", "top")

    def __init__(self, *, common: str, git_dir: str, root: str, top: str | None) -> None:
        #: git's common folder, shared by all worktrees
        self.common = common
        #: this worktree's own git folder
        self.git_dir = git_dir
        #: the main checkout; in a bare repository, the git folder itself
        self.root = root
        #: the top of the worktree that we are in, None in a bare repository
        self.top = top

    @property
    def branch(self) -> str | None:
        """The branch that is checked out here; None with a detached HEAD."""
        head = _first_line(os.path.join(self.git_dir, "HEAD"))
        if head is None or not head.startswith("ref: refs/heads/"):
            return None
        return head.removeprefix("ref: refs/heads/")

    @property
    def head(self) -> str | None:
        """The commit that is checked out here, where a file says so; None: git has to be asked."""
        branch = self.branch
        place = os.path.join(self.common, "refs", "heads", branch) if branch else os.path.join(self.git_dir, "HEAD")
        found = _first_line(place) or ""
        return found if len(found) in (40, 64) and not set(found) - set("0123456789abcdef") else None

    @property
    def feature(self) -> str | None:
        """The feature that the branch names."""
        branch = self.branch
        return feature_of_branch(branch) if branch else None

    def exclude(self, folder: str) -> None:
        """List a folder of the main checkout in git's `info/exclude`, once. A read-only git folder is not an error."""
        relative = os.path.relpath(folder, self.root)
        if self.top is None or relative.startswith(os.pardir) or not relative.isprintable():
            return
        escaped = "".join(f"\\{char}" if char in "\\*?[ " else char for char in relative)
        pattern = b"/" + os.fsencode(escaped) + b"/"
        try:
            fd = files.open_to_append(os.path.join(self.common, "info", "exclude"), self.common)
            with os.fdopen(fd, "a+b") as file:
                file.seek(0)
                text = file.read(_LONGEST_EXCLUDE)
                if pattern not in text.splitlines() and len(text) < _LONGEST_EXCLUDE:
                    file.write((b"" if not text or text.endswith(b"\n") else b"\n") + pattern + b"\n")
        except OSError:
            return

    def progress_folder(self, configured: str | None = None) -> str:
        """Where the journals are: under the main checkout, so that every worktree shares them."""
        return self.folder(configured or PROGRESS, "progress_dir")

    def folder(self, configured: str, setting: str, top: str | None = None) -> str:
        """A folder of the main checkout's, which need not exist. Raises ForeignRepository if it is not really in there.

        `top`: the worktree that it is to be in instead.

        No link may be on the way, nor another repository, nor anything that another user owns. A place that is plainly
        outside was chosen by the user: a repository's own settings cannot name one.
        """
        base = top or self.root
        folder = os.path.normpath(os.path.join(base, configured))
        if not files.is_below(folder, base):
            return folder
        way, seen = base, []
        hint = f"make it a plain folder, or set {setting} in your own config.toml or in REKINDLE_{setting.upper()}"
        for name in os.path.relpath(folder, base).split(os.sep):
            way = os.path.join(way, name)
            if is_git_name(name):
                raise refused(f"{way} is git's own folder", hint)
            if os.path.islink(way):
                raise refused(f"{way} is a symbolic link, and may lead anywhere", hint)
            if os.path.lexists(os.path.join(way, ".git")):
                raise refused(f"{way} is another repository", hint)
            seen.append(way)
        ownership.check(self.root, seen)
        return folder


def own_clones(common: str) -> list[str]:
    """The clones of our own in git's common folder."""
    folder = os.path.join(common, *CLONES)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith(".git")]


def is_overridden() -> bool:
    """Whether variables of the caller's tell git where its repository is."""
    return any(os.environ.get(name) for name in _OVERRIDES)


def find(start: str) -> Repository | None:
    """The repository that `start` is in, or None. Raises ForeignRepository if it is another user's, or leads away."""
    real = os.path.realpath(start)
    found = _find(start, real)
    if found is None:
        return None
    top = found.top or found.git_dir
    ownership.check(top, (top, os.path.join(top, ".git"), found.git_dir))
    ownership.check(found.root, (found.root, found.common, os.path.join(found.root, ".rekindle.toml")))
    _refuse_pipes(found)
    if found.git_dir != found.common and os.path.dirname(found.git_dir) != os.path.join(found.common, "worktrees"):
        raise refused(
            f"{os.path.join(top, '.git')} leads to {found.common}, which does not know it as a worktree",
            "move that .git away, or make the worktree with `git worktree add`",
        )
    if found.top is not None and not files.is_below(real, found.top) and not is_overridden():
        raise refused(
            f"the repository around {start} has its work tree somewhere else: {found.top}",
            "look at core.worktree with `git config --local --list`; to use it all the same, set GIT_WORK_TREE",
        )
    return found


def _refuse_pipes(found: Repository) -> None:
    """git would block forever on a pipe in place of one of its files."""
    for folder in dict.fromkeys((found.git_dir, found.common)):
        for name in ("HEAD", "config", "index", "packed-refs", os.path.join("info", "exclude")):
            path = os.path.join(folder, name)
            try:
                kind = os.stat(path).st_mode
            except OSError:
                continue  # it is not there
            if not stat.S_ISREG(kind):
                raise refused(f"{path} is not a regular file; git would hang", "move it away")


def _find(start: str, folder: str) -> Repository | None:
    """The same, unchecked. `folder` is where `start` really is."""
    if is_overridden():
        return _ask_git(start)
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isdir(dot_git):
            if os.path.exists(os.path.join(dot_git, "HEAD")):
                if _has_worktree_setting(dot_git):
                    return _ask_git(start, folder)
                return Repository(common=dot_git, git_dir=dot_git, root=folder, top=folder)
        elif os.path.isfile(dot_git):
            return _linked(folder, dot_git) or _ask_git(start, folder)
        elif os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects")):
            return _ask_git(start, folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _linked(folder: str, dot_git: str) -> Repository | None:
    try:
        target = pointers.git_file(dot_git)
        if target is None:
            return None
        git_dir = os.path.realpath(os.path.join(folder, target))
        shared = pointers.common_folder(git_dir)
    except OSError:
        return None
    if shared is None:
        return None
    common = os.path.realpath(os.path.join(git_dir, shared))
    around = _around(common)
    if around is not None:
        return Repository(common=common, git_dir=git_dir, root=os.path.dirname(around), top=folder)
    if _has_worktree_setting(common):
        return None
    root = os.path.dirname(common) if os.path.basename(common) == ".git" else common
    return Repository(common=common, git_dir=git_dir, root=root, top=folder)


def _around(common: str) -> str | None:
    """The git folder that our own clone is in: work in the clone belongs to that repository."""
    rest, name = os.path.split(common)
    around = os.path.dirname(os.path.dirname(rest))
    is_clone = name.endswith(".git") and rest == os.path.join(around, *CLONES)
    return around if is_clone and os.path.basename(around) == ".git" else None


def _has_worktree_setting(git_dir: str) -> bool:
    """Whether a repository's settings may say where its work tree is. How it is spelled is git's to judge.

    What cannot be ruled out here is asked of git, which costs time and nothing else.
    """
    text = _config(git_dir)
    told = text.replace(b"bare = false", b"")
    return len(text) >= _LONGEST_CONFIG or b"worktree" in told or b"bare" in told


def _config(git_dir: str) -> bytes:
    """git's settings of a repository in small letters; nothing where they cannot be read."""
    try:
        return files.read_start(os.path.join(git_dir, "config"), _LONGEST_CONFIG).lower()
    except OSError:
        return b""


def _first_line(path: str) -> str | None:
    try:
        line = files.read_start(path, 8192).partition(b"\n")[0]
    except OSError:
        return None
    return line.decode("utf-8", "surrogateescape").rstrip("\r\n")


def _ask_git(start: str, folder: str | None = None) -> Repository | None:
    """What git says. Of a repository in another user's `folder` it would say nothing, so that is looked at first."""
    from rekindle.adapters.git import process

    if folder is not None:
        ownership.check(folder, (folder, os.path.join(folder, ".git")))
    theirs = {name: os.environ[name] for name in _OVERRIDES if os.environ.get(name)}

    def git(*words: str) -> str | None:
        return process.line(start, "rev-parse", "--path-format=absolute", *words, variables=theirs)

    common, git_dir = git("--git-common-dir"), git("--git-dir")
    if not common or not git_dir:
        return None
    top = git("--show-toplevel")
    common = os.path.realpath(common)
    if os.path.basename(common) == ".git" and not _is_bare(common):
        root = os.path.dirname(common)
    else:
        root = top if top and os.path.realpath(git_dir) == common else common
    return Repository(common=common, git_dir=os.path.realpath(git_dir), root=root, top=top)


def _is_bare(git_dir: str) -> bool:
    return b"bare = true" in _config(git_dir)
