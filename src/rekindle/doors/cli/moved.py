"""How commands report a repository that was moved since somebody last worked in it."""

from __future__ import annotations

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import OwnedError


def tell_moved() -> None:
    """Report, besides the command's own output, that the repository here was moved."""
    if (found := use_cases().moved().moved()) is not None:
        click.echo(f"rekindle: {printable(found.next)}", err=True)


def follow_moved(cwd: str | None = None) -> OwnedError | None:
    """Register a moved repository at its new place, and say so if sessions moved with it.

    Returns why not, if somebody is working in it: then its worktrees and sessions are unchanged.
    """
    done = use_cases().moved().follow(cwd)
    if done is None or done.refusal is not None:
        return done.refusal if done is not None else None
    if done.sessions:
        what = "1 session has" if done.sessions == 1 else f"{done.sessions} sessions have"
        place = f"{printable(done.moved.before)} is {printable(done.moved.now)} now"
        click.echo(f"rekindle: {place}; {what} moved with it", err=True)
    return None


def warn_of(refusal: OwnedError | None) -> None:
    """Say why a moved repository was not registered, for a command that can do without."""
    if refusal is not None:
        click.echo(f"rekindle: {printable(refusal.message)} ({printable(refusal.hint or '')})", err=True)
