"""`rekindle config`: the user's settings, read and changed one by one. No daemon."""

from __future__ import annotations

import sys

import click
import msgspec
from click.shell_completion import CompletionItem

from rekindle.app.user_settings import SettingRow
from rekindle.core.setting_keys import is_read_once
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError

#: How wide the column of values is at most.
_WIDEST = 40


def _complete_keys(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    keys = use_cases().user_settings().keys
    return [CompletionItem(name, help=key.about) for name, key in keys.items() if name.startswith(incomplete)]


def _complete_values(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    key = use_cases().user_settings().keys.get(str(ctx.params.get("key")))
    return [CompletionItem(one) for one in (key.choices if key is not None else ()) if one.startswith(incomplete)]


@click.group()
def config() -> None:
    """Show and change your settings: defaults of `rekindle run`, and where things are kept.

    \b
    rekindle config set agent claude
    rekindle config set max_cost 20

    An option on the command line always wins. A session keeps the settings it started with.
    """


@config.command("list", short_help="List every setting, its value, and its source.")
@json_option
def list_(as_json: bool) -> None:
    """List every setting, its current value, and where the value comes from."""
    settings = use_cases().user_settings()
    rows = settings.listed()
    if as_json:
        print_json({"file": settings.path, "settings": msgspec.to_builtins(rows)})
        return
    shown = [(row.key, "-" if row.value is None else printable(str(row.value)), _source(row)) for row in rows]
    keys, values = (max(len(one[column]) for one in shown) for column in (0, 1))
    for key, value, source in shown:
        print(f"{key:{keys}}  {value:{min(values, _WIDEST)}}  {source}")
    print(f"\nYour file: {printable(settings.path)}" + ("" if settings.exists else " (does not exist yet)"))


@config.command("get")
@click.argument("key", shell_complete=_complete_keys)
@json_option
def get_(key: str, as_json: bool) -> None:
    """Print the current value of KEY, or nothing if it is not set."""
    settings = use_cases().user_settings()
    row = settings.get(key)
    if as_json:
        print_json({"file": settings.path, **msgspec.to_builtins(row)})
    elif row.value is None:
        click.echo(f"{row.key} is not set; set it to {settings.keys[row.key].expected}", err=True)
    else:
        print(printable(str(row.value)))


@config.command("set")
@click.argument("key", shell_complete=_complete_keys)
@click.argument("value", shell_complete=_complete_values)
@json_option
def set_(key: str, value: str, as_json: bool) -> None:
    """Set KEY to VALUE in your settings file. Comments in the file stay.

    With - a secret is read from standard input, so that it is in no history and no list of processes.
    """
    settings = use_cases().user_settings()
    if value == "-" and key in settings.keys and settings.keys[key].secret:
        value = click.prompt(key, hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline().strip()
    row = settings.set(key, value)
    if as_json:
        print_json({"file": settings.path, **msgspec.to_builtins(row)})
        return
    print(f"{row.key} = {printable(str(row.value))}, in {printable(settings.path)}")
    if row.source not in ("file", "built in"):
        click.echo(f"The environment variable {row.source} wins over it.", err=True)
    _restart(row.key)


@config.command("unset", short_help="Remove KEY from your settings file.")
@click.argument("key", shell_complete=_complete_keys)
@json_option
def unset_(key: str, as_json: bool) -> None:
    """Remove KEY from your settings file, so that the built-in value applies again."""
    settings = use_cases().user_settings()
    removed = settings.unset(key)
    if as_json:
        print_json({"file": settings.path, "key": key, "removed": removed})
    else:
        print(f"{printable(key)} was removed" if removed else f"{printable(key)} was not set")
        if removed:
            _restart(key)


@config.command("path")
@json_option
def path_(as_json: bool) -> None:
    """Print the path of your settings file."""
    settings = use_cases().user_settings()
    print_json({"file": settings.path, "exists": settings.exists}) if as_json else print(settings.path)


@config.command("edit")
def edit_() -> None:
    """Open your settings file in $VISUAL or $EDITOR, then check it."""
    settings = use_cases().user_settings()
    path = settings.prepare()
    try:
        click.edit(filename=path)
    except click.ClickException as error:
        raise RekindleError(error.format_message(), f"set EDITOR, or edit {path} yourself") from error
    settings.check()


def _restart(key: str) -> None:
    """Say it if a daemon runs that does not see the change."""
    if is_read_once(key) and use_cases().daemon().is_served():
        told = "The running daemon does not see that yet: rekindle serve --stop; the next command starts a new one."
        click.echo(told, err=True)


def _source(row: SettingRow) -> str:
    if row.source == "file":
        return f"your file, line {row.line}"
    return f"environment, {row.source}" if row.source.isupper() else row.source
