"""`rekindle gc`: frees space. It removes only what the vault has a checked copy of, and names the rest with the
reason."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from rekindle.app.freeing import FreeRequest
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.retention import RemovableItem

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def _bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)B?", value.upper(), re.ASCII)
    if found is None:
        raise click.BadParameter(
            f"{value!r} is not a valid size; give a number, or one with K, M, G or T: 500M", ctx, param
        )
    return int(found[1]) * _UNITS[found[2]]


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option(
    "--quota", callback=_bytes, metavar="SIZE", help="Stop removing once all sessions take no more than SIZE."
)
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Also remove older data: replaced originals, and ended sessions that never had a conversation.",
)
@json_option
def gc(dry_run: bool, quota: int | None, older_than: float | None, as_json: bool) -> None:
    """Free space that is unused, or taken by redundant copies.

    It never deletes a token, or the only copy of a conversation.
    """
    done = use_cases().freeing().free(FreeRequest(dry_run, quota, older_than))
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "removed": [_object(item) for item in done.removed],
                "kept": [{"session": one.session, "path": one.path, "reason": one.why} for one in done.kept],
                "freed": done.freed,
                "left": done.left,
                "over_quota": done.over_quota,
            }
        )
        return
    for item in done.removed:
        print(f"{_done(item, dry_run)} {printable(item.path)} ({_size(item.size)}: {item.why})")
    for one in done.kept:
        print(f"kept {printable(one.path)}: {one.why}")
    print(f"{_size(done.freed)} {'would be ' if dry_run else ''}given back, {_size(done.left)} left.")
    if quota is not None and done.over_quota:
        print(f"This is still more than {_size(quota)}, but everything else is needed.")


def _done(item: RemovableItem, dry_run: bool) -> str:
    if item.what == "room":
        return "would free unused space in" if dry_run else "freed unused space in"
    return "would remove" if dry_run else "removed"


def _object(item: RemovableItem) -> dict[str, Any]:
    name = os.path.basename(item.path)
    return {
        "session": item.session,
        "what": item.what,
        "name": name,
        "path": item.path,
        "bytes": item.size,
        "reason": item.why,
    }


def _size(number: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} bytes"
