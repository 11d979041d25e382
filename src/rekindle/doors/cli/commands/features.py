"""`rekindle features`: every feature at a glance."""

from __future__ import annotations

import os
import sys
import time

import click
import msgspec

from rekindle.doors.cli import feature_list
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.status import surface_of
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@json_option
def features(as_json: bool) -> None:
    """List all features in the progress folder: how far each has come, and how it ended.

    Plain `rekindle` lists those that need you, with the reason. `rekindle analyze NAME` shows everything about one.
    """
    listed = use_cases().features().listed()
    if as_json:
        print_json(msgspec.to_builtins(listed))
        return
    if not listed.features:
        print("No feature has a journal yet.")
        return
    found = use_cases().status().features()
    surface = surface_of(sys.stdout.isatty(), os.environ, time.time())
    known = {row.feature: found.get(row.feature, feature_list.EMPTY) for row in listed.features}
    for line in feature_list.rows(known, surface):
        print(line)
