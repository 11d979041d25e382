"""`rekindle status`: the bare command's twin, with --json."""

from __future__ import annotations

import click

from rekindle.doors.cli.options import json_option, print_json, workspace
from rekindle.doors.cli.status import collect, known_sessions, show_status


@click.command()
@json_option
def status(as_json: bool) -> None:
    """What is interrupted in this repository, and what a resume would do."""
    print_status(as_json=as_json)


def print_status(*, as_json: bool) -> None:
    """Print it for a person or for a program."""
    if not as_json:
        show_status()
        return
    here = workspace()
    print_json(collect(here.repository, here.settings, *known_sessions(here.settings)))
