"""Resuming from an earlier point: the points of a conversation, and a copy that begins behind one of them."""

from __future__ import annotations

import os
import secrets
from typing import Any

from rekindle import files
from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.agents.base.places import record_place
from rekindle.agents.registry import AGENTS
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import places, print_json
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import UsageError


def fork(client: Daemon, session: str, at: str, prompt: str, *, as_json: bool) -> int:
    """List the points of a session's conversation, or begin a copy of it behind one of them."""
    told = client.ask("show", session=session)
    points = _points(told)
    if at == "list":
        if as_json:
            print_json({"points": [{"id": name, "text": text} for name, text in points]})
        for number, (name, text) in enumerate(() if as_json else points, start=1):
            print(f"{number:>4}  {name}  {printable(text)}")
        return 0
    names = [name for name, _ in points]
    number = int(at) if at.isascii() and at.isdigit() else 0
    chosen = names[number - 1] if 0 < number <= len(names) else at
    if chosen not in names:
        raise UsageError(f"{told['id']} has no answer {at!r}", f"list them: rekindle resume {told['id']} --at list")
    if not prompt.strip():
        raise UsageError("a copy has to be told something", "say it with --prompt TEXT")
    begun = client.ask(
        "fork",
        session=told["id"],
        copy=secrets.token_hex(5),
        prompt_id=secrets.token_hex(8),
        at=chosen,
        prompt=prompt,
        env=dict(os.environ),
    )
    if as_json:
        print_json(begun)
    else:
        print(f"{begun['id']}: a copy of {told['id']} as it was after that answer; {told['id']} stays as it is.")
    return 0


def _points(told: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The answers in the agent's own record, oldest first."""
    token = told["session"]["token"]
    kind = AGENTS.get(told["agent"])
    if token is None or kind is None or kind.transcript is None or not kind.can_fork:
        raise UsageError(
            f"{told['id']} cannot be resumed from an earlier point", f"{told['agent']} does not offer that"
        )
    folder = os.path.join(places().sessions, told["id"])
    environment = kept_environment.read(folder) or dict(os.environ)
    place = record_place(told["agent"], environment, os.path.realpath(told["cwd"]), token)
    try:
        return kind.transcript.read(files.read(place)).points if place is not None else ()
    except OSError:
        return ()
