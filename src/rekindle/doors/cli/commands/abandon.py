"""`rekindle abandon`: ends interrupted runs for good."""

from __future__ import annotations

import click

from rekindle.app.abandoning import AbandonRequest
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_features, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.argument("feature", shell_complete=complete_features)
@click.option("--all", "every", is_flag=True, help="Also end older runs that never ended.")
@click.option("--force", is_flag=True, help="Even if its owner was on another host and cannot be reached.")
@json_option
def abandon(feature: str, every: bool, force: bool, as_json: bool) -> None:
    """End the interrupted run of FEATURE for good. Branches, worktrees and files stay as they are."""
    done = use_cases().abandoning().abandon(AbandonRequest(feature, every, force))
    if as_json:
        print_json({"feature": feature, "abandoned": list(done.ended), "left": list(done.left)})
        return
    print_lines([f"{feature}: run {printable(', '.join(done.ended))} is ended for good; it will not be resumed."])
    if done.left:
        print_lines([f"Older runs that never ended: {printable(', '.join(done.left))} (end them too with --all)."])
