"""What to answer when an agent asks for permission: a pure policy.

Nothing is asked and nothing is resolved here: paths come in resolved (absolute, links followed), as the caller found
them. What is not known to be harmless is asked; no paths means that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

Mode: TypeAlias = Literal["edits", "ask", "deny", "all"]

_READS: Final = frozenset({"read", "search"})
#: Deleting and moving are not included: what an edit spoils can still be seen.
_EDITS: Final = frozenset({"edit"})
#: An agent that may write here can have commands run later, without being asked.
_GUARDED: Final = ".git"


class Option(msgspec.Struct, frozen=True):
    """One of the answers that the agent offers; `kind` is allow_once, allow_always, reject_once or reject_always."""

    option_id: str
    name: str
    kind: str


class Allow(msgspec.Struct, frozen=True, tag=True):
    option: Option


class Deny(msgspec.Struct, frozen=True, tag=True):
    """`option` is None if the agent offers no way to reject: then its request is answered as cancelled."""

    option: Option | None


class Ask(msgspec.Struct, frozen=True, tag=True):
    """A person has to decide."""


Verdict: TypeAlias = Allow | Deny | Ask


def decide(mode: Mode, kind: str, paths: Sequence[str], folder: str, options: Sequence[Option]) -> Verdict:
    """The answer to one request. `kind` is the tool's kind in ACP's terms, `folder` the working folder."""
    match mode:
        case "all":
            return _allow(options, "allow_once", "allow_always")
        case "deny":
            return Deny(_first(options, "reject_once", "reject_always"))
        case "edits":
            harmless = _is_read(kind, paths, folder) or _is_edit(kind, paths, folder)
        case "ask":
            harmless = _is_read(kind, paths, folder)
        case _:
            assert_never(mode)
    # "Always" would let later calls pass without a look at their paths, so only a person may give it.
    return _allow(options, "allow_once") if harmless else Ask()


def is_inside(path: str, folder: str) -> bool:
    """Whether a resolved path is the folder or below it. An unresolved path is nowhere."""
    if not path.startswith("/") or ".." in path.split("/"):
        return False
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_read(kind: str, paths: Sequence[str], folder: str) -> bool:
    return kind in _READS and _all_inside(paths, folder)


def _is_edit(kind: str, paths: Sequence[str], folder: str) -> bool:
    if kind not in _EDITS or not _all_inside(paths, folder):
        return False
    return not any(_GUARDED in path[len(folder) :].lower().split("/") for path in paths)


def _all_inside(paths: Sequence[str], folder: str) -> bool:
    return bool(paths) and all(is_inside(path, folder) for path in paths)


def _allow(options: Sequence[Option], *kinds: str) -> Verdict:
    option = _first(options, *kinds)
    return Ask() if option is None else Allow(option)


def _first(options: Sequence[Option], *kinds: str) -> Option | None:
    """The first option of the first kind that is offered."""
    return next((option for kind in kinds for option in options if option.kind == kind), None)
