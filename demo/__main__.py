"""`make demo`: a run is killed in the middle, then an agent; rekindle tells what was going on, and brings it back.

Everything happens in a temporary folder with a HOME of its own, and is removed at the end.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from demo import session

BIN = Path(sys.executable).parent


def main() -> int:
    """Run the demonstration; 0 if it showed what it promises."""
    with tempfile.TemporaryDirectory(prefix="rekindle-demo-") as folder:
        return Stage(Path(folder)).play()


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

    def play(self) -> int:
        """The whole story."""
        self._say("A scratch repository, on the branch feature/checkout:")
        self._show("git", "init", "--quiet", "--initial-branch", "feature/checkout")
        self._say("An orchestrator starts a run there and appends events as it works …")
        worker = subprocess.Popen(
            [sys.executable, "-m", "demo.worker", str(self.repository)],
            env=self.environment,
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout is not None
        for line in worker.stdout:
            print(f"    {line}", end="", flush=True)
            if "task 2 started" in line:
                break
        self._say(f"… and is killed with SIGKILL in the middle of task 2 (pid {worker.pid}).")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
        self._say("You come back, and ask:")
        status = self._show("rekindle")
        self._say("And in detail:")
        analysis = self._show("rekindle", "analyze", "checkout")
        shown = "wave-2-start" in status and "It starts task 2 again." in analysis
        self._say(
            "Nothing that was acknowledged is lost: the finished task stays finished, the cut one is named."
            if shown
            else "That is not what this demonstration should show: please report it."
        )
        brought_back = session.play(self._show, self._say, self.environment, self.repository)
        self._say(
            "The agent went on in the same conversation, and nothing was done twice."
            if brought_back
            else "That is not what this demonstration should show: please report it."
        )
        self._say('Now you: export PATH="$PWD/.venv/bin:$PATH"; rekindle run "say hello"')
        return 0 if shown and brought_back else 1

    def _say(self, text: str) -> None:
        print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)

    def _show(self, *command: str) -> str:
        print(f"$ {shlex.join(command)}", flush=True)
        done = subprocess.run(
            command, cwd=self.repository, env=self.environment, capture_output=True, text=True, check=True
        )
        print("".join(f"    {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
        return done.stdout


if __name__ == "__main__":
    sys.exit(main())
