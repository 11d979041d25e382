"""Puts the hook client into an agent's settings of a project, and takes it out, leaving everything else as it is.

What agents read about skill sessions is put there with it (`procedure_files`).
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

from rekindle import files
from rekindle.hooks.hooked_agents import EVENTS, HOOKED
from rekindle.hooks.procedure_files import put_texts, remove_texts
from rekindle.ports.errors import ForeignRepository, RekindleError, UsageError

__all__ = [
    "EVENTS",
    "HOOKED",
    "PROGRAM",
    "command_of",
    "install",
    "installed",
    "put_texts",
    "remove_texts",
    "settings_file",
    "uninstall",
]

PROGRAM = "rekindle-hook"
_DIRECT = "rekindle-hook-direct"
#: Announced by a daemon that has tried `rekindle-hook-direct` here. With another XDG_STATE_HOME the program looks.
_ANNOUNCED = "~/.local/state/rekindle/hook.sock"


def command_of(program: str, agent: str = "claude") -> str:
    """What an agent's hook runs, given the program's name or its path. It is read by a shell.

    Claude Code calls its hooks with every tool call, and with `sh -c`: this very shell can spare the program's own.
    Settings are shared with machines that have no perl, no daemon, or a rekindle that has only the program, so that the
    choice is made at each call. A shell ends when it cannot execute something: only the trap comes after that.
    """
    if agent != "claude":
        return f"{shlex.quote(program)} {agent}"
    return f"trap {shlex.quote(f'exec {shlex.quote(program)}')} EXIT; {_without_trap(program)}"


def _without_trap(program: str) -> str:
    direct = os.path.join(os.path.dirname(program), _DIRECT)
    return f"[ -S {_ANNOUNCED} ] && LC_ALL=C exec {shlex.quote(direct)}; exec {shlex.quote(program)}"


def settings_file(top: str, name: str = "settings.json", agent: str = "claude") -> Path:
    """An agent's settings of a project. Raises ForeignRepository if a link leads out of it, or into git's folder.

    A link that stays in the project is the project's own way to keep its files.
    """
    file = os.path.join(top, HOOKED[agent].folder, name)
    real, whole = os.path.realpath(file), os.path.realpath(top)
    if not files.is_below(real, whole) or ".git" in os.path.relpath(real, whole).lower().split(os.sep):
        raise ForeignRepository(
            f"{file} leads out of the project, to {real}", "make the folder and the file plain ones"
        )
    return Path(file)


def install(file: Path, command: str, agent: str = "claude") -> list[str]:
    """Add the hooks that are not there yet; returns the hook events that were added."""
    settings, indent = _read(file)
    about = HOOKED[agent]
    if about.is_flat:
        settings.setdefault("version", 1)
    hooks = settings.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        raise _wrong(file, "hooks", "an object")
    added = []
    for event, matcher in about.events.items():
        groups = hooks.setdefault(event, [])
        if not isinstance(groups, list):
            raise _wrong(file, f"hooks.{event}", "a list")
        ours = [entry for group in groups for entry in _entries(group) if _is_ours(entry)]
        if ours:
            for entry in ours:
                if entry[about.key] != command:
                    entry[about.key] = command  # it was installed from a place that no longer exists
                    added.append(event)
            continue
        ours_now = {"type": "command", about.key: command, **about.entry}
        group: dict[str, Any] = ours_now if about.is_flat else {"hooks": [ours_now]}
        if matcher is not None:
            group = {"matcher": matcher, **group}
        groups.append(group)
        added.append(event)
    if added:
        _write(file, settings, indent)
    return added


def uninstall(file: Path) -> list[str]:
    """Remove the hooks; returns the hook events that they were removed from."""
    settings, indent = _read(file)
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return []
    removed = []
    for event in list(hooks):
        groups = hooks[event]
        if not isinstance(groups, list):
            continue
        kept = []
        for group in groups:
            entries = _entries(group)
            others = [entry for entry in entries if not _is_ours(entry)]
            if len(others) == len(entries):
                kept.append(group)
            elif others:
                kept.append({**group, "hooks": others})
        if kept != groups:
            removed.append(event)
            hooks[event] = kept
            if not kept:
                del hooks[event]
    if removed:
        if not hooks:
            del settings["hooks"]
        if any(one.is_own and one.file == file.name for one in HOOKED.values()) and settings in ({}, {"version": 1}):
            file.unlink()
        else:
            _write(file, settings, indent)
    return removed


def installed(file: Path) -> list[str]:
    """The hook events that the hook client is in."""
    settings, _ = _read(file)
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return []
    return [
        event
        for event, groups in hooks.items()
        if isinstance(groups, list) and any(_is_ours(entry) for group in groups for entry in _entries(group))
    ]


def _entries(group: object) -> list[Any]:
    entries = group.get("hooks", [group]) if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def _is_ours(entry: object) -> bool:
    command = entry.get("command", entry.get("bash")) if isinstance(entry, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    if 1 <= len(words) <= 2:
        return os.path.basename(words[0]) == PROGRAM
    if not words or os.path.basename(words[-1]) != PROGRAM:
        return False
    return command in (command_of(words[-1]), _without_trap(words[-1]))


def _read(file: Path) -> tuple[dict[str, Any], int | str]:
    try:
        text = files.read(file).decode("utf-8")
    except FileNotFoundError:
        return {}, 2
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8", "fix it or move it away") from error
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})", "check its permissions") from error
    if not text.strip():
        return {}, 2
    try:
        settings = json.loads(text, parse_constant=_refused, object_pairs_hook=_without_twins, parse_float=_finite)
        json.dumps(settings, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: is not valid JSON ({error})", "mend it first; nothing was changed") from error
    if not isinstance(settings, dict):
        raise _wrong(file, "the whole", "an object")
    return settings, _indent(text)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large a number to be written back")
    return value


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is given twice, and one of them would be lost")
    return dict(pairs)


def _indent(text: str) -> int | str:
    for line in text.splitlines()[1:]:
        stripped = line.lstrip()
        if stripped and stripped != line:
            lead = line[: len(line) - len(stripped)]
            return "\t" if lead.startswith("\t") else len(lead)
    return 2


def _wrong(file: Path, key: str, what: str) -> UsageError:
    return UsageError(f"{file}: {key} is not {what}", "mend it first; nothing was changed")


def _write(file: Path, settings: dict[str, Any], indent: int | str) -> None:
    target = Path(os.path.realpath(file))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        text = json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"
        files.replace(target, text.encode("utf-8"), mode=mode, durable=True)
    except OSError as error:
        raise RekindleError(
            f"{file}: cannot be written ({error.strerror})", "check the folder's permissions"
        ) from error
