"""A morning's machine: sessions and features in every state that a list has to tell apart, each brought about for real.

It is always in a folder whose name is as long as any other, so that lines break where they broke before.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.daemon import BIN, Machine, until
from tests.e2e.features import Shop, task

_GITCONFIG = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n"
_SETTINGS = 'agent = "scripted"\n'


@dataclass(frozen=True)
class Morning:
    """The machine, and its sessions by what became of each."""

    machine: Machine
    sessions: dict[str, str]


@contextmanager
def empty_machine() -> Iterator[Machine]:
    """A machine of somebody who has a repository, an agent and a name. Nothing is left running."""
    with tempfile.TemporaryDirectory(prefix="rk-", dir="/tmp") as folder:
        home = Path(folder, "home")
        machine = Machine(home, home / "src" / "shop")
        machine.work.mkdir(parents=True)
        (home / ".gitconfig").write_text(_GITCONFIG)
        (home / ".config" / "rekindle").mkdir(parents=True)
        (home / ".config" / "rekindle" / "config.toml").write_text(_SETTINGS)
        (machine.work / "readme.txt").write_text("hello\n")
        _programs(Path(folder, "bin"))
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "begin")):
            subprocess.run(["git", *words], cwd=machine.work, env=machine.environment(), check=True)
        try:
            yield machine
        finally:
            machine.clean_up()


def _programs(folder: Path) -> None:
    """The programs that this machine has, in a folder of their own: whatever agents the real one has are not there."""
    folder.mkdir()
    for name in ("rekindle", "rekindle-hook", "rekindle-hook-client", "rekindle-hook-direct"):
        (folder / name).symlink_to(BIN / name)
    for name in ("git", "sh", "echo"):
        (folder / name).symlink_to(shutil.which(name) or name)
    (folder / "tmux").symlink_to(shutil.which("tmux") or "/bin/true")  # no terminal is opened here


def path_of(machine: Machine) -> str:
    """The PATH of somebody at this machine."""
    return str(machine.home.parent / "bin")


@contextmanager
def morning() -> Iterator[Morning]:
    """The machine with everything on it."""
    with empty_machine() as machine:
        features(machine)
        yield Morning(machine, sessions(machine))


def features(machine: Machine) -> None:
    """One feature that was cut down with everything, one that is completed, one that failed."""
    cut = Shop(machine, "search")
    waiting = (
        task("index", "write index.txt index", summary="Build the index"),
        task("query", "say begun", "sleep 600", summary="Answer queries", after=["index"]),
    )
    with machine.start("run", "--plan", cut.plan(*waiting)) as run:
        cut_down(machine, at_work(machine))
        cut.kill_everything()
        run.communicate()
    done = Shop(machine, "billing")
    machine.ok("run", "--plan", done.plan(task("invoice", summary="Write invoices"), task("mail", summary="Send them")))
    failed = Shop(machine, "checkout")
    checks = {"checks": ["grep -q paid cart.txt"], "summary": "Add a cart"}
    assert (
        machine.run("run", "--plan", failed.plan(task("cart", **checks), task("pay", after=["cart"]))).returncode == 1
    )


def at_work(machine: Machine) -> str:
    """The session that is in the middle of the second task. What is cut any earlier may not have one yet."""

    def found() -> str:
        rows = [row["id"] for row in machine.sessions() if "Answer queries" in row["title"]]
        return rows[0] if rows and "sleep: 600" in machine.said(rows[0]) else ""

    return str(until(found, "the second task"))


def cut_down(machine: Machine, session: str) -> None:
    """Kill the daemon, then guard and keeper before their agent, so that nobody notes how the agent ended."""
    pids = machine.pids(session)
    for pid in (machine.daemon(), pids["guard"], pids["keeper"], pids["agent"]):
        os.kill(pid, signal.SIGKILL)


def sessions(machine: Machine) -> dict[str, str]:
    """A session in each state."""

    def begun(title: str, *script: str, options: tuple[str, ...] = ()) -> str:
        return machine.begin(*script, options=("--title", title, *options))

    found = {
        "working": begun("Port the importer to the new API", "say begun", "sleep 3000"),
        "asking": begun("Clean up the build folder", "ask May I run `rm -rf build`?"),
        "refused": begun("Fix the flaky login test", "fail unauthorized"),
        "limited": begun("Benchmark the parser", "say begun", "fail rate_limited 7150"),
        "spent": begun("Translate the handbook", "say all there is", options=("--max-tokens", "1")),
        "asleep": begun("Write the release notes", "say done"),
        "interrupted": begun("Rename the modules", "say begun", "sleep 3000"),
        "failed": machine.begin(
            "say x", options=("--title", "Upgrade the driver", "--policy", "never"), arguments=("--oops",)
        ),
        "lost": begun("Add a login form", "say I begin with the form"),
    }
    for name in ("working", "interrupted"):
        machine.until_said(found[name], "sleep: 3000")  # lists name the tool that was cut
    machine.kill(machine.pids(found["interrupted"])["agent"])
    until(lambda: "continues by itself" in machine.look("ps"), "the limit")
    lose(machine, found["lost"])
    machine.until_status(found["asleep"], "waiting")
    machine.ok("stop", "--sleep", found["asleep"])
    for name, word in (
        ("refused", "waiting"),
        ("spent", "asleep"),
        ("asking", "asking"),
        ("failed", "interrupted"),
        ("interrupted", "interrupted"),
    ):
        machine.until_status(found[name], word)
    return found


def lose(machine: Machine, session: str) -> None:
    """Have an agent die, and its conversation with every copy of it vanish; then somebody wants it back."""
    machine.until_status(session, "waiting")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "dead")
    for file in (machine.home / ".local" / "state" / "rekindle" / "scripted").iterdir():
        if "I begin with the form" in file.read_text():
            file.unlink()
    shutil.rmtree(Path(machine.places.sessions, session, "vault"))
    assert machine.run("resume", session).returncode == 1
