"""`rekindle search`: full-text search over all conversations. Needs no daemon."""

from __future__ import annotations

import sys

import click
import msgspec

from rekindle.agents.registry import AGENTS
from rekindle.app.searching import SearchRequest
from rekindle.core.search import Hit
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import other_hosts
from rekindle.doors.cli.options import complete_sessions, json_option, print_json
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--session", metavar="ID", shell_complete=complete_sessions, help="Only in this session.")
@click.option("--agent", type=click.Choice(list(AGENTS)), help="Only in sessions with this agent.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Show at most N hits."
)
@click.option("--newest", is_flag=True, help="Show the newest hits first, not the best.")
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
    """Search all sessions for TEXT: prompts, answers and tool calls. Secrets are masked.

    All words must match. Put a phrase in double quotes. wor* matches words that begin with wor.

    \b
    Example:
      rekindle search 'migrat* "foreign key"' --agent scripted --limit 5
    """
    query = " ".join(text)
    asked = SearchRequest(query, session, agent, limit, "newest" if newest else "best")
    hits = use_cases().searching().search(asked)
    shown = [{**msgspec.to_builtins(one.hit), "title": one.title, "agent": one.agent} for one in hits]
    others = other_hosts.elsewhere() if session is None else []
    if as_json:
        print_json({"query": query, "hits": shown, **({"elsewhere": others} if others else {})})
    elif jsonl:
        for line in shown:
            print_json(line)
    else:
        for number, one in enumerate(hits):
            hit = one.hit
            if number == 0 or hits[number - 1].hit.session != hit.session:
                click.echo(f"{click.style(hit.session, bold=True)}  {printable(one.title)[:60]}")
            click.echo(f"  {hit.attempt} {hit.kind:<9} {_marked(hit)}")
    if not hits:
        print(f"Nothing was found for {printable(query)!r}.", file=sys.stderr)
    if not as_json and not jsonl:
        other_hosts.say(others, "The search was", "rekindle ps --all names them; search there")


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
