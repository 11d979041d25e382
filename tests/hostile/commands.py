"""What a user may type in a repository from elsewhere, and what an agent's hooks start there. None says yes to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.e2e.starter import starter
from tests.hostile.stage import Scene, Stage

#: No command may hang: a user waits no longer than this, on a busy machine.
SECONDS = 60


@dataclass(frozen=True)
class Command:
    """One call. `{feature}` in the words and `{cwd}` in the input are filled in."""

    words: tuple[str, ...]
    stdin: str = ""
    program: str = "rekindle"


def _hook(event: str, **more: object) -> Command:
    call = {"hook_event_name": event, "session_id": "s-1", "cwd": "{cwd}", **more}
    return Command((), json.dumps(call), "rekindle-hook")


COMMANDS = (
    Command(()),
    Command(("features",)),
    Command(("history",)),
    Command(("analyze", "{feature}")),
    Command(("doctor",)),
    _hook("SessionStart", source="startup"),
    _hook("PostToolUse", tool_name="Bash", tool_input={"command": "git merge x"}, tool_response={}),
    _hook("PostToolUse", tool_name="Write", tool_input={"file_path": "{cwd}/a.txt"}, tool_response={}),
    _hook("Stop"),
    Command(("track", "warning", "x", "--feature", "{feature}")),
    Command(("track", "session.start", "--feature", "another")),
    Command(("checkpoint", "c", "--next", "n", "--feature", "another")),
    Command(("resume", "{feature}", "--explain")),
    Command(("resume", "--all")),
    Command(("resume", "{feature}")),
    Command(("resume", "{feature}", "--choose", "A")),
    Command(("hooks", "install")),
    Command(("hooks", "uninstall")),
)
#: Each starts an agent there.
RUNS = (
    Command(("run", "--agent", "scripted", "say hello")),
    Command(("run", "--agent", "scripted", "--worktree=w", "say hello")),
)


def type_all(stage: Stage, scene: Scene, run: Command) -> Iterator[str]:
    """Type every command, one after the other, and then `run`; yields what is wrong with how one of them ended."""
    for command in (*COMMANDS, run):
        shown = " ".join((command.program, *command.words))
        try:
            done = type_one(stage, scene, command)
        except subprocess.TimeoutExpired:
            yield f"{shown}: hangs"
            return
        if "Traceback" in done.stderr or "errors.log" in done.stderr:
            yield f"{shown}: {done.stderr}"
        if done.returncode not in (0, 1, 2, 3, 4):
            yield f"{shown}: exit status {done.returncode}"
    if type_one(stage, scene, Command(("stop", "{feature}"))).returncode == 0:
        yield f"a run of {scene.feature} was under way"


def type_one(stage: Stage, scene: Scene, command: Command) -> subprocess.CompletedProcess[str]:
    """Type one command. Raises TimeoutExpired."""
    return starter().run(
        command.program,
        [word.replace("{feature}", scene.feature) for word in command.words],
        cwd=scene.cwd,
        env=stage.machine.environment(**scene.env),
        stdin=command.stdin.replace("{cwd}", str(scene.cwd)),
        seconds=SECONDS,
    )
