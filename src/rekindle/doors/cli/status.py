"""`rekindle` with no arguments: what is interrupted here, and what a resume would do.

It runs as often as `git status`, so it imports nothing that it does not need: no option parser, no typing.
"""

from __future__ import annotations

import os
import sys

from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import NoRepository

#: The words for sessions that a list may leave out; see rekindle.core.session.listing.
OVER = ("completed", "cancelled")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from rekindle.app.status import StatusReport
    from rekindle.ports.glance import Summary


def show_status() -> None:
    """Print the status of the repository around the current folder, and of the user's sessions."""
    import time

    status = use_cases().status().status()
    if status.unasked:
        print(f"rekindle: {status.unasked}", file=sys.stderr)
    if not status.in_repository and not status.sessions:
        raise no_repository()
    if status.in_repository:
        for line in lines(status, time.time(), _moved(status)):
            print(line)
    for line in session_lines(status.apart(), time.time()):
        print(line)


def no_repository() -> NoRepository:
    """What is said where there is no repository to tell of."""
    where = os.getcwd()
    return NoRepository(f"{where} is not in a git repository", "run `git init`, or go to the project's folder")


def session_lines(sessions: list[dict[str, Any]], now: float) -> Iterator[str]:
    """The sessions that somebody has to know of. None that is not over is missing: it has a line, or is counted."""
    needy = [one for one in sessions if one["needs_you"]]
    cut = [one for one in sessions if one["status"] in ("interrupted", "dead", "queued") and not one["needs_you"]]
    paused = [one for one in sessions if one["why"] and one["status"] not in OVER and one not in [*needy, *cut]]
    named = [*needy, *cut, *paused]
    alive = [one for one in sessions if one["is_running"] and one not in named]
    asleep = [one for one in sessions if one["status"] == "asleep" and one not in named]
    for title, some in (
        ("Sessions that need you (in any folder):", needy),
        ("Sessions without their agent (in any folder):", cut),
        ("Sessions that are paused (in any folder):", paused),
    ):
        if some:
            yield ""
            yield title
        for one in some:
            yield f"  {one['id']}  {one['status']:<12} {one['agent']:<10} {printable(one['title'])[:60]}"
            for line in needs(one, now):
                yield f"              {line}"
    if any(one["needs_resume"] for one in [*needy, *cut]):
        yield "      next: rekindle resume --all   (or one of them: rekindle resume ID)"
    if asleep:
        yield ""
        yield f"{_count(len(asleep), 'session')} asleep (rekindle ps lists them)."
    if alive:
        yield ""
        yield f"{_count(len(alive), 'session')} with a live agent (rekindle ps lists them)."


def needs(session: dict[str, Any], now: float) -> Iterator[str]:
    """What there is to say about a session in a list: why it stands where it stands, and what to type."""
    until = session.get("waits_until")
    when = f"; continues by itself in {duration(until - now)}" if until is not None and until > now else ""
    if session["why"] or when:
        yield f"{printable(session['why'])[:300]}{when}".removeprefix("; ")
    if session["needs_you"] and session["next"]:
        yield f"next: {session['next']}"


