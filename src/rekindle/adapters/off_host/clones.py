"""The clones of repositories that sessions on this host work in, fetched from where the user's settings say."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence

from rekindle import files
from rekindle.adapters.git.git import Git
from rekindle.core.off_host import source_of
from rekindle.ports.errors import GitFailed, RekindleError

#: Where clones are, in the folder of a host's own state.
CLONES = "clones"
#: An address in the user's own settings may be on another machine, unlike one in a repository.
_PROTOCOLS = "file:git:ssh:http:https"
#: Who asks, and with which password or token, in an address. A user alone is told only where it cannot be a token.
_SECRET = re.compile(r"(?<=http://)[^/@\s']+(?=@)|(?<=https://)[^/@\s']+(?=@)|(?<=://)[^/@:\s']*:[^/@\s']+(?=@)")
#: Several sessions begin or arrive at once; two fetches into one clone would get in each other's way.
_ONE_AT_A_TIME = threading.Lock()


def ready(clones: str, name: str, sources: Sequence[str]) -> str:
    """The clone of a repository, with all that its source has now. Raises RekindleError."""
    source = source_of(name, sources)
    if source is None or source.startswith("-") or os.path.basename(name) != name or name in ("", ".", ".."):
        raise RekindleError(
            f"where the repository {name!r} is fetched from is not set",
            f'set fleet_repositories, such as "{name}=ssh://git@example.org/{name}.git" or "*=/srv/git/{{name}}.git"',
        )
    with _ONE_AT_A_TIME:
        return _ready(clones, name, source)


def kept(clones: str) -> list[str]:
    """The names of the repositories that this host has a clone of: the next job in one has less to fetch."""
    try:
        return sorted(one.name for one in os.scandir(clones) if os.path.isdir(os.path.join(one.path, ".git")))
    except OSError:
        return []


def _ready(clones: str, name: str, source: str) -> str:
    files.make_private(clones)
    path = os.path.join(clones, name)
    try:
        if os.path.isdir(os.path.join(path, ".git")):
            # Agents work in its worktrees, so its configuration may be theirs.
            git = Git(path).with_variables(GIT_ALLOW_PROTOCOL=_PROTOCOLS)
            _refuse_detours(git)
            git.output(
                "fetch",
                "--quiet",
                "--no-auto-gc",
                "--recurse-submodules=no",
                "--",
                source,
                "+refs/heads/*:refs/remotes/origin/*",
            )
        else:
            git = Git(clones).with_variables(GIT_ALLOW_PROTOCOL=_PROTOCOLS)
            fresh = f"{path}.{os.getpid()}.new"
            shutil.rmtree(fresh, ignore_errors=True)  # half of a clone of ours
            git.output("clone", "--quiet", "--no-recurse-submodules", "--no-hardlinks", "--", source, fresh)
            os.rename(fresh, path)
    except (GitFailed, OSError) as error:
        why = error.message if isinstance(error, GitFailed) else str(error)
        words = f"the repository {name} cannot be fetched from {source}: {why}"
        raise RekindleError(_SECRET.sub("…", words), "see fleet_repositories") from error
    return path


def _refuse_detours(git: Git) -> None:
    """Refuse a clone whose own configuration says that an address means another one. Raises GitFailed."""
    found = git.line("config", "--local", "--includes", "--name-only", "--get-regexp", r"^url\.")
    if found:
        raise GitFailed(f"{git.folder} has {found.splitlines()[0]} in its configuration", "remove that")
