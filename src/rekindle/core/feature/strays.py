"""Commits that an agent made in its task's worktree and that are not on its task's branch: which of them are lost work.

A worktree's reflog lists every commit that was made in it. Most of those that are on no branch are ordinary: amended,
rebased, squashed, made again. What is left is work that somebody may miss. Pure: the adapter reads git and compares
files; which commits are compared, and what follows from it, is decided here.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import msgspec

Kind = Literal["branch", "detached", "reset", "stash", "uncommitted"]
#: The answers to the question about strays.
TAKE, LEAVE = "take", "leave"
_NAMED = 8
_MOST_RIVALS = 12

_MOVES = re.compile(r"checkout: moving from (?P<from>.*) to (?P<to>.*)\Z", re.DOTALL)
_RENAMES = re.compile(r"Branch: renamed refs/heads/(?P<from>.*) to refs/heads/(?P<to>.*)\Z", re.DOTALL)
_REBASES = re.compile(r"(?:rebase|pull)\b[^:]*\((?P<step>[a-z ]+)\)(?:: |\Z)")
_ABORTED = re.compile(r"rebase(?: -i)?: aborting|rebase -i \(abort\)")
_FINISHED = re.compile(r"rebase(?: -i)? finished")
_VISITS = re.compile(
    r"(?:checkout|reset|clone|branch|Branch|worktree|initial pull|fetch)\b|(?:merge|pull)\b.*: Fast-forward\Z|\Z",
    re.DOTALL,
)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


class Stray(msgspec.Struct, frozen=True):
    """A commit that is not on its task's branch. `where` says where it is; `kept`: a private ref keeps it.

    Uncommitted changes, in a worktree that has something else checked out, have no commit.
    """

    commit: str
    subject: str
    where: str
    kind: Kind
    kept: bool = False


class ReflogEntry(msgspec.Struct, frozen=True):
    """A line of a worktree's reflog: where HEAD was, where it went, and what was done."""

    old: str
    new: str
    action: str
    at: int = 0


class Made(msgspec.Struct, frozen=True):
    """A commit that is neither on the task's branch nor in the feature's nor where the task began."""

    commit: str
    parents: tuple[str, ...]
    subject: str = ""


@dataclass(frozen=True)
class Past:
    """What happened in a worktree, oldest first. `now` is the branch that it has checked out (None: a detached HEAD).

    `outside` are the past commits that the task's branch lacks. `loose` is a HEAD that is on no branch at all.
    """

    entries: Sequence[ReflogEntry]
    now: str | None
    outside: Mapping[str, Made]
    loose: str | None = None


@dataclass(frozen=True)
class Suspect:
    """A commit that may be lost work, unless one of its rivals (the next work; `""` is the branch) has all of it."""

    commit: str
    rivals: tuple[str, ...]


#: What was found when a suspect was compared with a rival: the rival has what this commit alone changed, or also
#: everything before it that is not on the branch.
Found = Literal["nothing", "itself", "everything"]


def made(entries: Sequence[ReflogEntry]) -> dict[str, int]:
    """The commits that were made in a worktree, each with its (first) line in the reflog. Others were only visited."""
    found: dict[str, int] = {}
    for number, entry in enumerate(entries):
        visits = _VISITS.match(entry.action) or _rebase_step(entry.action) in ("start", "abort")
        if not visits and not _is_null(entry.new) and entry.new != entry.old:
            found.setdefault(entry.new, number)
    return found


def checked_out(entries: Sequence[ReflogEntry], now: str | None) -> list[str | None]:
    """The branch that the worktree was on after each line; None where HEAD was detached."""
    on: list[str | None] = []
    name = now
    for entry in reversed(entries):
        on.append(name)
        left = _RENAMES.match(entry.action) or _MOVES.match(entry.action)
        if left is not None:
            name = left["from"] if not _COMMIT.match(left["from"]) else None
    return on[::-1]


def last_tip(entries: Sequence[ReflogEntry], now: str | None, branch: str) -> str | None:
    """Where a branch was when it was last checked out in the worktree: somebody may have deleted or renamed it."""
    on = checked_out(entries, now)
    found = None
    for entry, name in zip(entries, on, strict=True):
        if name == branch and not _is_null(entry.new):
            found = entry.new
    left = [entry.old for entry in entries if (moved := _MOVES.match(entry.action)) and moved["from"] == branch]
    return found or next((commit for commit in reversed(left) if not _is_null(commit)), None)


def belongs_to(
    entries: Sequence[ReflogEntry], now: str | None, branch: str, others: Collection[str]
) -> tuple[list[ReflogEntry], str | None]:
    """The lines that belong to a task, in a worktree that others also use, and what was checked out after them."""
    owner, last = None, None
    mine = []
    for entry, name in zip(entries, checked_out(entries, now), strict=True):
        owner = name if name == branch or name in others else owner
        if owner == branch:
            mine.append(entry)
            last = name
    return mine, last


def suspects(past: Past) -> tuple[Suspect, ...]:
    """The commits that may be lost work, in the order they were made, and what to compare each with.

    An amended commit is not one of them, nor is a rebased one: its successor counts instead.
    """
    order = made(past.entries)
    if past.loose is not None:
        order.setdefault(past.loose, len(past.entries))
    successor = _successors(past)
    left = [commit for commit in order if commit in past.outside and _last(commit, successor) == commit]
    return tuple(Suspect(commit, tuple(_rivals(commit, order, past, successor))) for commit in left)