def duration(seconds: float) -> str:
    """A span of time in its largest units."""
    minutes, left = divmod(max(1, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (left if not hours else 0, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def _moved(status: StatusReport) -> str:
    """What to say of a repository that was moved: its journals are not known here until a resume has followed it."""
    if not any(found.get("is_foreign") for found in status.features.values()):
        return ""
    found = use_cases().moved().moved()
    return found.next if found is not None else ""


def lines(status: StatusReport, now: float, moved: str = "") -> Iterator[str]:
    """The status as a person reads it. `moved` is what there is to say of a repository that was moved."""
    bold = _style("1") if sys.stdout.isatty() else str
    red = _style("31") if sys.stdout.isatty() else str
    features = status.features
    branch = status.branch
    if branch:
        about = f" (feature {status.feature})" if status.feature else ""
        yield f"On branch {printable(branch)}{about}"
    else:
        yield "No branch is checked out here"
    unreadable = {name: found["error"] for name, found in features.items() if "error" in found}
    interrupted = {name: found for name, found in features.items() if found.get("interrupted_sids")}
    running = {name: found for name, found in features.items() if "owner" in found}
    others = {name: found for name, found in features.items() if name not in {*interrupted, *running, *unreadable}}
    if not features:
        yield ""
        yield "No feature has a journal yet."
        yield "  (work a plan: rekindle run --plan FILE; or, on a branch feature/NAME: rekindle track session.start)"
        return
    if moved:
        yield ""
        yield printable(moved)
    if interrupted:
        yield ""
        yield bold("Interrupted:")
        for name, found in interrupted.items():
            yield f"  {red(printable(name))}"
            for line in _details(found, now):
                yield f"      {line}"
            if found["is_foreign"] and not moved:
                yield "      your rekindle did not write this journal here: resuming shows what it would run, and asks"
                yield f"      next: rekindle resume {quoted(name)} --explain"
                continue
            if not _can_go_on(found):
                yield f"      next: rekindle analyze {quoted(name)}"
                continue
            yield f"      next: rekindle resume {quoted(name)}   (first look: rekindle analyze {quoted(name)})"
    if running:
        yield ""
        yield bold("Running:")
        for name, found in running.items():
            owner = found["owner"]
            held = f"held by pid {owner['pid']}" if owner["state"] == "alive" else "held on another host"
            yield f"  {printable(name)}  run {printable(owner['sid'])}, {held}"
    if unreadable:
        yield ""
        yield bold("Unreadable:")
        for name, problem in unreadable.items():
            yield f"  {red(printable(name))}  {printable(problem)}"
    yield from _ended(others, now)
    if not interrupted:
        yield ""
        yield "No feature is interrupted."


def _ended(features: dict[str, Summary], now: float) -> Iterator[str]:
    """The features that nobody is at. A run that ended with an error can be resumed."""
    bold = _style("1") if sys.stdout.isatty() else str
    red = _style("31") if sys.stdout.isatty() else str
    failed = {name: found for name, found in features.items() if found["end_reason"] == "error"}
    if failed:
        yield ""
        yield bold("Ended with an error:")
        for name, found in failed.items():
            yield f"  {red(printable(name))}  run {printable(str(found['sid']))}, {ago(found['last_ts'], now)}"
            yield f"      next: rekindle resume {quoted(name)}   (first look: rekindle resume {quoted(name)} --explain)"
    if len(features) > len(failed):
        yield ""
        yield f"{_count(len(features) - len(failed), 'feature')} ended or empty (rekindle features lists all)."


def _can_go_on(found: Summary) -> bool:
    """Whether there is anything that a resume could work. A summary that an earlier version kept does not say."""
    return bool(found["case"] != "A" or found.get("has_plan", True))


def _details(found: Summary, now: float) -> Iterator[str]:
    when = ago(found["last_ts"], now)
    yield f"run {printable(str(found['sid']))} never ended; last event {when}"
    tasks = found["tasks"]
    if tasks:
        said = ", ".join(f"{number} {word.lower().replace('_', ' ')}" for word, number in tasks.items())
        agents = found["active_agents"]
        work = f"; at work: {', '.join(map(printable, agents))}" if agents else ""
        yield f"tasks: {said}{work}"
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
                yield f'next step: {step} (checkpoint "{label}"); there is no plan: go on by hand, with rekindle track'
        case "B":
            yield f"{_count(found['issues'], 'issue')} after the checkpoint: resuming asks how to continue"
        case _:
            yield "no checkpoint was reached: resuming asks whether to start over"
    older = len(found["interrupted_sids"]) - 1
    if older:
        yield f"{_count(older, 'older run')} of it never ended either"
    if found["malformed"]:
        yield f"{_count(found['malformed'], 'line')} of its journal could not be read"


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
            return f"{_count(int(seconds // size), unit)} ago"
    return "less than a minute ago" if seconds >= 0 else f"at {printable(ts)} (in the future)"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _style(code: str) -> Callable[[str], str]:
    return lambda text: f"\x1b[{code}m{text}\x1b[0m"
