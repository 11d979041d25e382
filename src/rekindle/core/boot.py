"""What starts the daemon with the machine: the text of a systemd unit and of a crontab entry. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

BootWay = Literal["systemd", "cron"]
UNIT: Final = "rekindle.service"
#: How often cron looks whether something is due, in minutes.
EVERY_MINUTES: Final = 3
#: Ends our line in a crontab, so that it is found again whatever else is there.
MARK: Final = "# rekindle boot"
#: What the daemon must know to find the same store and the same sockets as you do.
_PLACES: Final = ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


class BootStart(msgspec.Struct, frozen=True):
    """How the daemon is started: the commands, as words, and the environment that it needs."""

    serve: tuple[str, ...]
    check: tuple[str, ...]
    environment: dict[str, str]


class BootState(msgspec.Struct, frozen=True):
    """What is known about one way. `active` is None where nobody can tell. `notes`: what may keep it from working."""

    way: BootWay
    usable: bool
    installed: bool = False
    current: bool = False
    active: bool | None = None
    why: str = ""
    place: str = ""
    notes: list[str] = []


def needed(environment: Mapping[str, str]) -> dict[str, str]:
    """What of the caller's environment the daemon gets: where its files are, and where programs are found."""
    kept = {name: environment[name] for name in (*_PLACES, "PATH", "LANG") if environment.get(name)}
    ours = {name: value for name, value in environment.items() if name.startswith("REKINDLE_") and _is_setting(name)}
    return {name: value for name, value in sorted({**kept, **ours}.items()) if "\n" not in value}


def _is_setting(name: str) -> bool:
    return name in ("REKINDLE_PROGRESS_DIR", "REKINDLE_WORKTREES_DIR", "REKINDLE_JOURNAL_SYNC")


def unit(start: BootStart) -> str:
    """The unit of the user's own systemd.

    Only the daemon is stopped with it (`KillMode=process`): agents keep working in their keepers. One process that
    runs out of memory does not take the others along.
    """
    variables = "".join(f"Environment={_literal(f'{name}={value}')}\n" for name, value in start.environment.items())
    return f"""\
# Written by `rekindle boot install`. Remove it with `rekindle boot remove`.
[Unit]
Description=rekindle: brings interrupted coding agents back

[Service]
ExecStart={" ".join(_quoted(word) for word in start.serve)}
{variables}Restart=always
RestartSec=10
KillMode=process
OOMPolicy=continue

[Install]
WantedBy=default.target
"""


def _quoted(word: str) -> str:
    """A word of a command for systemd, which expands $ there."""
    return _literal(word.replace("$", "$$"))


def _literal(text: str) -> str:
    """A text for systemd: it expands %, and takes backslashes and quotes as C does. In a variable, $ is only a $."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{plain}"'


def entry(start: BootStart) -> str:
    """The line of a crontab. Cron hands it to a shell, so every word is quoted; a percent sign would end it.

    Cron sets HOME itself, and a session has an environment of its own, so the line stays short: cron limits it.
    """
    places = {name: value for name, value in start.environment.items() if name not in ("PATH", "LANG", "HOME")}
    variables = [f"{name}={shlex.quote(value)}" for name, value in places.items()]
    words = " ".join([*variables, *(shlex.quote(word) for word in start.check)]).replace("%", "\\%")
    return f"*/{EVERY_MINUTES} * * * * {words} {MARK}"


def own_entry(table: str) -> str | None:
    """Our line in a crontab, or None."""
    return next((line for line in _lines(table) if line.rstrip().endswith(MARK)), None)


def with_entry(table: str, line: str) -> str:
    """The crontab with our line, once, and everything else as it was."""
    return "".join(f"{one}\n" for one in [*_others(table), line])


def without_entry(table: str) -> str:
    """The crontab without our line, and everything else as it was."""
    return "".join(f"{one}\n" for one in _others(table))


def _others(table: str) -> Sequence[str]:
    return [line for line in _lines(table) if not line.rstrip().endswith(MARK)]


def _lines(table: str) -> list[str]:
    """Cron's lines end with a newline and with nothing else; the last one may lack it."""
    return table.removesuffix("\n").split("\n") if table else []


def chosen(states: Sequence[BootState], wanted: BootWay | None) -> BootState | str:
    """The way to install, or why there is none: the one that was asked for, else the first that this machine has."""
    if wanted is not None:
        state = next(one for one in states if one.way == wanted)
        return state if state.usable else f"{wanted} cannot be used here: {state.why}"
    usable = next((one for one in states if one.usable), None)
    return usable or "; ".join(f"{one.way}: {one.why}" for one in states)


def is_started_with_the_machine(states: Sequence[BootState]) -> bool:
    """Whether anything brings the daemon back after a restart of the machine."""
    return any(one.installed for one in states)
