"""Measures what a call costs that does next to nothing: the hook client and the command line, as installed.

The unit is `python -c pass` with the same interpreter. Programs are spawned without a shell, and timed from the spawn
to their exit.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter, sleep

from bench import journals
from bench.measured import Disagreement, Measured, Skipped, in_turn
from bench.stage import Stage
from rekindle.places import Places
from rekindle.settings import load

_FEATURE = "auth-system"
_SESSION = "5b1f0c9e-6a0f-4b52-9d11-6d1f2f6a7c10"
PASS = (sys.executable, "-c", "pass")
#: What the installed command puts in the place of the agent's shell: without a daemon, and with one.
ALONE, SERVED = ("rekindle-hook",), ("rekindle-hook-direct", "LC_ALL=C")


def hook(stage: Stage) -> Measured:
    """A PostToolUse call for an edit: two events appended to a journal that is there already."""
    return _hook(stage, "hooked", stage.environment, ALONE)


def _hook(stage: Stage, name: str, environment: Mapping[str, str], words: Sequence[str]) -> Measured:
    repository = stage.repository(name, f"feature/{_FEATURE}")
    events = repository / ".claude" / "progress" / _FEATURE / "events.jsonl"
    journals.write(events, journals.Shape(_FEATURE, 2_000, interrupted=False))
    common = {"session_id": _SESSION, "transcript_path": str(stage.folder / "none.jsonl"), "cwd": str(repository)}
    start = _input(stage, "start.json", {**common, "hook_event_name": "SessionStart", "source": "startup"})
    edited = repository / "src" / "api" / "service.ts"
    call = {
        **common,
        "permission_mode": "acceptEdits",
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_input": {
            "file_path": str(edited),
            "old_string": "const limit = 10;\n" * 10,
            "new_string": "const limit = 20;\n" * 10,
            "replace_all": False,
        },
        "tool_response": {"filePath": str(edited), "originalFile": "const limit = 10;\n" * 100, "userModified": False},
        "tool_use_id": "toolu_01ABCDEFGHIJKLMNOPQRSTUV",
    }
    given = _input(stage, "call.json", call)
    with chdir(repository):
        hooked(words, environment, start)
        hooked(words, environment, given)
        before = _lines(events)
        measured = in_turn(
            stage.sizes.starts, lambda: spawn(PASS, environment), lambda: hooked(words, environment, given)
        )
    written = _lines(events) - before
    if written != 2 * stage.sizes.starts:
        raise Disagreement(f"{stage.sizes.starts} hook calls wrote {written} lines instead of two each")
    return replace(measured, facts={"lines_of_the_journal": before})


def hook_with_daemon(stage: Stage) -> Measured:
    """The same call while a daemon runs, which carries it out: the hook starts no interpreter."""
    with with_hook_door(stage) as environment:
        measured = _hook(stage, "served-hook", environment, SERVED)
    events = stage.folder / "served-hook" / ".claude" / "progress" / _FEATURE / "events.jsonl"
    calls = events.read_bytes().count(b'"call":"')
    if calls < 2 * stage.sizes.starts:
        raise Disagreement(f"the daemon wrote only {calls} events")
    return measured


@contextmanager
def with_hook_door(stage: Stage) -> Iterator[Mapping[str, str]]:
    """A daemon that hooks can call, and the environment in which they find it."""
    from bench.served import home_environment, served

    if shutil.which("perl") is None:
        raise Skipped("perl is not installed")
    environment = home_environment(stage, str(stage.folder / "home"))
    door, waited = Places(load(environment, None)).hook_name, 0.0
    with served(stage):
        while not os.path.exists(door):
            if (waited := waited + 0.05) > 10:
                raise Skipped("this machine's perl cannot call the daemon")
            sleep(0.05)
        yield environment


def hooked(words: Sequence[str], environment: Mapping[str, str], given: Path) -> float:
    """How long a hook takes, with what the installed command sets for it."""
    program, *settings = words
    return spawn((script(program),), {**environment, **dict(one.split("=") for one in settings)}, given)


def version(stage: Stage) -> Measured:
    """`rekindle --version`."""
    program = (script("rekindle"), "--version")
    return in_turn(
        stage.sizes.starts, lambda: spawn(PASS, stage.environment), lambda: spawn(program, stage.environment)
    )


def status(stage: Stage) -> Measured:
    """Bare `rekindle` in a repository that it has seen before."""
    repository = stage.repository("few", f"feature/{_FEATURE}")
    progress = repository / ".claude" / "progress"
    for name, interrupted in ((_FEATURE, True), ("payment-flow", False), ("user-dashboard", True)):
        journals.write(progress / name / "events.jsonl", journals.Shape(name, 2_000, interrupted=interrupted))
    program = (script("rekindle"),)
    with chdir(repository):
        first = spawn(program, stage.environment)
        measured = in_turn(
            stage.sizes.starts, lambda: spawn(PASS, stage.environment), lambda: spawn(program, stage.environment)
        )
    return replace(measured, facts={"features": 3, "first_call_ms": round(first * 1000, 1)})


def ps(stage: Stage) -> Measured:
    """`rekindle ps` without a daemon."""
    from bench import sessions

    home = {"HOME": sessions.idle_home(stage, 100)}
    environment = {name: value for name, value in stage.environment.items() if not name.startswith("XDG")} | home
    program = (script("rekindle"), "ps")
    return in_turn(stage.sizes.starts, lambda: spawn(PASS, environment), lambda: spawn(program, environment))


def script(name: str) -> str:
    """The console script beside the interpreter that runs this."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is not installed beside the interpreter: run `make setup`")
    return str(path)


def _input(stage: Stage, name: str, call: Mapping[str, object]) -> Path:
    path = stage.folder / name
    path.write_text(json.dumps(call), "utf-8")
    return path


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def spawn(command: tuple[str, ...], environment: Mapping[str, str], given: Path | None = None) -> float:
    """Seconds from spawn to exit. Output goes nowhere; a failure is an error."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(given or os.devnull), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    begun = perf_counter()
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, code = os.waitpid(pid, 0)
    spent = perf_counter() - begun
    if code != 0:
        raise Disagreement(f"{Path(command[0]).name} exited with status {os.waitstatus_to_exitcode(code)}")
    return spent
