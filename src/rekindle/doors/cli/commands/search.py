"""`rekindle search`: full-text search over all conversations. Needs no daemon."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import click
import msgspec

from rekindle.adapters.search.index import Order, SearchIndex
from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.agents.registry import AGENTS
from rekindle.core.masking import Masker
from rekindle.core.search import Hit, expression
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.commands.logs import named
from rekindle.doors.cli.options import complete_sessions, json_option, places, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.places import Places


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--session", metavar="ID", shell_complete=complete_sessions, help="Only in this session.")
@click.option("--agent", type=click.Choice(list(AGENTS)), help="Only in sessions with this agent.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Show at most this many."
)
@click.option("--newest", is_flag=True, help="The newest first; by default the best.")
@click.option("--jsonl", is_flag=True, help="Print one JSON object per hit.")
@json_option
def search(
    text: tuple[str, ...],
    session: str | None,
    agent: str | None,
    limit: int,
    newest: bool,
    jsonl: bool,
    as_json: bool,
) -> None:
    """Find TEXT in what was asked, said and done in all sessions. Secrets are masked.

    All words have to be there; words in double quotes stand next to one another; wor* begins like that.

    \b
    Example:
      rekindle search 'migrat* "foreign key"' --agent scripted --limit 5
    """
    here = places()
    query = " ".join(text)
    only = named(session) if session is not None else None
    rows = {row["id"]: row for row in use_cases().sessions().rows()}
    chosen = None
    if only is not None or agent is not None:
        chosen = [row["id"] for row in rows.values() if only in (None, row["id"]) and agent in (None, row["agent"])]
    hits = _found(here, query, chosen, limit, "newest" if newest else "best")
    about = {one.session: _about(rows.get(one.session), masker_of(here.sessions)(one.session)) for one in hits}
    shown = [{**msgspec.to_builtins(one), **about[one.session]} for one in hits]
    if as_json:
        print_json({"query": query, "hits": shown})
    elif jsonl:
        for line in shown:
            print_json(line)
    else:
        for number, one in enumerate(hits):
            if number == 0 or hits[number - 1].session != one.session:
                click.echo(f"{click.style(one.session, bold=True)}  {printable(about[one.session]['title'])[:60]}")
            click.echo(f"  {one.attempt} {one.kind:<9} {_marked(one)}")
    if not hits:
        print(f"Nothing was found for {printable(query)!r}.", file=sys.stderr)


def _found(places: Places, query: str, chosen: list[str] | None, limit: int, order: Order) -> list[Hit]:
    wanted = expression(query)
    if wanted is None or not os.path.isdir(places.sessions):
        return []
    index = SearchIndex(places.search, places.sessions, masker_of(places.sessions))
    return index.search(wanted, time.time_ns(), sessions=chosen, limit=limit, order=order)


def masker_of(sessions_folder: str) -> Callable[[str], Masker]:
    """Masks what this user's environment holds now, and what a session's held when it was begun."""
    here = dict(os.environ)

    def make(session: str) -> Masker:
        return Masker({**here, **(kept_environment.read(os.path.join(sessions_folder, session)) or {})})

    return make


def _about(row: dict[str, Any] | None, masker: Masker) -> dict[str, str]:
    """A title is the beginning of what somebody asked for: it can hold a secret as any prompt can."""
    if row is None:
        return {"title": "", "agent": ""}
    return {"title": masker.text(str(row["title"])), "agent": row["agent"]}


def _marked(one: Hit) -> str:
    """The snippet in one line; hits are coloured on a terminal and in brackets elsewhere."""
    is_terminal = sys.stdout.isatty()
    told, done = "", 0
    for start, end in one.marks:
        found = printable(one.snippet[start:end])
        told += printable(one.snippet[done:start])
        told += click.style(found, fg="yellow", bold=True) if is_terminal else f"»{found}«"
        done = end
    return " ".join((told + printable(one.snippet[done:])).split())
