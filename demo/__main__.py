"""`make demo`: a night in fast motion. A plan and a job; a limit, a question, a killed agent, a machine that goes down.

Everything happens in a temporary folder with a HOME of its own, and is removed at the end. `--record FILE` also writes
what was shown as an animated SVG.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from demo import skill_scene
from demo.recording import Line, Style, svg
from rekindle.adapters.boot import due_check
from rekindle.keeper import launch
from rekindle.places import Places
from rekindle.settings import load

BIN = Path(sys.executable).parent
PLAN, NIGHT = Path(__file__).with_name("plan.toml"), Path(__file__).with_name("night.toml")
FEATURE = "checkout"


def main() -> int:
    """Run the demonstration; 0 if it showed what it promises."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="Agents are killed, and finish their work.")
    parser.add_argument("--record", type=Path, metavar="FILE", help="also write what was shown as an animated SVG")
    record: Path | None = parser.parse_args().record
    with tempfile.TemporaryDirectory(prefix="rekindle-demo-") as folder:
        stage = Stage(Path(folder))
        try:
            status = stage.play()
        finally:
            stage.clean_up()
    if record is not None and status == 0:
        record.write_text(svg(stage.shown))
    return status


class Stage:
    """A scratch repository, and the commands as a user would type them."""

    def __init__(self, folder: Path) -> None:
        self.repository = folder / "shop"
        self.home = folder / "home"
        self.repository.mkdir()
        self.home.mkdir()
        self.environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
        }
        self.places = Places(load(self.environment, None))
        self.shown: list[Line] = []

    def play(self) -> int:
        """The whole night."""
        self._say(
            "Evening. A scratch repository, a plan of five tasks in three waves, and a job with rules for the night:"
        )
        self._show("git", "init", "--quiet", "--initial-branch", "main")
        self._show("git", "-c", "user.name=you", "-c", "user.email=you@example.invalid", *_FIRST_COMMIT)
        for file in (PLAN, NIGHT):
            (self.repository.parent / file.name).write_bytes(file.read_bytes())
        job = self._show(
            "rekindle", "job", "submit", "--runbook", "../night.toml", "--title", "Upgrade the parser", "parser"
        ).strip()
        self._say("Its agent asks (a rule answers), and its service has a limit (it waits until that ends):")
        _until(lambda: any(one["waits_until"] for one in self._sessions()))
        self._show("rekindle", "ps")
        _until(lambda: "thinking9" in self._quietly("job", "logs", job))
        self._kill_agent()
        self._say("It has gone on by itself. Then its agent gets SIGKILL, and is brought back:")
        _until(lambda: "building9" in self._quietly("job", "logs", job))
        self._show("rekindle", "job", "show", job)
        self._say("Meanwhile each task of the plan is given to an agent of its own, in a worktree of its own:")
        running = self._run_until_wave_two()
        killed = self._kill_everything()
        self._say(
            f"… and then the machine goes down: SIGKILL for the daemon, the keepers, the agents ({killed} processes)."
        )
        running.communicate()
        self._say("It comes up again, and starts rekindle with it (rekindle boot install). Nobody types anything:")
        self._boot()
        _until(lambda: "done" in self._quietly("job", "show", job).splitlines()[0])
        done = self._show("rekindle", "job", "show", job)
        self._say("Morning. You ask what is left, and have the plan go on:")
        status = self._show("rekindle")
        resumed = self._show("rekindle", "resume", FEATURE)
        self._say("What came of it, and what proves it:")
        history = self._show("git", "log", "--graph", "--format=%s", f"feature/{FEATURE}")
        report = self._show("rekindle", "report", most=36)
        merges = [line for line in history.splitlines() if "Merge task" in line]
        good = (
            f"rekindle resume {FEATURE}" in status
            and "same (the agent's own record" in resumed
            and "completed, 5 of 5 tasks merged" in resumed
            and len(merges) == 5
            and "resumed 2 times" in done
            and "same" in done
            and "Cut off and resumed" in report
            and (self.repository / "parser.py").exists()
        )
        self._say(
            "The job ended once; each task is merged once, in order; all agents went on in the same conversation."
            if good
            else "That is not what this demonstration should show: please report it."
        )
        if not skill_scene.play(self.repository, self._say, self._show):
            self._say("The skill session did not go on as it should: please report it.")
            return 1
        return 0 if good else 1

    def clean_up(self) -> None:
        """Leave no process behind, however the story went."""
        self._kill_everything()

    def _run_until_wave_two(self) -> subprocess.Popen[str]:
        command = ("rekindle", "run", "--plan", "../plan.toml")
        self._print("command", f"$ {shlex.join(command)}")
        running = subprocess.Popen(
            command,
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert running.stdout is not None
        at_work: set[str] = set()
        for line in running.stdout:
            self._print("output", f"    {line.rstrip()}")
            at_work |= {name for name in ("payment", "shipping") if f"{name}: working" in line}
            if len(at_work) == 2:
                break
        begun = self.repository / ".worktrees" / FEATURE / "payment" / "payment.py"
        _until(begun.exists)
        return running

    def _sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._quietly("ps", "--all", "--json"))["sessions"]
        return found

    def _kill_agent(self) -> None:
        [session] = [one["id"] for one in self._sessions()]
        identity = launch.read_identity(os.path.join(self.places.sessions, session, "1"))
        assert identity is not None
        os.kill(identity.agent.pid, signal.SIGKILL)

    def _boot(self) -> None:
        """What the machine runs when it has come up: the check of `rekindle boot`."""
        words = [sys.executable, "-m", due_check.__name__]
        subprocess.run(words, cwd="/", env=self.environment, check=True, stdin=subprocess.DEVNULL)

    def _quietly(self, *words: str) -> str:
        done = subprocess.run(
            ["rekindle", *words], cwd=self.repository, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    def _kill_everything(self) -> int:
        killed = 0
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(Path(self.places.daemon_lock).read_text()), signal.SIGKILL)
            killed += 1
        while left := self._stamped():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            time.sleep(0.05)
        return killed

    def _stamped(self) -> set[int]:
        """Every guard, keeper and agent, and what an agent may have started."""
        folder = self.places.sessions
        names = os.listdir(folder) if os.path.isdir(folder) else []
        found = {process.id.pid for name in names for process in launch.find_leftovers(f"rekindle-{name}")}
        for place in Path(folder).glob("*/[0-9]*"):
            identity = launch.read_identity(str(place)) if launch.is_alive(str(place)) else None
            if identity is not None:
                found |= {identity.guard.pid, identity.keeper.pid, identity.agent.pid}
        return found

    def _say(self, text: str) -> None:
        self._print("output", "")
        self._print("narration", text)

    def _print(self, style: Style, text: str) -> None:
        """Show a line, and keep it for the recording. Where the demonstration happens is nothing to a reader."""
        self.shown.append(Line(time.monotonic(), style, text.replace(str(self.repository.parent), "~")))
        print(f"\033[1m{text}\033[0m" if style == "narration" and sys.stdout.isatty() else text, flush=True)

    def _show(self, *command: str, most: int = 100) -> str:
        """Run a command and show what it says, or the first lines of it."""
        self._print("command", f"$ {shlex.join(command)}")
        done = subprocess.run(
            command, cwd=self.repository, env=self.environment, capture_output=True, text=True, check=False
        )
        lines = (done.stdout + done.stderr).splitlines()
        for line in lines[:most]:
            self._print("output", f"    {line}")
        if len(lines) > most:
            self._print("output", f"    … ({len(lines) - most} more lines)")
        return done.stdout


_FIRST_COMMIT = ("commit", "--quiet", "--allow-empty", "--message", "A shop")


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the demonstration got stuck")
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
