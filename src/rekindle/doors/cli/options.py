"""Options that several commands share, and how a command prints its result."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from rekindle.doors.cli import feature_list
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.ports.daemon import Daemon

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def daemon() -> Daemon:
    """A new connection to the user's daemon."""
    return use_cases().daemon()


def complete_features(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of features, for the shell, each with its state."""
    try:
        found = {name: feature_list.EMPTY for name in use_cases().features().names() if name.startswith(incomplete)}
        found |= {name: one for name, one in use_cases().status().features().items() if name in found}
    except RekindleError:
        return []
    return [CompletionItem(name, help=feature_list.in_short(one)) for name, one in found.items()]


def complete_sessions(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of sessions, for the shell."""
    try:
        found = use_cases().sessions().rows()
    except RekindleError:
        return []
    return [CompletionItem(row["id"], help=described(row)) for row in found if row["id"].startswith(incomplete)]


def described(row: dict[str, Any]) -> str:
    """A session in a few words, shown after its id: its state, and what it is about."""
    from rekindle.core.terminal_text import printable

    return f"{row['status']}: {printable(row['title'])}" if row.get("title") else str(row["status"])


def complete_resumable(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of features and ids of sessions, for the shell."""
    return complete_features(ctx, param, incomplete) + complete_sessions(ctx, param, incomplete)


def feature_option(function: Decorated) -> Decorated:
    """`--feature`: the feature, if the branch does not name it."""
    return click.option(
        "--feature",
        metavar="NAME",
        shell_complete=complete_features,
        help="The feature; default: the one that the branch names.",
    )(function)


def json_option(function: Decorated) -> Decorated:
    """`--json`: one JSON object on standard output, and nothing else there."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)


def print_json(value: Any) -> None:
    """Print one JSON object. ASCII only, because text from a journal may hold half a surrogate pair."""
    print(json.dumps(value))


def who() -> str:
    """Who asks, for the record: the same text as long as this command runs."""
    try:
        return f"pid {os.getpid()} on {os.ttyname(0)}"
    except OSError:
        return f"pid {os.getpid()}"
