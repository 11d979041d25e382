"""`rekindle follow`: a feature's events as they happen."""

from __future__ import annotations

import click

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import MALFORMED
from rekindle.core.journal.event import Event
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_features
from rekindle.doors.cli.use_cases import use_cases

_COLOURS = {
    "session.": "bright_white",
    "plan.": "magenta",
    "checkpoint": "bright_cyan",
    "task.completed": "green",
    "task.failed": "red",
    "task.": "yellow",
    "qa.passed": "green",
    "qa.failed": "red",
    "agent.error": "red",
    "agent.": "blue",
    "error.": "red",
    "blocker.": "red",
    "warning.": "yellow",
    "branch.": "cyan",
    "worktree.": "cyan",
}


@click.command()
@click.argument("feature", shell_complete=complete_features)
@click.option(
    "--lines", type=click.IntRange(min=0), default=20, show_default=True, help="How many earlier events to show first."
)
@click.option("--until-end", is_flag=True, help="Stop when the newest run has ended.")
@click.option("--jsonl", is_flag=True, help="Print the events as JSON objects, one per line, as in the journal.")
def follow(feature: str, lines: int, until_end: bool, jsonl: bool) -> None:
    """Show the events of FEATURE as they happen, until Ctrl-C."""
    for line, event in use_cases().features().follow(feature, lines, until_end=until_end):
        if jsonl and isinstance(event, Event):
            print(line.decode("utf-8").strip(), flush=True)
        elif not jsonl and isinstance(event, Event):
            click.echo(_pretty(event))
        elif not jsonl and event is MALFORMED:
            click.secho("        (an unreadable line)", dim=True)


def _pretty(event: Event) -> str:
    when = printable((event.ts or "")[11:19]) or "--:--:--"
    colour = next((colour for prefix, colour in _COLOURS.items() if event.type.startswith(prefix)), None)
    about = []
    task = ev.task_of(event.data)
    if task:
        about.append(f"#{task}")
    for key in ("summary", "label", "name", "path", "tool", "target", "command", "reason", "result"):
        value = event.data.get(key)
        if isinstance(value, str) and value:
            about.append(value)
    said = ev.message_of(event.data)
    if said:
        about.append(said)
    head = click.style(f"{printable(event.type)[:40]:<18}", fg=colour)
    return f"{when} {printable(event.sid or '-')[:8]:<8} {head} {printable(' '.join(about))[:200]}".rstrip()
