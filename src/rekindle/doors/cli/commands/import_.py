"""`rekindle import`: an exported session, put in place on this machine."""

from __future__ import annotations

import os
import secrets
import sys
import time
import uuid

import click
import msgspec

from rekindle.adapters.moving.importing import ImportTarget, put_in_place
from rekindle.agents.registry import AGENTS
from rekindle.core.archive_trust import TRUSTABLE
from rekindle.core.moving import Manifest
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import daemon, json_option, places, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import OwnedError, UsageError

#: How what --trust can keep is called where it is shown.
_NAMED = (*TRUSTABLE, "prompt not sent yet")


@click.command("import")
@click.argument("file", type=click.Path())
@click.option("--cwd", type=click.Path(), default=".", help="The folder that the agent works in from now on.")
@click.option("--as-new", is_flag=True, help="Give the session a new id, and the agent's conversation a new name.")
@click.option(
    "--trust",
    "trusted",
    multiple=True,
    type=click.Choice(TRUSTABLE),
    help="Keep what the archive asks for: its permission, its arguments for the agent, its feature, or the prompts"
    " that were not sent yet. Can be given several times.",
)
@json_option
def import_(file: str, cwd: str, as_new: bool, trusted: tuple[str, ...], as_json: bool) -> None:
    """Put the session in FILE in place here: asleep, or interrupted as it was. `rekindle resume` continues it.

    The agent gets the environment of this command. The whole file is checked first; either everything is put in place
    or nothing is. What the archive asks for is shown, and reset unless --trust names it.

    \b
    Example:
      rekindle import moving.tar.gz --cwd ~/src/project && rekindle resume 3f9a
      rekindle import moving.tar.gz --trust arguments --trust prompts
    """
    here = places()
    folder = os.path.realpath(cwd)
    if not os.path.isdir(folder):
        raise UsageError(f"{folder}: there is no such folder", "give the folder that the agent works in with --cwd")
    known = {row["id"] for row in use_cases().sessions().rows()}
    client = daemon()

    def choose(manifest: Manifest) -> ImportTarget:
        if manifest.agent not in AGENTS:
            raise UsageError(f"there is no agent {manifest.agent!r} here", f"there are: {', '.join(AGENTS)}")
        if manifest.session in known and not as_new:
            raise OwnedError(
                f"there is a session {manifest.session} here already",
                "--as-new gives the imported one a new id",
                code="session_exists",
            )
        name = secrets.token_hex(5) if as_new else manifest.session
        token = str(uuid.uuid4()) if as_new else None
        return ImportTarget(here.sessions, name, folder, dict(os.environ), token, frozenset(trusted))

    def take_over(place: ImportTarget, staged: str) -> None:
        client.ask("adopt", session=place.session, staged=staged, env=dict(place.environment))
        chosen.append(place)

    chosen: list[ImportTarget] = []
    here.make()
    done = put_in_place(file, choose, take_over, os.path.join(here.state, "imports"), time.time())
    told = client.ask("show", session=chosen[0].session)
    if as_json:
        manifest = {key: value for key, value in msgspec.to_builtins(done.manifest).items() if key != "members"}
        print_json(
            {
                "id": told["id"],
                "status": told["status"],
                "cwd": folder,
                "archive": manifest,
                "asked": msgspec.to_builtins(done.wishes),
                "notes": done.notes,
            }
        )
        return
    print(f"{told['id']}: imported, {told['status']}. Continue with: rekindle resume {told['id']}")
    print("  The archive asks for:")
    for wish in done.wishes:
        print(f"    {printable(str(wish))}")
    if any(not wish.counts for wish in done.wishes if wish.key in _NAMED):
        print("  To keep what was reset, import it again with --as-new and --trust (see --help).")
    if done.manifest.masked or done.manifest.masked_files:
        print("  Secrets in it were masked when it was written.")
    for note in done.notes:
        print(f"rekindle: {printable(note)}", file=sys.stderr)
