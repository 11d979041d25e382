"""`rekindle notify`: tries out how people are told outside the terminal."""

from __future__ import annotations

import click
import msgspec

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import UsageError


@click.group()
def notify() -> None:
    """Test how you are told outside the terminal.

    \b
    rekindle config set notify_ntfy https://ntfy.sh/my-topic
    rekindle notify test

    The settings are in your own settings file only; `rekindle config list` shows them.
    """


@notify.command("test")
@json_option
def test_(as_json: bool) -> int:
    """Send a test message to every receiver that is set. Exits with 1 if one does not take it."""
    notifying = use_cases().notifying()
    found = notifying.test()
    if not found:
        problems = "; ".join(notifying.settings().problems)
        raise UsageError(
            problems or "no receiver is set", "set one, for example: rekindle config set notify_desktop on"
        )
    if as_json:
        print_json({"receivers": msgspec.to_builtins(found)})
    else:
        for one in found:
            why = f": {printable(one.why)}" + (f" ({printable(one.remedy)})" if one.remedy else "")
            print(f"{one.receiver}: sent" if one.taken else f"{one.receiver}: NOT sent{why}")
    return 0 if all(one.taken for one in found) else 1
