"""All settings as one object, parsed once at the edge and never changed after that.

Sources (later ones win): `config.toml` in the user's configuration folder, `.rekindle.toml` at the top of the main
checkout, environment variables. A repository may come from anyone, so its file may only name plain folders inside it.
Only the command line and the composition root read this; the core never does.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from rekindle.core.git_names import is_git_name
from rekindle.core.toml_lines import line_of
from rekindle.ports.errors import UsageError

SYNC_POLICIES = ("always", "batched", "none")
_KEYS = ("feature_worktrees", "journal_sync", "progress_dir", "skill_sessions_dir", "worktrees_dir")
_CHOICES = {"journal_sync": SYNC_POLICIES, "feature_worktrees": ("each", "one", "none")}
#: Defaults of `rekindle run`: only the user's file may set them, and only `run` and `config` read their values, so a
#: bad one breaks nothing else. `core/setting_keys.py` says what each means.
RUN_KEYS = (
    "agent",
    "policy",
    "permission",
    "timeout",
    "stall",
    "max_cost",
    "max_tokens",
    "max_age",
    "max_resumes",
    "max_windows",
    "dehydrate_at",
    "overflow",
    "stable_prompt",
)
#: Who is told what outside the terminal. Only the user's file may say this, and a bad value breaks nothing else.
NOTIFY = "notify_"
#: What holds for all sessions together: only the user's file may set them, and the daemon reads them as it goes.
GOVERNOR_KEYS = (
    "max_restarts",
    "restart_window",
    "max_cost_per_day",
    "max_cost_per_night",
    "night",
    "limit_returns",
    "max_agents",
    "start_spacing",
    "memory_reserve",
)
#: What makes this machine a host of a fleet: only the user's file may say it, and only the daemon reads it.
FLEET_KEYS = (
    "store_url",
    "store_password_file",
    "fleet_host",
    "fleet_key_file",
    "fleet_blobs",
    "fleet_repositories",
    "fleet_labels",
    "fleet_heartbeat",
    "fleet_plain_connections",
    "temporal_address",
    "temporal_namespace",
    "temporal_tls_ca",
    "temporal_tls_cert",
    "temporal_tls_key",
    "temporal_api_key_file",
)
#: What a repository may set: folders inside it.
_INSIDE = ("progress_dir", "skill_sessions_dir", "worktrees_dir")
#: Larger than any sensible settings file.
_LONGEST = 1 << 16


class Settings:
    """What the user chose. A plain class, because a dataclass costs the fast paths more than all their work."""

    __slots__ = (
        "cache_dir",
        "feature_worktrees",
        "journal_sync",
        "progress_dir",
        "runtime_dir",
        "skill_sessions_dir",
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
        skill_sessions_dir: str | None = None,
    ) -> None:
        #: where the journals are, relative to the main checkout
        self.progress_dir = progress_dir
        #: where sessions' worktrees are created, relative to the main checkout
        self.worktrees_dir = worktrees_dir
        #: where skill sessions are, relative to the top of the worktree
        self.skill_sessions_dir = skill_sessions_dir
        #: one sync policy for all events, or None for each type's own
        self.journal_sync = journal_sync
        #: whether each task of a feature has a worktree of its own, or all of them share one in turn
        self.feature_worktrees = feature_worktrees
        #: what can be deleted at any time
        self.cache_dir = cache_dir
        #: the store, the sessions, logs
        self.state_dir = state_dir
        #: sockets; a short path, because a socket's path is limited to 107 bytes
        self.runtime_dir = runtime_dir


def user_file(environment: Mapping[str, str]) -> str:
    """Where the user's own settings are."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "rekindle", "config.toml")


def user_runbook(environment: Mapping[str, str]) -> str:
    """Where the user's own runbook is."""
    return os.path.join(os.path.dirname(user_file(environment)), "runbook.toml")


def choices(key: str) -> tuple[str, ...]:
    """The values a key can have; empty if the key is not chosen from a list."""
    return _CHOICES.get(key, ())


def load(environment: Mapping[str, str], root: str | None) -> Settings:
    """Read the settings. Raises UsageError that names the file and the key."""
    home = environment.get("HOME") or os.path.expanduser("~")
    values: dict[str, str] = {}
    values.update(_read(user_file(environment)))
    if root is not None:
        values.update(_of_repository(os.path.join(root, ".rekindle.toml")))
    for key in _KEYS:
        variable = f"REKINDLE_{key.upper()}"
        if environment.get(variable):
            values[key] = _checked(key, environment[variable], f"the environment variable {variable}")
    return Settings(
        progress_dir=values.get("progress_dir"),
        worktrees_dir=values.get("worktrees_dir"),
        feature_worktrees=values.get("feature_worktrees"),
        skill_sessions_dir=values.get("skill_sessions_dir"),
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


def _of_repository(file: str) -> dict[str, str]:
    found = _read(file, follow=False)
    for key, value in found.items():
        own = f"set it in your own config.toml or in REKINDLE_{key.upper()}"
        if key not in _INSIDE:
            raise UsageError(f"{file}: a repository cannot set {key}", own)
        problem = _why_not_inside(value)
        if problem is not None:
            raise UsageError(f"{file}: {key} {problem}", f"name a plain folder inside the repository, or {own}")
    return found


def _why_not_inside(path: str) -> str | None:
    """Why a repository cannot name this folder; None if it can."""
    if not path.isprintable():
        return "contains control characters"
    parts = path.split("/")
    if os.path.isabs(path) or ".." in parts:
        return "leads out of the repository"
    if any(is_git_name(part) for part in parts):
        return "leads into git's own folder"
    if all(part in ("", ".") for part in parts):
        return "names the repository itself"
    return None


def _read(file: str, *, follow: bool = True) -> dict[str, str]:
    try:
        raw = _content(file, follow=follow)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise UsageError(f"{file}: cannot be read ({reason})", "fix it or move it away") from error
    import tomllib

    try:
        table = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: is not valid TOML ({error})", "fix it or move it away") from error
    except RecursionError:
        raise UsageError(f"{file}: is nested too deeply", "fix it or move it away") from None
    for key in table:
        is_own = key in (*RUN_KEYS, *GOVERNOR_KEYS, *FLEET_KEYS) or key.startswith(NOTIFY)
        if is_own and not follow:
            raise UsageError(f"{file}: a repository cannot set {key}", "set it in your own config.toml")
        if key not in _KEYS and not is_own:
            known = (*RUN_KEYS, *GOVERNOR_KEYS, *FLEET_KEYS, *_KEYS) if follow else _KEYS
            what = f"{_place(file, raw, key)}: unknown setting {key!r}"
            raise UsageError(what, f"the settings are: {', '.join(known)}")
    return {key: _checked(key, table[key], _place(file, raw, key)) for key in table if key in _KEYS}


def _place(file: str, raw: bytes, key: str) -> str:
    """The file, with the line that sets the key if there is one."""
    line = line_of(raw.decode("utf-8"), key)
    return f"{file}, line {line}" if line is not None else file


def _content(file: str, *, follow: bool) -> bytes:
    """The content of a regular file of a sensible size: a pipe would block forever, a device has no end."""
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", file)
        content = os.read(fd, _LONGEST + 1)
    finally:
        os.close(fd)
    if len(content) > _LONGEST:
        raise OSError(errno.EFBIG, f"more than {_LONGEST} bytes", file)
    return content


def _checked(key: str, value: object, place: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise UsageError(f"{place}: {key} must be a string", "put it between quotes")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise UsageError(f"{place}: {key} is {value!r}", f"it is one of: {', '.join(_CHOICES[key])}")
    return value
