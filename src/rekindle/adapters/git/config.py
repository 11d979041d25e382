"""What a repository's own configuration would have git run, and what git is told so that it does not.

Most repositories define nothing of the kind. That is seen from the bytes of their configuration files, so that no call
costs a second process; only where a telling word is in them is git asked for the whole list, which runs nothing.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator

import msgspec

from rekindle import files
from rekindle.adapters.git import approvals, pointers
from rekindle.adapters.git import process as git_process
from rekindle.core.git_trust import ConfigEntry, Definition, Setting, definitions, parse, safe_settings, withheld
from rekindle.ports.errors import GitFailed

#: Section names stand right behind their bracket, keys are written out; neither can be hidden by quotes.
_TELLING = re.compile(
    rb"\[\s*(filter|merge|diff|hook|include|credential|lfs|gpg)|uploadpack|receivepack|sshcommand|gitproxy|askpass"
)
_INCLUDES = b"include"
#: How long a list is reused while the files are the same: the user's own configuration may have changed.
_FRESH_SECONDS = 5.0
_LIST_SECONDS = 30.0


class Policy(msgspec.Struct, frozen=True):
    """How git is called in one folder. `withheld` is not run; `defined` is all that the repository defines."""

    settings: tuple[Setting, ...] = ()
    withheld: tuple[Definition, ...] = ()
    defined: tuple[Definition, ...] = ()
    common: str | None = None

    @property
    def filters(self) -> frozenset[str]:
        """The names of filters that are not run: files that need them are neither committed nor snapshotted."""
        return frozenset(one.name for one in self.withheld if one.kind == "filter")


class _Listed(msgspec.Struct, frozen=True):
    at: float
    stamps: tuple[tuple[int, ...], ...]
    entries: list[ConfigEntry]
    common: str | None


_NOTHING = Policy()
_LISTS: dict[str, _Listed] = {}
_LOCK = threading.Lock()


def policy(folder: str) -> Policy:
    """How to call git in a folder. Raises GitFailed if the configuration cannot be read."""
    paths = list(dict.fromkeys(_configurations(folder)))
    told = b"\n".join(filter(None, map(_read, paths))).lower()
    if _TELLING.search(told) is None:
        return _NOTHING
    listed = _listed(folder, tuple(map(_stamp, paths)), is_kept=_INCLUDES not in told)
    defined = definitions(listed.entries)
    common = listed.common
    left = withheld(defined, approvals.approved(common) if common is not None and defined else ())
    return Policy(tuple(safe_settings(listed.entries, left)), tuple(left), tuple(defined), common)


def _listed(folder: str, stamps: tuple[tuple[int, ...], ...], *, is_kept: bool) -> _Listed:
    now = time.monotonic()
    with _LOCK:
        known = _LISTS.get(folder)
    if is_kept and known is not None and known.stamps == stamps and now - known.at < _FRESH_SECONDS:
        return known
    words = ("config", "--list", "--includes", "--show-scope", "-z")
    told = git_process.output(folder, *words, seconds=_LIST_SECONDS)
    if told is None:
        raise GitFailed(f"git cannot read the configuration in {folder}", "see what `git config --list` says there")
    common = git_process.line(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    found = _Listed(now, stamps, parse(told), common)
    with _LOCK:
        _LISTS[folder] = found
    return found


def _configurations(folder: str) -> Iterator[str]:
    """The configuration files of every repository that git might consider a folder part of."""
    folder = os.path.realpath(folder)
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isdir(dot_git):
            yield from _of(dot_git)
        elif os.path.exists(dot_git):
            if (target := _pointed(pointers.git_file, dot_git)) is not None:
                yield from _of(os.path.join(folder, target))
        elif os.path.lexists(os.path.join(folder, "HEAD")):  # to git a link that leads nowhere is one, too
            yield from _of(folder)
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _of(git_dir: str) -> Iterator[str]:
    common = _pointed(pointers.common_folder, git_dir)
    for one in (git_dir,) if common is None else (git_dir, os.path.join(git_dir, common)):
        yield os.path.join(one, "config")
        yield os.path.join(one, "config.worktree")


def _pointed(read: Callable[[str], str | None], path: str) -> str | None:
    try:
        return read(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def _read(path: str) -> bytes | None:
    """A small file; None if there is none. A pipe in its place would block git forever."""
    try:
        return files.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> GitFailed:
    return GitFailed(f"{path} cannot be read ({error.strerror})", "look at it before you work there")


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
