"""Features on a screen: those that need a person first, each with the reason and what to type.

Pure, and light standard library only: `rekindle` with no arguments runs as often as `git status`.
"""

from __future__ import annotations

from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli.measure import cells, counted, fitted, padded, wrapped
from rekindle.doors.cli.next_step import next_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rekindle.doors.cli.colours import Ink
    from rekindle.doors.cli.session_screen import Surface
    from rekindle.ports.glance import Summary

    Features = dict[str, Summary]

_INDENT = "      "
_GAP = "  "
_DONE = "COMPLETE"
#: A feature that has a folder but no journal yet.
EMPTY: Summary = {"sid": None, "interrupted_sids": [], "end_reason": None, "tasks": {}, "last_ts": None}


def state_of(found: Summary) -> str:
    """A feature in one word. One with a task that failed is never called completed."""
    if "error" in found:
        return "unreadable"
    if "owner" in found:
        return "running"
    if found["interrupted_sids"]:
        return "interrupted"
    if found["sid"] is None:
        return "empty"
    if found["end_reason"] == "error" or found["tasks"].get("FAILED"):
        return "failed"
    return {"completed": "completed", "user_cancelled": "stopped"}.get(found["end_reason"] or "", "ended")


def in_short(found: Summary) -> str:
    """A feature in a few words, behind its name."""
    about = _progress(found) if "error" not in found else ""
    return f"feature, {state_of(found)}" + (f", {about}" if about else "")


def urgent(features: Features, surface: Surface, *, is_moved: bool) -> Iterator[str]:
    """Features that cannot continue without a person."""
    ink = surface.ink
    for state, title in (("failed", "Failed:"), ("interrupted", "Interrupted:"), ("unreadable", "Unreadable:")):
        some = _in_state(features, state)
        if some:
            yield ""
            yield ink.bold(title)
        for name, found in some.items():
            yield f"  {ink.red(printable(name))}"
            for line in _reasons(state, found, surface.now):
                yield from wrapped(line, surface.width, _INDENT)
            yield from _next(state, name, found, surface, is_moved=is_moved)


def running(features: Features, surface: Surface) -> Iterator[str]:
    """Features that somebody is working on."""
    some = _in_state(features, "running")
    if some:
        yield ""
        yield surface.ink.bold("Running:")
    for name, found in some.items():
        owner = found["owner"]
        held = f"held by pid {owner['pid']}" if owner["state"] == "alive" else "held on another host"
        yield f"  {surface.ink.green(printable(name))}"
        yield from wrapped(f"run {printable(owner['sid'])}, {held}; {_tasks(found)}", surface.width, _INDENT)
        for line in _problems(found):
            yield from wrapped(line, surface.width, _INDENT)
        yield f"{_INDENT}watch it: {surface.ink.cyan(f'rekindle attach {quoted(name)}')}"


def others(features: Features) -> Iterator[str]:
    """Features that need nothing, counted by how they ended."""
    states = [state_of(found) for found in features.values()]
    told = [f"{states.count(word)} {word}" for word in ("completed", "stopped", "ended", "empty") if states.count(word)]
    if told:
        number = sum(states.count(word) for word in ("completed", "stopped", "ended", "empty"))
        yield ""
        yield f"{counted(number, 'feature')} at rest: {', '.join(told)} (rekindle features lists all)."
    has_failures = any(found.get("tasks", {}).get("FAILED") for found in _in_state(features, "running").values())
    if states and not has_failures and not {"interrupted", "failed", "unreadable"} & set(states):
        yield ""
        yield "No feature is interrupted, and none has failed."


def rows(features: Features, surface: Surface) -> Iterator[str]:
    """Every feature on a line: its state, how far it has come, when something last happened, and what to type."""
    if not features:
        return
    states = {name: state_of(found) for name, found in features.items()}
    told = {
        name: {
            "FEATURE": printable(name),
            "STATE": states[name],
            "TASKS": _progress(found) if "error" not in found else "",
            "LAST EVENT": ago(found.get("last_ts"), surface.now) if found.get("last_ts") else "",
        }
        for name, found in features.items()
    }
    widths = {
        column: max(cells(column), *(cells(one[column]) for one in told.values()))
        for column in ("FEATURE", "STATE", "TASKS", "LAST EVENT")
    }
    if surface.width is not None:
        over = sum(widths.values()) + len(_GAP) * (len(widths) - 1) - surface.width
        if over > 0:
            widths["FEATURE"] = max(widths["FEATURE"] - over, 12)
    yield surface.ink.bold(_GAP.join(padded(name, width) for name, width in widths.items()).rstrip())
    for name, one in told.items():
        paint = _colour(surface.ink, states[name])
        parts = []
        for column, width in widths.items():
            text = fitted(one[column], width)
            blank = padded(text, width)[len(text) :]
            parts.append((paint(text) if column == "STATE" else text) + blank)
        yield _GAP.join(parts).rstrip()


