"""`rekindle status`: the bare command's twin, with --json."""

from __future__ import annotations

import click

from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.status import no_repository, show_status
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show what is interrupted in this repository, and what a resume would do."""
    print_status(as_json=as_json)


def print_status(*, as_json: bool) -> None:
    """Print it for a person or for a program."""
    if not as_json:
        show_status()
        return
    found = use_cases().status().status()
    if not found.in_repository:
        raise no_repository()
    told = {
        "branch": found.branch,
        "feature": found.feature,
        "progress": found.progress,
        "features": found.features,
        "sessions": found.sessions,
    }
    print_json({**told, "unasked": found.unasked} if found.unasked else told)
