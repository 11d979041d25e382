"""Everything about a session as a person reads it: `rekindle show`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.amounts import clock_time, used, when
from rekindle.doors.cli.receipts import proof_lines, receipt_lines

Told = dict[str, Any]
_MOST = 80
#: The column where values start, also on later lines.
INDENT = 10


def lines(told: Told, now: float, rules_since: str = "") -> Iterator[str]:
    """A session with its times, attempts, prompts and receipts. `rules_since`: how its runbook has changed.

    Whatever of it an agent, an archive or another host has written: nothing may steer the terminal.
    """
    return map(printable, _lines(told, now, rules_since))


def _lines(told: Told, now: float, rules_since: str) -> Iterator[str]:
    yield f"session   {told['id']}  ({told['agent']})"
    yield f"title     {printable(told['title'])}"
    if told.get("host"):
        yield f"host      {printable(told['host'])}{_silence(told.get('away'))}"
    known = told["why"] or told["message"]  # the message is as old as the event; why is true now
    why = f": {printable(known)}" if known and told["waits_until"] is None else ""
    yield f"status    {told['status']} (state {told['state']}){why}"
    if told["waits_until"] is not None:
        yield f"waits     until {clock_time(told['waits_until'], now)}: {printable(told['why'])}"
    if told["next"] and (told["needs_you"] or told["waits_until"] is None):
        yield f"next      {told['next']}"
    yield f"begun     {when(told['created_at'], now)}"
    yield f"changed   {when(told['changed_at'], now)}"
    yield f"folder    {printable(told['cwd'])}"
    if told["branch"]:
        yield f"worktree  {printable(told['worktree'])} on {printable(told['branch'])}"
    if told["pid"]:
        yield f"agent     pid {told['pid']}"
    if told["model"]:
        yield f"model     {printable(told['model'])}"
    if amounts := used(told["usage"]["tokens"], told["usage"]["cost"]):
        yield f"used      {', '.join(amounts)}"
    if told["attempt"]:
        context = told.get("context")
        full = f"{context['percent']}% of {context['size']:,} tokens" if context else "unknown"
        yield f"context   {full}"
    if source := told["session"].get("rules_digest") and told["session"]["rules_source"]:
        yield f"rules     {printable(source)}" + (f" ({rules_since})" if rules_since else "")
    for line in told["session"]["imported"]:
        yield f"archive   {printable(line)}"
    yield from _attempts(told, now)
    yield from _prompts(told, now)
    for notice in told["notices"]:
        yield f"note      {printable(notice)}"
    if told["question"]:
        offered = ", ".join(printable(one["id"]) for one in told["question"]["options"])
        yield f"asks      {told['question']['id']} {printable(told['question']['title'])}: {offered}"


def _silence(away: Told | None) -> str:
    """That another host may be gone, with the command that is for then."""
    if not away or not away["may_be_gone"]:
        return ""
    seconds = away["seen_seconds_ago"]
    when = "never seen" if seconds is None else f"last seen {seconds:.0f} s ago"
    return f", {when}; it may be gone. If it is: {away['takeover']}"


def _attempts(told: Told, now: float) -> Iterator[str]:
    for attempt in told["session"]["attempts"]:
        end = f", {printable(attempt['how_ended'])}" if attempt["how_ended"] else ""
        since = f", open since {clock_time(attempt['opened_at'], now)}" if attempt["opened_at"] else ""
        yield f"attempt   {attempt['number']}: {attempt['how']}, {attempt['status']}{since}{end}"
        for line in receipt_lines(attempt["receipt"]):
            yield f"          {line}"
    if told["receipt_may_change"]:
        yield "          (this is being checked, and may still change)"
    for number, line in enumerate(proof_lines(told.get("skill"))):
        yield line.replace("skill session ", "skill     ", 1) if number == 0 else f"          {line}"


def _prompts(told: Told, now: float) -> Iterator[str]:
    for prompt in told["session"]["prompts"]:
        was_cut = prompt["state"] == "failed" or (prompt["state"], prompt["outcome"]) == ("done", "cancelled")
        state = prompt["outcome"] if was_cut else prompt["state"]
        text = printable(prompt["text"])
        said = text if len(text) <= _MOST else f"{text[: _MOST - 1]}… (all of it: rekindle logs {told['id']})"
        yield f"prompt    {clock_time(prompt['at'], now)}  {prompt['id']} [{printable(state)}] {said}"
