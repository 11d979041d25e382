"""Files whose filter a repository defines itself and nobody has approved: they are left as they are, and named.

Without its filter a file's content is not what belongs into a commit (a filter may encrypt it), so that such a file is
neither committed nor snapshotted; git's index keeps what it has of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.adapters.git.git import Git

_REMEDY = "`rekindle trust filters` shows it and asks"


def held(git: Git, paths: Sequence[bytes]) -> dict[bytes, str]:
    """Those of some paths that need a filter which is not run here, with the filter's name. One call for all."""
    names = git.policy().filters
    if not names or not paths:
        return {}
    told = git.output("check-attr", "-z", "--stdin", "filter", stdin=b"\0".join(paths) + b"\0").split(b"\0")
    found = zip(told[::3], told[2::3], strict=False)
    return {path: name for path, value in found if (name := value.decode("utf-8", "surrogateescape")) in names}


def why(name: str) -> str:
    """Why a file was left out."""
    return f"it needs the filter {name!r}, which this repository defines and you have not approved: {_REMEDY}"


def notice(git: Git) -> str | None:
    """What a person should know before work begins in a repository; None if there is nothing."""
    left = git.policy().withheld
    filters = [repr(one.name) for one in left if one.kind == "filter"]
    drivers = [repr(one.name) for one in left if one.kind == "merge"]
    told = []
    if filters:
        told.append(
            f"the git configuration of this repository defines the filter {', '.join(filters)}, which you have not "
            "approved: files that need it are neither committed nor snapshotted, and are checked out as they are stored"
        )
    if drivers:
        told.append(
            f"the git configuration of this repository defines the merge driver {', '.join(drivers)}, which you have "
            "not approved: git merges such files as texts"
        )
    return f"{'; '.join(told)} ({_REMEDY})" if told else None
