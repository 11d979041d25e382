"""`rekindle follow`: a feature's events as they happen."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import click

from rekindle import files
from rekindle.adapters.journal_file import blocks
from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import MALFORMED, decode_line
from rekindle.core.journal.event import Event
from rekindle.doors.cli.options import complete_features, workspace
from rekindle.doors.cli.outcome import printable

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
_PAUSE = 0.15


@click.command()
@click.argument("feature", shell_complete=complete_features)
@click.option("--lines", type=click.IntRange(min=0), default=20, show_default=True, help="How many to begin with.")
@click.option("--until-end", is_flag=True, help="Stop when the newest run has ended.")
@click.option("--jsonl", is_flag=True, help="Print the events as they stand in the journal, one object per line.")
def follow(feature: str, lines: int, until_end: bool, jsonl: bool) -> None:
    """Show the events of FEATURE as they happen, until Ctrl-C."""
    found = workspace().existing(feature)
    runs = found.state().runs if until_end else []
    newest, ended = (runs[-1].sid, runs[-1].ended) if runs else (None, False)
    for line in _grow(found.path, lines, once=ended):
        event = decode_line(line)
        if jsonl and isinstance(event, Event):
            print(line.decode("utf-8").strip(), flush=True)
        elif not jsonl and isinstance(event, Event):
            click.echo(_pretty(event))
        elif not jsonl and event is MALFORMED:
            click.secho("        (an unreadable line)", dim=True)
        if isinstance(event, Event) and until_end and not ended:
            newest = event.sid if event.type == ev.SESSION_START else newest
            if event.type == ev.SESSION_END and event.sid in (newest, None):
                return


def _grow(path: Path, lines: int, *, once: bool) -> Iterator[bytes]:
    """The last lines of a file, then (unless `once`) every line that is added; a new file is read from its start."""
    fd = files.open_to_read(path)
    try:
        status = os.fstat(fd)
        size = status.st_size
        newest: list[bytes] = []
        rest = b""
        for index, line in enumerate(blocks.backward(fd, size)):
            if index == 0:
                rest = line
            elif len(newest) < lines:
                newest.append(line)
            else:
                break
        yield from reversed(newest)
        offset = size - len(rest)
        while not once:
            size = os.fstat(fd).st_size
            if size < offset:
                offset = 0
            for block, behind in blocks.forward(fd, offset, size):
                if block.endswith(b"\n"):
                    yield from block[:-1].split(b"\n")
                    offset = behind
            try:
                replaced = os.stat(path).st_ino != status.st_ino
            except FileNotFoundError:
                replaced = False
            if replaced:
                os.close(fd)
                fd = files.open_to_read(path)
                status, offset = os.fstat(fd), 0
                continue
            time.sleep(_PAUSE)
    finally:
        os.close(fd)


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