def lost(past: Past, suspected: Sequence[Suspect], compare: Callable[[str, str], Found]) -> tuple[str, ...]:
    """The suspects that nothing replaces. What contains all of one also contains all of those before it."""
    gone: set[str] = set()
    for one in reversed(suspected):
        for rival in one.rivals if one.commit not in gone else ():
            found = compare(one.commit, rival)
            if found == "everything":
                gone |= {*_with_those_before(one.commit, past.outside)}
            elif found == "itself":
                gone.add(one.commit)
            if found != "nothing":
                break
    return tuple(one.commit for one in suspected if one.commit not in gone)


def holds(before: bytes | None, after: bytes | None, now: bytes | None) -> bool:
    """Whether a file contains a change: every line that it added, and none of those that it removed."""
    if after in (before, now):
        return True
    if now is None or after is None or b"\0" in after or b"\0" in now:
        return False
    was, made_, is_ = (Counter((text or b"").split(b"\n")) for text in (before, after, now))
    if was == made_ and before is not None:
        return False  # only the order of the lines changed
    return all(
        is_[line] >= made_[line] if made_[line] > was[line] else is_[line] <= made_[line]
        for line in was.keys() | made_.keys()
        if was[line] != made_[line]
    )


def kind_of(commit: str, past: Past, branch: str) -> tuple[Kind, str]:
    """How a commit came to be on no branch: the kind, and the words for it."""
    number = made(past.entries).get(commit)
    on = checked_out(past.entries, past.now)[number] if number is not None else None
    if on == branch:
        return "reset", "on no branch: a reset dropped it"
    return ("branch", f"on {on}, which was deleted or moved") if on is not None else ("detached", "on no branch")


@dataclass(frozen=True)
class Stash:
    """An entry of the stash, which all worktrees share. `name` is `stash@{N}`."""

    name: str
    commit: str
    parents: tuple[str, ...]
    at: int
    message: str

    def is_of(self, branch: str, past: Past, elsewhere: Collection[str]) -> bool:
        """Whether it was made in the worktree of the task with this branch, and not in one that has `elsewhere`."""
        found = re.match(r"(?:WIP on|On) (?P<branch>.*?): ", self.message)
        name = found["branch"] if found is not None else ""
        if name == branch or self.parents[0] in made(past.entries):
            return True
        visited = {one for one in checked_out(past.entries, past.now) if one is not None} - set(elsewhere)
        was_here = any(self.parents[0] == entry.new and self.at >= entry.at for entry in past.entries)
        return was_here and (name in visited or name == "(no branch)")


def question(feature: str, task: str, branch: str, found: Sequence[Stray]) -> str:
    """What a person is asked about a task's strays, with both answers."""
    each = "; ".join(map(told, found[:_NAMED]))
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    resume, name = f"rekindle resume {shlex.quote(feature)}", shlex.quote(task)
    return (
        f"work of its agent is not on {branch}: {each}{more}. "
        f"Take it: `{resume} --take {name}`; leave it out: `{resume} --leave {name}`"
    )


def told(stray: Stray) -> str:
    """One stray in words."""
    subject = f" {stray.subject!r}" if stray.subject else ""
    return f"{stray.commit[:10]}{subject} ({stray.where})" if stray.commit else f"{stray.subject} ({stray.where})"


def unanswered(found: Sequence[Stray], answered: Collection[str]) -> tuple[Stray, ...]:
    """The strays that nobody has decided about."""
    return tuple(one for one in found if one.commit not in answered)


def _is_null(commit: str) -> bool:
    return not commit.strip("0")


def _last(commit: str, successor: Mapping[str, str]) -> str:
    """What finally took a commit's place."""
    seen = {commit}
    while (after := successor.get(commit)) is not None and after not in seen:
        seen.add(after)
        commit = after
    return commit


def _successors(past: Past) -> dict[str, str]:
    """What replaced which commit: an amended one, and everything that a rebase copied or made on its way."""
    found: dict[str, str] = {}
    began: ReflogEntry | None = None
    copies: list[str] = []
    for entry in past.entries:
        step = _rebase_step(entry.action)
        if step == "start":
            began, copies = entry, []
        elif step in ("finish", "abort"):
            old = () if step == "abort" else _with_those_before((began or entry).old, past.outside)
            kept = {*_with_those_before(entry.new, past.outside)}
            found |= {commit: entry.new for commit in (*old, *copies) if commit not in kept}
            began, copies = None, []
        elif began is not None and not _VISITS.match(entry.action):
            copies.append(entry.new)
        if entry.action.startswith("commit (amend)"):
            found[entry.old] = entry.new
    return found


def _rebase_step(action: str) -> str:
    if _ABORTED.match(action):
        return "abort"
    if _FINISHED.match(action):
        return "finish"
    step = _REBASES.match(action)
    return step["step"] if step is not None else ""


def _before(commit: str, outside: Mapping[str, Made]) -> Iterator[str]:
    """The ancestors of a commit that the task's branch lacks."""
    seen: set[str] = set()
    ahead = list(outside[commit].parents) if commit in outside else []
    while ahead:
        one = ahead.pop()
        if one in outside and one not in seen:
            seen.add(one)
            ahead += outside[one].parents
            yield one


def _with_those_before(commit: str, outside: Mapping[str, Made]) -> tuple[str, ...]:
    return (commit, *_before(commit, outside))


def _rivals(commit: str, order: Mapping[str, int], past: Past, successor: Mapping[str, str]) -> Iterator[str]:
    """The branch as it is now, and the work that was done next in the worktree and does not build on this commit."""
    yield ""
    later = (_last(other, successor) for other, number in order.items() if number > order[commit])
    apart = (other for other in dict.fromkeys(later) if other != commit and commit not in _before(other, past.outside))
    yield from islice(apart, _MOST_RIVALS)