def ago(ts: str | None, now: float) -> str:
    """A journal's time as a distance from now."""
    if ts is None:
        return "at an unknown time"
    from datetime import datetime

    try:
        seconds = now - datetime.fromisoformat(ts).timestamp()
    except (ValueError, OverflowError):
        return f"at {printable(ts)}"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), unit)} ago"
    return "less than a minute ago" if seconds >= 0 else f"at {printable(ts)} (in the future)"


def _in_state(features: Features, state: str) -> Features:
    return {name: found for name, found in features.items() if state_of(found) == state}


def _colour(ink: Ink, state: str) -> Callable[[str], str]:
    if state in ("failed", "interrupted", "unreadable"):
        return ink.red
    return {"running": ink.green, "completed": ink.green, "empty": ink.faint}.get(state, str)


def _reasons(state: str, found: Summary, now: float) -> Iterator[str]:
    match state:
        case "unreadable":
            yield printable(found["error"])
        case "failed":
            end = "ended with an error" if found["end_reason"] == "error" else "ended with failed tasks"
            yield f"run {printable(str(found['sid']))} {end}, {ago(found['last_ts'], now)}"
            yield _tasks(found)
            yield from _problems(found)
        case _:
            yield from _cut(found, now)


def _problems(found: Summary) -> Iterator[str]:
    """What went wrong, in the reporter's words. Unknown for a summary that an earlier version kept."""
    problems = found.get("problems") or []
    for task, message in problems:
        about = f"task {printable(task)}: " if task else ""
        yield f"{about}{printable(message) or 'failed, without a reason'}"
    if found["issues"] > len(problems) > 0:
        yield f"and {counted(found['issues'] - len(problems), 'more issue')}"
    if not problems and found.get("end_message"):
        yield printable(found["end_message"])


def _next(state: str, name: str, found: Summary, surface: Surface, *, is_moved: bool) -> Iterator[str]:
    word, ink = quoted(name), surface.ink
    if state == "unreadable":
        yield _INDENT + next_step("rekindle doctor", ink)
    elif found.get("is_foreign") and not is_moved:
        foreign = "this journal was not written by your rekindle here: resuming shows what it would run, and asks"
        yield from wrapped(foreign, surface.width, _INDENT)
        yield _INDENT + next_step(f"rekindle resume {word} --explain", ink)
    elif state == "interrupted" and not _can_go_on(found):
        yield _INDENT + next_step(f"rekindle analyze {word}", ink)
    else:
        look = f"rekindle resume {word} --explain" if state == "failed" else f"rekindle analyze {word}"
        yield _INDENT + next_step(f"rekindle resume {word}", ink)
        yield f"{_INDENT}(first look: {look})"


def _can_go_on(found: Summary) -> bool:
    """Whether a resume would have anything to work on. Unknown for a summary that an earlier version kept."""
    return bool(found["case"] != "A" or found.get("has_plan", True))


def _cut(found: Summary, now: float) -> Iterator[str]:
    yield f"run {printable(str(found['sid']))} never ended; last event {ago(found['last_ts'], now)}"
    if found["tasks"]:
        agents = found["active_agents"]
        yield _tasks(found) + (f"; at work: {', '.join(map(printable, agents))}" if agents else "")
    restart = found["restart_tasks"]
    word = "task" if len(restart) == 1 else "tasks"
    again = f" and goes on with {word} {', '.join(map(printable, restart))}" if restart else ""
    match found["case"]:
        case "A":
            step = printable(str(found["next_step"] or "the step after the checkpoint"))
            label = printable(found["checkpoint"] or "")
            asks = "" if found["is_foreign"] else "; no input needed"
            if _can_go_on(found):
                yield f'resuming continues at {step} (checkpoint "{label}"){again}{asks}'
            else:
                yield f'next step: {step} (checkpoint "{label}"); no plan: continue by hand, with rekindle track'
        case "B":
            yield from _problems(found)
            yield f"{counted(found['issues'], 'issue')} after the checkpoint: resuming asks how to continue"
        case _:
            yield "no checkpoint was reached: resuming asks whether to start over"
    older = len(found["interrupted_sids"]) - 1
    if older:
        yield f"{counted(older, 'older run')} of it never ended either"
    if found["malformed"]:
        yield f"{counted(found['malformed'], 'line')} of its journal could not be read"


def _tasks(found: Summary) -> str:
    """How many tasks are in which state: `3 of 5 tasks done, 1 failed`."""
    tasks = found["tasks"]
    if not tasks:
        return "no tasks"
    rest = [f"{number} {word.lower().replace('_', ' ')}" for word, number in tasks.items() if word != _DONE]
    return ", ".join([f"{_progress(found)} done", *rest])


def _progress(found: Summary) -> str:
    number = sum(found["tasks"].values())
    return f"{found['tasks'].get(_DONE, 0)} of {counted(number, 'task')}" if number else ""
