"""`rekindle vault verify|diff`: the kept copies of conversations. They need no daemon."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from rekindle.adapters.session_folder.layout import session_folder
from rekindle.adapters.vault import kept, lengths
from rekindle.adapters.vault.vault import editions
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.commands.logs import named
from rekindle.doors.cli.options import complete_sessions, json_option, places, print_json


@click.group()
def vault() -> None:
    """The kept copies of conversations: spools of all attempts, and the agents' own records."""


@vault.command()
@click.argument("session", required=False, shell_complete=complete_sessions)
@json_option
def verify(session: str | None, as_json: bool) -> int:
    """Check every byte that was kept, of SESSION or of all. Exit status 1 if something is damaged."""
    folder = places().sessions
    names = [named(session)] if session is not None else sorted(os.listdir(folder) if os.path.isdir(folder) else [])
    found = {name: _checked(session_folder(folder, name).vault) for name in names}
    found = {name: one for name, one in found.items() if one or session is not None}
    is_whole = not any(file["damage"] for one in found.values() for file in one)
    if as_json:
        print_json({"whole": is_whole, "sessions": found})
        return 0 if is_whole else 1
    for name, files in found.items():
        copied = sum(file["bytes"] for file in files)
        told = "whole" if not any(file["damage"] for file in files) else "damaged"
        print(f"{name}: {len(files)} {'copy' if len(files) == 1 else 'copies'}, {copied} bytes, {told}")
        for file in files:
            for at, end, why in file["damage"]:
                print(f"  {printable(file['path'])}: {why}, bytes {at} to {end}")
            if file["torn"] is not None:
                print(f"  {printable(file['path'])}: ends with {file['torn']} (a writer was cut off, or is at it)")
    if not found:
        print("Nothing is kept yet.")
    return 0 if is_whole else 1


@vault.command()
@click.argument("session", shell_complete=complete_sessions)
def diff(session: str) -> None:
    """What the last pre-flight of SESSION that replaced the agent's record changed in it."""
    told = kept.difference(session_folder(places().sessions, named(session)).vault)
    if not told:
        click.echo("No pre-flight has changed the agent's record.", err=True)
    sys.stdout.write(told)


def _checked(folder: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if os.path.lexists(folder) and not os.path.isdir(folder):
        found.append({"path": folder, "bytes": 0, "damage": [(0, 0, "no folder")], "torn": None})
    listed = _listed(folder, found)
    for one in editions(folder):
        copied = one.read()
        damage = [(bad.at, bad.end, bad.why) for bad in copied.scan.damage]
        if not damage and not copied.is_whole and copied.scan.frames:
            damage = [(0, copied.scan.good_upto, "frames that do not follow upon each other")]
        lacks = lengths.problem(copied, listed.pop(os.path.basename(one.path), None))
        if not damage and lacks is not None:
            damage = [lacks]
        found.append({"path": one.path, "bytes": len(copied.data), "damage": damage, "torn": copied.scan.torn})
    for name, length in sorted(listed.items()):
        gone = [(0, length.bytes, "it is gone")]
        found.append({"path": os.path.join(folder, name), "bytes": 0, "damage": gone, "torn": None})
    return found


def _listed(folder: str, found: list[dict[str, Any]]) -> dict[str, lengths.Length]:
    """How long the copies have to be. A list that is lost counts as damage: without it nobody can tell."""
    place = lengths.place(folder)
    try:
        listed = lengths.read(folder)
        why = "the list of copies and their lengths is gone" if listed is None and editions(folder) else None
    except lengths.Unlisted as error:
        listed, why = None, f"the list of copies and their lengths cannot be read ({error})"
    if why is not None:
        found.append({"path": place, "bytes": 0, "damage": [(0, 0, why)], "torn": None})
    return dict(listed or {})
