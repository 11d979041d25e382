"""`rekindle` with no arguments: what is interrupted here, and what a resume would do.

It runs as often as `git status`, so it reads no journal that it has seen before and imports nothing that it does not
need: no option parser, no msgspec while its cache holds.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from rekindle.adapters import repository, run_owner
from rekindle.cli.outcome import printable
from rekindle.ports.errors import NoRepository
from rekindle.settings import Settings, load

if TYPE_CHECKING:
    from collections.abc import Iterator

Summary = dict[str, Any]


def show_status() -> None:
    """Print the status of the repository around the current folder."""
    import time

    here = os.getcwd()
    repo = repository.find(here)
    if repo is None:
        raise NoRepository(f"{here} is not in a git repository", "run `git init`, or go to the project's folder")
    status = collect(repo, load(os.environ, repo.root))
    for line in lines(status, time.time()):
        print(line)


def collect(repo: repository.Repository, settings: Settings) -> dict[str, Any]:
    """The status as data: every feature with its summary, and who holds it."""
    folder = repo.progress_folder(settings.progress_dir)
    features = {}
    for name, found in summaries(folder, settings).items():
        holder = run_owner.owner(f"{folder}/{name}") if found["interrupted_sids"] else None
        if holder is not None:
            found = _analysed_again(folder, name, settings, holder.sid)
            found["owner"] = {"sid": holder.sid, "pid": holder.pid, "state": holder.verdict}
        features[name] = found
    return {"branch": repo.branch, "feature": repo.feature, "progress": folder, "features": features}


def summaries(folder: str, settings: Settings) -> dict[str, Summary]:
    """The summary of every feature; only journals that changed are read."""
    import json
    import zlib

    cache = os.path.join(settings.cache_dir, "journals", f"{zlib.crc32(os.fsencode(folder)):08x}.status")
    try:
        with open(cache, "rb") as file:
            known = json.loads(file.read())
        known = known["features"] if known["folder"] == folder and known["v"] == 1 else {}
    except (OSError, ValueError, KeyError, TypeError):
        known = {}
    kept: dict[str, list[Any]] = {}
    for name, stamp in _journals(folder):
        old = known.get(name)
        if isinstance(old, list) and len(old) == 2 and old[0] == stamp:
            kept[name] = old
        else:
            kept[name] = [stamp, _analysed_again(folder, name, settings, None)]
    if kept != known:
        _store(cache, json.dumps({"v": 1, "folder": folder, "features": kept}))
    return {name: found for name, (_, found) in kept.items()}


def _journals(folder: str) -> Iterator[tuple[str, list[int]]]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        try:
            status = os.stat(f"{folder}/{name}/events.jsonl")
        except OSError:
            continue
        yield name, [status.st_size, status.st_mtime_ns, status.st_ino]


def _analysed_again(folder: str, name: str, settings: Settings, owned: str | None) -> Summary:
    from pathlib import Path

    from rekindle.adapters.journal_file.read import read_state
    from rekindle.adapters.journal_file.snapshot import SnapshotCache
    from rekindle.core.journal.analysis import analyse
    from rekindle.core.journal.summary import summary

    state = read_state(Path(folder, name, "events.jsonl"), SnapshotCache(Path(settings.cache_dir, "journals")))
    return summary(analyse(state, owned=frozenset({owned} if owned else ())))


def _store(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except (OSError, UnicodeEncodeError):
        try:
            os.unlink(temporary)
        except OSError:
            pass


def lines(status: dict[str, Any], now: float) -> Iterator[str]:
    """The status as a person reads it."""
    bold = _style("1") if sys.stdout.isatty() else str
    red = _style("31") if sys.stdout.isatty() else str
    features: dict[str, Summary] = status["features"]
    branch = status["branch"]
    if branch:
        about = f" (feature {status['feature']})" if status["feature"] else ""
        yield f"On branch {printable(branch)}{about}"
    else:
        yield "No branch is checked out here"
    interrupted = {name: found for name, found in features.items() if found["interrupted_sids"]}
    running = {name: found for name, found in features.items() if "owner" in found}
    if not features:
        yield ""
        yield "No feature has a journal yet."
        yield '  (begin one on a branch feature/NAME: rekindle track session.start "what it is about")'
        return
    if interrupted:
        yield ""
        yield bold("Interrupted:")
        for name, found in interrupted.items():
            yield f"  {red(printable(name))}"
            for line in _details(found, now):
                yield f"      {line}"
            yield f"      next: rekindle analyze {printable(name)}"
    if running:
        yield ""
        yield bold("Running:")
        for name, found in running.items():
            owner = found["owner"]
            held = f"held by pid {owner['pid']}" if owner["state"] == "alive" else "held on another host"
            yield f"  {printable(name)}  run {printable(owner['sid'])}, {held}"
    done = [name for name in features if name not in interrupted and name not in running]
    if done:
        yield ""
        yield f"{len(done)} feature{'s' if len(done) > 1 else ''} with nothing to resume (rekindle features lists all)."
    if not interrupted:
        yield ""
        yield "Nothing is interrupted."


def _details(found: Summary, now: float) -> Iterator[str]:
    when = ago(found["last_ts"], now)
    yield f"run {printable(str(found['sid']))} never ended; its last word is {when}"
    tasks = found["tasks"]
    if tasks:
        said = ", ".join(f"{number} {word.lower().replace('_', ' ')}" for word, number in tasks.items())
        agents = found["active_agents"]
        work = f"; at work: {', '.join(map(printable, agents))}" if agents else ""
        yield f"tasks: {said}{work}"
    restart = found["restart_tasks"]
    again = f" and starts again: {', '.join(map(printable, restart))}" if restart else ""
    match found["case"]:
        case "A":
            step = printable(found["next_step"] or "the step after the checkpoint")
            yield f'a resume goes on by itself at {step} (checkpoint "{printable(found["checkpoint"] or "")}"){again}'
        case "B":
            yield f"{_count(found['issues'], 'issue')} after the checkpoint: a resume asks how to go on"
        case _:
            yield "no checkpoint was reached: a resume asks whether to start over"
    older = len(found["interrupted_sids"]) - 1
    if older:
        yield f"{_count(older, 'older run')} of it never ended either"
    if found["malformed"]:
        yield f"{_count(found['malformed'], 'line')} of its journal could not be read"


def ago(ts: str | None, now: float) -> str:
    """A journal's time as a distance from now."""
    if ts is None:
        return "of an unknown time"
    from datetime import datetime

    try:
        seconds = now - datetime.fromisoformat(ts).timestamp()
    except (ValueError, OverflowError):
        return f"of {printable(ts)}"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{_count(int(seconds // size), unit)} old"
    return "less than a minute old" if seconds >= 0 else f"of {printable(ts)} (in the future)"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _style(code: str) -> Any:
    return lambda text: f"\x1b[{code}m{text}\x1b[0m"
