"""`make demo`: agents work on a feature, everything is killed in its second wave, and it is finished all the same.

Everything happens in a temporary folder with a HOME of its own, and is removed at the end. `--record FILE` also writes
what was shown as an animated SVG.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from demo import skill_scene
from demo.recording import Line, Style, svg
from rekindle.keeper import launch
from rekindle.places import Places
from rekindle.settings import load

BIN = Path(sys.executable).parent
PLAN = Path(__file__).with_name("plan.toml")
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
        """The whole story."""
        self._say("A scratch repository, and a plan: five tasks in three waves.")
        self._show("git", "init", "--quiet", "--initial-branch", "main")
        self._show("git", "-c", "user.name=you", "-c", "user.email=you@example.invalid", *_FIRST_COMMIT)
        plan = self.repository.parent / "plan.toml"
        plan.write_bytes(PLAN.read_bytes())
        self._say("Each task is given to an agent of its own, in a worktree of its own:")
        shown = self._run_until_wave_two(plan)
        killed = self._kill_everything()
        self._say(f"… and everything gets SIGKILL: the daemon, the keepers, the agents ({killed} processes).")
        shown.communicate()
        self._say("You come back, and ask:")
        status = self._show("rekindle")
        self._show("rekindle", "resume", FEATURE, "--explain")
        self._say("And have it go on:")
        resumed = self._show("rekindle", "resume", FEATURE)
        self._say("What came of it:")
        history = self._show("git", "log", "--graph", "--format=%s", f"feature/{FEATURE}")
        merges = [line for line in history.splitlines() if "Merge task" in line]
        good = (
            f"rekindle resume {FEATURE}" in status
            and "same (the agent's own record" in resumed
            and "completed, 5 of 5 tasks merged" in resumed
            and len(merges) == 5
        )
        self._say(
            "Every task is merged once, in the order of the plan; the cut agents went on in the same conversation."
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

    def _run_until_wave_two(self, plan: Path) -> subprocess.Popen[str]:
        command = ("rekindle", "run", "--plan", str(plan))
        self._print("command", "$ rekindle run --plan plan.toml")
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

    def _show(self, *command: str) -> str:
        self._print("command", f"$ {shlex.join(command)}")
        done = subprocess.run(
            command, cwd=self.repository, env=self.environment, capture_output=True, text=True, check=False
        )
        for line in (done.stdout + done.stderr).splitlines():
            self._print("output", f"    {line}")
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
