"""What an environment says about where a process works: its terminal pane, the session that it is supervised in. Pure;
no imports at all, since a hook reads this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: Terminal panes, by the variable that each multiplexer sets.
PANES = ("TMUX_PANE", "ZELLIJ_PANE_ID", "STY", "WEZTERM_PANE", "KITTY_WINDOW_ID")
STAMP = "REKINDLE_STAMP"


def pane_of(environment: Mapping[str, str]) -> str:
    """The terminal pane that a process is in, "" if it is in none."""
    return next((environment[name] for name in PANES if environment.get(name)), "")


def conversation_of(environment: Mapping[str, str]) -> str:
    """The id of the session that rekindle supervises a process in, "" if it does not."""
    words = environment.get(STAMP, "").split("-", 2)
    return words[2] if len(words) == 3 and words[0] == "rekindle" else ""
