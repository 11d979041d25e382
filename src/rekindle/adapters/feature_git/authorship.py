"""The author of commits: the person who runs the feature, as git would name them in their environment.

The daemon's environment differs: somebody started it at some time, and only the caller knows what a folder's own
settings (such as direnv) export. Nothing else of that environment reaches the git that commits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rekindle.adapters.git.git import Git

#: Where git takes a name from, besides the repository's own configuration.
_NAMED_BY = (
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"),
    *("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
)
_KEY = re.compile(r"(user|author|committer)\.(name|email)", re.IGNORECASE)
_IDENTITY = re.compile(r"(.+) <(.*)> \d+ [+-]\d+", re.DOTALL)
_MOST_SETTINGS = 100


def authorship(folder: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that make git commit in this environment's name; empty if it has none."""
    git = Git(folder, variables={name: environment[name] for name in _NAMED_BY if name in environment})
    found: dict[str, str] = {}
    for who in ("AUTHOR", "COMMITTER"):
        identity = _IDENTITY.fullmatch(git.line(*_settings(environment), "var", f"GIT_{who}_IDENT") or "")
        if identity is None:
            return {}
        found |= {f"GIT_{who}_NAME": identity[1], f"GIT_{who}_EMAIL": identity[2]}
    return found


def _settings(environment: Mapping[str, str]) -> Iterator[str]:
    """A name set as git configuration in variables."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    for number in range(min(int(count), _MOST_SETTINGS) if count.isdecimal() else 0):
        key, value = (environment.get(f"GIT_CONFIG_{part}_{number}") for part in ("KEY", "VALUE"))
        if key is not None and value is not None and _KEY.fullmatch(key):
            yield from ("-c", f"{key}={value}")
