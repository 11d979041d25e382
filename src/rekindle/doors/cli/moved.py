"""A repository that was moved since somebody last worked in it: commands that work in it have it known where it is.

Those that only look tell that it has moved, and change nothing: others may be at work in it, by its other name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import click

from rekindle.adapters.git import identity, repository
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import daemon
from rekindle.ports.errors import OwnedError, RekindleError


@dataclass(frozen=True)
class Moved:
    """Where a repository was, and where it is."""

    before: str
    now: str

    @property
    def next(self) -> str:
        """What will be done about it."""
        return (
            f"{self.before} is {self.now} now: the next `rekindle resume` links its worktrees again, "
            "tells its sessions and goes on, if nobody is at work in it by then; until then nothing is changed"
        )


def moved(cwd: str | None = None) -> Moved | None:
    """Whether the repository around a folder was moved. Changes nothing."""
    try:
        repo = repository.find(cwd or os.getcwd())
        found = identity.find(repo) if repo is not None else None
    except (RekindleError, OSError):
        return None  # whoever needs the repository says what is wrong with it
    if repo is None or found is None or found.verdict != "moved" or found.before is None:
        return None
    return Moved(found.before, repo.root)


def tell_moved() -> None:
    """Say, beside what a command shows, that the repository here was moved."""
    if (found := moved()) is not None:
        click.echo(f"rekindle: {printable(found.next)}", err=True)


def follow_moved(cwd: str | None = None) -> OwnedError | None:
    """Have a moved repository known where it is, and say so where sessions have moved with it.

    Returns why not, if somebody is at work in it: then its worktrees and sessions are as they were.
    """
    found = moved(cwd)
    if found is None:
        return None
    try:
        told = daemon().ask("repository_seen", cwd=found.now)
    except OwnedError as refusal:
        return refusal
    if told["moved"]:
        number = len(told["moved"])
        what = "1 session has" if number == 1 else f"{number} sessions have"
        click.echo(f"rekindle: {printable(found.before)} is {printable(found.now)} now; {what} moved with it", err=True)
    return None


def warn_of(refusal: OwnedError | None) -> None:
    """Say why a moved repository is not followed, where a command can do without."""
    if refusal is not None:
        click.echo(f"rekindle: {printable(refusal.message)} ({printable(refusal.hint or '')})", err=True)
