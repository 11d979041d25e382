"""What a hook call can tell from the environment it was called in. Light standard library only."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def state_dir(environment: Mapping[str, str]) -> str:
    """Where rekindle keeps what it has to remember."""
    base = environment.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "rekindle")


def setting(environment: Mapping[str, str], root: str | None, name: str) -> str | None:
    """One setting, without reading settings that are not there."""
    given = environment.get(f"REKINDLE_{name.upper()}")
    home = environment.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = [os.path.join(home, "rekindle", "config.toml")]
    files += [os.path.join(root, ".rekindle.toml")] if root is not None else []
    if given or not any(os.path.lexists(file) for file in files):
        return given or None
    from rekindle.settings import load

    found = getattr(load(environment, root), name)
    return found if isinstance(found, str) else None
