"""Lock files that block git: which one it was, what is known about it, and what to tell a person. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_FILE = re.compile(r"Unable to create '(.+?\.lock)': File exists")
_CONFIG = re.compile(r"could not lock config file (.+?): File exists")


@dataclass(frozen=True)
class PossibleHolder:
    """A living process that may have made a lock. `opens`: it has the file open; else it is a git running here."""

    pid: int
    start: int
    command: str
    opens: bool = False

    @property
    def sentence(self) -> str:
        """What it does."""
        return f"{self.command} (pid {self.pid}) {'has it open' if self.opens else 'works in this repository'}"


@dataclass(frozen=True)
class Lock:
    """A lock file that was watched for a while. `age` is by the clock, which may have been changed since it was made.

    `identity` tells it from a later file with that name. `stays`: it was the same file all the time. Without `provable`
    nobody can tell which processes exist.
    """

    path: str
    owner: str
    age: float
    identity: tuple[int, ...] = ()
    holders: tuple[PossibleHolder, ...] = ()
    stays: bool = True
    provable: bool = True

    @property
    def is_dead(self) -> bool:
        """Whether the process that made it is proved to be gone."""
        return self.stays and self.provable and not self.holders

    @property
    def may_go(self) -> bool:
        """Whether it may be removed after a yes: no living process is known to hold it."""
        return self.stays and not self.holders

    @property
    def sentence(self) -> str:
        """What is known about it."""
        return f"{self.path} ({_age(self.age)}, created by {self.owner}; {self._who})"

    @property
    def _who(self) -> str:
        if self.holders:
            return ", ".join(one.sentence for one in self.holders[:3])
        if not self.stays:
            return "some process keeps creating it"
        if not self.provable:
            return "it is not known here whether its creator is alive"
        return "no process has it open, and no git works in this repository"


def lock_in_the_way(stderr: bytes) -> str | None:
    """The lock file that made a git call fail."""
    said = stderr.decode("utf-8", "surrogateescape")
    found = _FILE.search(said)
    if found is not None:
        return found.group(1)
    found = _CONFIG.search(said)
    return f"{found.group(1)}.lock" if found is not None else None


def _age(seconds: float) -> str:
    if seconds < 0:
        return "dated in the future"
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit} old"
    return f"{seconds:.0f} seconds old"


def remedy(feature: str) -> str:
    """What a person types to have the locks of dead processes removed."""
    return f"to remove them: rekindle resume {shlex.quote(feature)} --remove-locks"
