"""`rekindle gc`: give back room. Only what the vault has a checked copy of goes; the rest is told, with the reason."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from typing import Any

import click

from rekindle.adapters.session_folder import retention
from rekindle.adapters.sql_store import quick
from rekindle.adapters.sql_store.codec import Unreadable, decode_session
from rekindle.core.session.state import Session
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, places, print_json
from rekindle.ports.errors import OwnedError, RekindleError

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
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--quota", callback=_bytes, metavar="SIZE", help="Remove only until all sessions take no more than SIZE.")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Also what is older: replaced originals, and ended sessions that never had a conversation.",
)
@json_option
def gc(dry_run: bool, quota: int | None, older_than: float | None, as_json: bool) -> None:
    """Free space that is unused, or taken by redundant copies.

    Nothing that holds a token, or the only copy of a conversation, is ever deleted.
    """
    folder = places().sessions
    sessions = _sessions()
    if not dry_run:
        for session in sessions:
            with contextlib.suppress(OwnedError, OSError):
                retention.complete(folder, session)
    found = retention.survey(folder, sessions, time.time(), older_than)
    chosen = retention.enough(found, quota)
    gone, refused = (chosen, []) if dry_run else retention.remove(folder, chosen)
    kept = [*found.kept, *refused]
    freed = sum(item.size for item in gone)
    left = found.total - freed
    if as_json:
        print_json(
            {
                "dry_run": dry_run,
                "removed": [_object(item) for item in gone],
                "kept": [{"session": one.session, "path": one.path, "reason": one.why} for one in kept],
                "freed": freed,
                "left": left,
                "over_quota": quota is not None and left > quota,
            }
        )
        return
    for item in gone:
        print(f"{_done(item, dry_run)} {printable(item.path)} ({_size(item.size)}: {item.why})")
    for one in kept:
        print(f"kept {printable(one.path)}: {one.why}")
    print(f"{_size(freed)} {'would be ' if dry_run else ''}given back, {_size(left)} left.")
    if quota is not None and left > quota:
        print(f"That is more than {_size(quota)}, but all the rest is needed.")


def _done(item: retention.Item, dry_run: bool) -> str:
    if item.what == "room":
        return "would free unused room in" if dry_run else "freed unused room in"
    return "would remove" if dry_run else "removed"


def _sessions() -> list[Session]:
    found = []
    try:
        bodies = quick.bodies(places().store)
    except sqlite3.Error as error:
        raise RekindleError(
            f"{places().store}: {error}", "`rekindle serve` sets a damaged store aside and rebuilds it"
        ) from error
    for body in bodies:
        with contextlib.suppress(Unreadable):
            found.append(decode_session(body))
    return found


def _object(item: retention.Item) -> dict[str, Any]:
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
