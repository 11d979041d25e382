"""Measures what skill sessions cost in an agent's hooks: what a fresh conversation is given, and the heartbeat.

The unit is `python -c pass`, as for the other hook calls. The hook runs for this process, which holds the session.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from time import sleep

from bench.measured import Disagreement, Measured, in_turn
from bench.stage import ROOT, Stage
from bench.starting import ALONE, PASS, SERVED, hooked, script, spawn, with_hook_door

#: So many skill sessions are in the repository; one of them has left something.
_SESSIONS = 20
#: They are not of this very moment: a daemon looks twice at a file that has changed within the last two seconds.
_OLD = 2.1
_HEADING = "## Session Recovery (Dehydrated Context)"


def start(stage: Stage) -> Measured:
    """The start of a conversation that is given what its skill session left."""
    return _start(stage, "recovered", stage.environment, ALONE)


def start_with_daemon(stage: Stage) -> Measured:
    """The same while a daemon runs."""
    with with_hook_door(stage) as environment:
        return _start(stage, "served-recovered", environment, SERVED)


def beat(stage: Stage) -> Measured:
    """A finished tool call of an agent that holds a skill session."""
    return _beat(stage, "beaten", stage.environment, ALONE)


def beat_with_daemon(stage: Stage) -> Measured:
    """The same while a daemon runs."""
    with with_hook_door(stage) as environment:
        return _beat(stage, "served-beaten", environment, SERVED)


def _start(stage: Stage, name: str, environment: Mapping[str, str], words: Sequence[str]) -> Measured:
    work, session = _session(stage, name, environment)
    left = {"summary": "The pool leaks. " * 100, "lastAction": "read pool.py", "nextSteps": ["fix it", "test it"]}
    _rekindle(environment, work, "session", "dehydrate", str(session), given=json.dumps(left))
    state = json.loads((session / ".state.json").read_bytes())
    for number in range(_SESSIONS - 1):
        other = work / "sessions" / f"earlier-{number}"
        other.mkdir()
        (other / ".state.json").write_text(json.dumps({**state, "dehydratedContext": None, "pid": None}, indent=2))
    sleep(_OLD)
    call = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "bench", "cwd": str(work)}
    measured, told = _called(stage, work, environment, call, words)
    if _HEADING not in told:
        raise Disagreement("the hook did not give what was left")
    return replace(measured, facts={"skill_sessions": _SESSIONS, "characters": len(told)})


def _beat(stage: Stage, name: str, environment: Mapping[str, str], words: Sequence[str]) -> Measured:
    work, session = _session(stage, name, environment)
    file = session / ".state.json"
    state = json.loads(file.read_bytes())
    file.write_text(json.dumps({**state, "rules": {**state["rules"], "warn": 0, "block": 0}}))
    call = {
        "hook_event_name": "PostToolUse",
        "session_id": "bench",
        "cwd": str(work),
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "ok\n" * 100, "stderr": ""},
    }
    measured, _ = _called(stage, work, environment, call, words)
    counted = json.loads(file.read_bytes())["toolCallsSinceLastLog"]
    if counted != stage.sizes.starts + 1:
        raise Disagreement(f"{stage.sizes.starts + 1} tool calls were counted as {counted}")
    return measured


def _session(stage: Stage, name: str, environment: Mapping[str, str]) -> tuple[Path, Path]:
    """A repository with a skill session that this process holds."""
    work = stage.repository(name, "main")
    shutil.copytree(ROOT / "docs" / "skills" / "report", work / ".claude" / "skills" / "report")
    session, mine = work / "sessions" / "login", ("--pid", str(os.getpid()))
    _rekindle(environment, work, "session", "activate", str(session), "report", *mine)
    _rekindle(environment, work, "session", "continue", str(session), *mine)
    return work, session


def _called(
    stage: Stage, work: Path, environment: Mapping[str, str], call: Mapping[str, object], words: Sequence[str]
) -> tuple[Measured, str]:
    given = stage.folder / f"{work.name}.json"
    given.write_text(json.dumps(call), "utf-8")
    with chdir(work):
        with given.open() as standard:
            program = (script(words[0]),)
            told = subprocess.run(program, stdin=standard, env=environment, stdout=subprocess.PIPE, check=True).stdout
        measured = in_turn(
            stage.sizes.starts, lambda: spawn(PASS, environment), lambda: hooked(words, environment, given)
        )
    return measured, told.decode()


def _rekindle(environment: Mapping[str, str], work: Path, *words: str, given: str = "") -> None:
    subprocess.run(
        [script("rekindle"), *words],
        cwd=work,
        env=environment,
        input=given,
        text=True,
        stdout=subprocess.DEVNULL,
        check=True,
    )
