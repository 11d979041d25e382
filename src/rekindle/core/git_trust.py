"""Which programs a repository's own git configuration names, and the settings that keep git from starting them.

Pure: entries of a configuration in, settings out. The user's global and system configuration is trusted. What
`.git/config` says is not: a filter or a merge driver that it defines runs only after a person has said yes to that
exact definition; everything else never runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

Kind = Literal["filter", "merge"]
Setting = tuple[str, str]

_TRUSTED = ("system", "global")
_OURS = "command"
_COMMANDS: dict[Kind, tuple[str, ...]] = {"filter": ("clean", "smudge", "process"), "merge": ("driver",)}
_KINDS: tuple[Kind, ...] = ("filter", "merge")
#: git's own text merge, in place of a driver that nobody has approved. Files that are not text conflict.
_MERGE_TEXTS = "git merge-file --marker-size=%L %A %O %B || exit 1"
_PLAIN = {"core.sshcommand": "ssh", "core.gitproxy": "", "core.askpass": "", "merge.default": "text"}
_NAMED = {
    ("remote", "uploadpack"): "git-upload-pack",
    ("remote", "receivepack"): "git-receive-pack",
    ("lfs", "standalonetransferagent"): "",
    ("lfs", "path"): "false",
    ("lfs", "clean"): "false",
    ("lfs", "smudge"): "false",
    ("diff", "command"): "false",
    ("diff", "textconv"): "cat",
    ("gpg", "program"): "false",
}


class ConfigEntry(msgspec.Struct, frozen=True):
    """One line of a configuration, as git lists them: later ones win. `value` is None for a key without one."""

    scope: str
    key: str
    value: str | None

    @property
    def is_foreign(self) -> bool:
        """Whether it comes with the repository."""
        return self.scope not in (*_TRUSTED, _OURS)


class Definition(msgspec.Struct, frozen=True):
    """A filter or a merge driver that a repository defines: what would run, by variable."""

    kind: Kind
    name: str
    commands: tuple[tuple[str, str], ...]

    @property
    def fingerprint(self) -> str:
        """Changes whenever any part of it does."""
        told = json.dumps([self.kind, self.name, self.commands])
        return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()


class Key(msgspec.Struct, frozen=True):
    """A key in its parts. What is between the first and the last dot is kept as written."""

    section: str
    name: str | None
    variable: str


def parse(listed: bytes) -> list[ConfigEntry]:
    """What `git config --list --show-scope -z` says."""
    words = listed.decode("utf-8", "surrogateescape").split("\0")
    found = []
    for scope, told in zip(words[::2], words[1::2], strict=False):
        key, is_set, value = told.partition("\n")
        found.append(ConfigEntry(scope, key, value if is_set else None))
    return found


def parts(key: str) -> Key:
    """Take a key apart."""
    section, _, rest = key.partition(".")
    name, dot, variable = rest.rpartition(".")
    return Key(section.lower(), name if dot else None, variable.lower())


def definitions(entries: Sequence[ConfigEntry]) -> list[Definition]:
    """The filters and merge drivers that differ from what the user's own configuration would define."""
    ours = [entry for entry in entries if entry.scope != _OURS]
    theirs = (parts(entry.key) for entry in ours if entry.is_foreign)
    named = dict.fromkeys(
        (kind, key.name)
        for key in theirs
        for kind in _KINDS
        if key.section == kind and key.name is not None and key.variable in _COMMANDS[kind]
    )
    found = []
    for kind, name in named:
        now = _values(ours, kind, name)
        if now != _values([entry for entry in ours if not entry.is_foreign], kind, name):
            found.append(Definition(kind, name, tuple(now.items())))
    return found


def _values(entries: Iterable[ConfigEntry], kind: Kind, name: str) -> dict[str, str]:
    """What is in force, by variable, in a fixed order."""
    last: dict[str, str] = {}
    for entry in entries:
        key = parts(entry.key)
        if (key.section, key.name) == (kind, name) and key.variable in _COMMANDS[kind]:
            last[key.variable] = entry.value or ""
    return dict(sorted(last.items()))


def withheld(defined: Iterable[Definition], approved: Collection[str]) -> list[Definition]:
    """Those that nobody has said yes to."""
    return [one for one in defined if one.fingerprint not in approved]


def safe_settings(entries: Sequence[ConfigEntry], without: Iterable[Definition]) -> list[Setting]:
    """Settings that come last and win: nothing of the repository's own runs; `without`: not approved."""
    told: list[Setting] = []
    for one in without:
        if one.kind == "merge":
            told.append((f"merge.{one.name}.driver", _MERGE_TEXTS))
        else:
            told += [(f"filter.{one.name}.{variable}", "") for variable in _COMMANDS["filter"]]
            told.append((f"filter.{one.name}.required", "false"))
    told += _instead(entries)
    if any(entry.is_foreign and parts(entry.key).section == "credential" for entry in entries):
        told.append(("credential.helper", ""))  # clears those before it; the user's own are added again
        told += [(entry.key, entry.value or "") for entry in entries if _is_our_helper(entry)]
    return told


def _is_our_helper(entry: ConfigEntry) -> bool:
    key = parts(entry.key)
    return entry.scope in _TRUSTED and (key.section, key.variable) == ("credential", "helper")


def _instead(entries: Sequence[ConfigEntry]) -> Iterator[Setting]:
    """What replaces a repository's own keys: the user's own value, or a harmless one."""
    trusted = {entry.key: entry.value or "" for entry in entries if entry.scope in _TRUSTED}
    for key in dict.fromkeys(entry.key for entry in entries if entry.is_foreign):
        told = parts(key)
        if told.section == "hook" and told.name is not None:
            yield f"hook.{told.name}.enabled", "false"
            continue
        harmless = _PLAIN.get(key.lower()) if told.name is None else None
        if harmless is None and (told.name is not None or told.section == "lfs"):
            harmless = _NAMED.get((told.section, told.variable))
        if harmless is not None:
            yield key, trusted.get(key, harmless)
