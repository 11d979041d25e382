"""Everything that can be set, as one object that is parsed once, at the edge, and not changed after that.

Sources, the later one wins: `config.toml` in the user's configuration folder, `.rekindle.toml` at the top of the main
checkout, environment variables. Only the command line and the composition root read this; the core never does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rekindle.ports.errors import UsageError

SYNC_POLICIES = ("always", "batched", "none")
_KEYS = ("feature_worktrees", "journal_sync", "progress_dir", "worktrees_dir")
_CHOICES = {"journal_sync": SYNC_POLICIES, "feature_worktrees": ("each", "one")}
_INSIDE = ("progress_dir", "worktrees_dir")


class Settings:
    """What the user chose. A plain class, because a dataclass costs the fast paths more than all of their work."""

    __slots__ = (
        "cache_dir",
        "feature_worktrees",
        "journal_sync",
        "progress_dir",
        "runtime_dir",
        "state_dir",
        "worktrees_dir",
    )

    def __init__(
        self,
        *,
        progress_dir: str | None,
        worktrees_dir: str | None,
        feature_worktrees: str | None,
        journal_sync: str | None,
        cache_dir: str,
        state_dir: str,
        runtime_dir: str,
    ) -> None:
        #: where the journals are, relative to the main checkout
        self.progress_dir = progress_dir
        #: where worktrees of sessions are made, relative to the main checkout
        self.worktrees_dir = worktrees_dir
        #: one sync policy for all events, or None for each type's own
        self.journal_sync = journal_sync
        #: whether each task of a feature has a worktree of its own, or all of them share one in turn
        self.feature_worktrees = feature_worktrees
        #: what can be thrown away at any time
        self.cache_dir = cache_dir
        #: the store, the sessions, logs
        self.state_dir = state_dir
        #: sockets; a short path, because a socket's may have 107 bytes
        self.runtime_dir = runtime_dir


def load(environment: Mapping[str, str], root: str | None) -> Settings:
    """Read the settings. Raises UsageError that names the file and the key."""
    home = environment.get("HOME") or os.path.expanduser("~")
    config = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    values: dict[str, str] = {}
    files = [os.path.join(config, "rekindle", "config.toml")]
    if root is not None:
        files.append(os.path.join(root, ".rekindle.toml"))
    for file in files:
        found = _read(file)
        values.update(found)
        for key in _INSIDE:
            inside = os.path.normpath(found.get(key, "."))
            if file is not files[0] and (os.path.isabs(inside) or inside.startswith("..")):
                raise UsageError(
                    f"{file}: {key} leads out of the repository",
                    f"a place outside can be set in your own config.toml or in REKINDLE_{key.upper()}",
                )
    for key in _KEYS:
        variable = f"REKINDLE_{key.upper()}"
        if environment.get(variable):
            values[key] = _checked(key, environment[variable], f"the environment variable {variable}")
    return Settings(
        progress_dir=values.get("progress_dir"),
        worktrees_dir=values.get("worktrees_dir"),
        feature_worktrees=values.get("feature_worktrees"),
        journal_sync=values.get("journal_sync"),
        cache_dir=os.path.join(environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "rekindle"),
        state_dir=os.path.join(environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state"), "rekindle"),
        runtime_dir=_runtime(environment),
    )


def _runtime(environment: Mapping[str, str]) -> str:
    given = environment.get("XDG_RUNTIME_DIR")
    if given and len(given) < 50 and os.path.isdir(given):
        return os.path.join(given, "rekindle")
    return f"/tmp/rekindle-{os.getuid()}"


def _read(file: str) -> dict[str, str]:
    try:
        with open(file, "rb") as handle:
            raw = handle.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})", "check its permissions") from error
    import tomllib

    try:
        table = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: is no TOML ({error})", "mend it or move it away") from error
    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        raise UsageError(f"{file}: unknown setting {unknown[0]!r}", f"the settings are: {', '.join(_KEYS)}")
    return {key: _checked(key, value, file) for key, value in table.items()}


def _checked(key: str, value: object, place: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise UsageError(f"{place}: {key} must be a text", "put it between quotes")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise UsageError(f"{place}: {key} is {value!r}", f"it is one of: {', '.join(_CHOICES[key])}")
    return value
