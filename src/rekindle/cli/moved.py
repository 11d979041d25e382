"""A repository that was moved since somebody last worked in it: its worktrees and its sessions are told first."""

from __future__ import annotations

import os

import click

from rekindle.adapters import identity, repository
from rekindle.api.client import DaemonClient
from rekindle.cli.options import places
from rekindle.ports.errors import RekindleError


def follow_moved(cwd: str | None = None, *, tell: bool = True) -> None:
    """See to it that a moved repository is known where it is. Says so, once, where sessions have moved with it.

    Without `tell` the daemon is not asked, which sessions need: only git's own links are put right.
    """
    try:
        repo = repository.find(cwd or os.getcwd())
        found = identity.find(repo) if repo is not None else None
        if found is None or found.verdict != "moved":
            return
        from rekindle.wiring import open_workspace  # only here: it takes its time

        here = open_workspace(os.environ, cwd)
        identity.put_right(here.repository, found, here.state_dir, here.progress)
    except (RekindleError, OSError):
        return  # whoever needs the repository says what is wrong with it
    if tell:
        told = DaemonClient(places()).ask("repository_seen", cwd=here.repository.root)
        if told["moved"]:
            number = len(told["moved"])
            what = "1 session has" if number == 1 else f"{number} sessions have"
            click.echo(f"rekindle: {found.before} is {here.repository.root} now; {what} moved with it", err=True)
