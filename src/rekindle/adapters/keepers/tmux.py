"""Terminals for agents that run as interactive programs: a tmux server of our own, one session for each.

The first process of a pane is the guard of an attempt (see `rekindle.keeper.pane`), so a pane is known by the guard's
pid and start time, and a session of tmux's that was killed takes its agent with it. The server reads no configuration
of the user's, and its socket lies in a folder that is the user's alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rekindle.keeper.launch import OpenTerminal
from rekindle.keeper.processes import ProcessId, is_running
from rekindle.ports.terminals import NoTerminal

if TYPE_CHECKING:
    from libtmux import Server

_ROWS, _COLUMNS = 40, 120
#: What a program may expect of the terminal that tmux is.
_TERM = "tmux-256color"


def require() -> None:
    """Raises NoTerminal if there is no tmux."""
    if shutil.which("tmux") is None:
        raise NoTerminal(
            "agents in a terminal need tmux, and it is not installed",
            "install it (`apt install tmux`, `brew install tmux`), or leave --terminal out",
        )


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """An agent's environment inside our terminal: it must not mistake the user's tmux for its own."""
    return {**{key: value for key, value in given.items() if key not in ("TMUX", "TMUX_PANE")}, "TERM": _TERM}


class Terminals:
    """All terminals of a store. `socket` is the path of the server's socket."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def opener(self, session: str) -> OpenTerminal:
        """What executes a line in a new terminal of the session's; one that nobody needs any more makes way."""

        def open_terminal(line: tuple[str, ...]) -> None:
            os.makedirs(os.path.dirname(self._socket), mode=0o700, exist_ok=True)
            if self._server().has_session(name(session)):
                self._ask("kill-session", "-t", _target(session))
            size = ("-x", str(_COLUMNS), "-y", str(_ROWS))
            done = self._tell("new-session", "-d", "-s", name(session), *size, "-c", "/", "--", *line)
            if done:
                raise NoTerminal(f"tmux opened no terminal: {done}", "see `rekindle doctor`")
            self._ask("set-option", "-s", "escape-time", "25")

        return open_terminal

    def is_open(self, session: str, guard: ProcessId) -> bool:
        """Whether the session's terminal is there and is this guard's: a name can be taken by anybody."""
        found = self._ask("list-panes", "-s", "-t", _target(session), "-F", "#{pane_pid}")
        return found is not None and str(guard.pid) in found and is_running(guard)

    def screen(self, session: str, *, history: int = 0) -> str:
        """What is on the screen, as text, with so many lines of what has scrolled away."""
        found = self._ask("capture-pane", "-p", "-S", str(-history), "-t", f"{_target(session)}:")
        if found is None:
            raise NoTerminal(f"session {session} has no terminal", f"bring it back: rekindle resume {session}")
        return "\n".join(found).rstrip()

    def attach(self, session: str) -> tuple[str, ...]:
        """The command that takes a person into the terminal."""
        return ("tmux", "-S", self._socket, "attach-session", "-t", _target(session))

    def _ask(self, *words: str) -> list[str] | None:
        """The lines of an answer; None if tmux says no."""
        done = self._run(words)
        return None if done[0] else done[1]

    def _tell(self, *words: str) -> str:
        """What tmux complains about; empty if it did as it was told."""
        code, _, complaint = self._run(words)
        return (complaint or f"it exited with {code}") if code else ""

    def _run(self, words: tuple[str, ...]) -> tuple[int, list[str], str]:
        done = self._server().cmd(*words)
        return done.returncode or 0, list(done.stdout), " ".join(done.stderr)

    def _server(self) -> Server:
        require()
        from libtmux import Server  # imported only when there are terminals

        return Server(socket_path=self._socket, config_file=os.devnull)


def name(session: str) -> str:
    """What the session is called in tmux."""
    return f"rekindle-{session}"


def _target(session: str) -> str:
    return f"={name(session)}"
