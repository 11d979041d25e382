"""The terminal of an agent that is used as an interactive program, for those who want to look at it."""

from __future__ import annotations

import os
import sys

from rekindle.adapters.keepers.tmux import NoTerminal, Terminals, require
from rekindle.adapters.session_folder.conversation import attempts_in
from rekindle.keeper.launch import read_identity
from rekindle.places import Places
from rekindle.ports.errors import UsageError


def terminals_with(places: Places, session: str) -> Terminals:
    """The terminals, if the session has one that is open. Raises NoTerminal."""
    require()
    found = Terminals(places.terminals)
    folder = os.path.join(places.sessions, session)
    newest = attempts_in(folder)[-1:]
    identity = read_identity(os.path.join(folder, str(newest[0]))) if newest else None
    if identity is None or not found.is_open(session, identity.guard):
        raise NoTerminal(f"session {session} has no terminal now", f"bring it back: rekindle resume {session}")
    return found


def enter(places: Places, session: str) -> int:
    """Become the terminal's client; this process is tmux from here on."""
    found = terminals_with(places, session)
    if not sys.stdin.isatty():
        raise UsageError("this is not a terminal", f"look at its screen: rekindle capture {session}")
    line = found.attach(session)
    environment = {key: value for key, value in os.environ.items() if key != "TMUX"}
    os.execvpe(line[0], line, environment)
