"""Hosts of a fleet for the tests: each has its own HOME and clone; they share a database, a key and an origin."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rekindle.adapters.blobs.sealed import make_key
from tests.e2e.daemon import Machine, is_running, until
from tests.postgres import new_database


@dataclass(frozen=True)
class Hosts:
    """The fleet. `origin` is where every host fetches the repository from."""

    folder: Path
    origin: Path
    members: dict[str, Machine]

    def __getitem__(self, name: str) -> Machine:
        return self.members[name]


@contextlib.contextmanager
def fleet_of(*names: str, blobs: str = "postgresql", url: str | None = None) -> Iterator[Hosts]:
    """Hosts with these names. Nothing of them is left running."""
    url = url or new_database()
    with tempfile.TemporaryDirectory(prefix="rk-") as place:
        folder = Path(place)
        origin, key = folder / "origin.git", folder / "key"
        make_key(str(key))
        first = folder / names[0] / "work"
        first.mkdir(parents=True)
        _git(first, "init", "-q", "-b", "main")
        (first / "tracked.txt").write_text("one\n")
        _git(first, "add", "-A")
        _git(first, "commit", "-q", "-m", "begin")
        _git(folder, "clone", "-q", "--bare", str(first), str(origin))
        kept = str(folder / "mount") if blobs == "folder" else blobs
        hosts = Hosts(folder, origin, {name: _host(folder, name, url, key, origin, kept) for name in names})
        try:
            yield hosts
        finally:
            for machine in hosts.members.values():
                machine.run("stop", "--all")
            for machine in hosts.members.values():
                machine.clean_up()


def _host(folder: Path, name: str, url: str, key: Path, origin: Path, blobs: str) -> Machine:
    machine = Machine(folder / name / "home", folder / name / "work")
    machine.work.mkdir(parents=True, exist_ok=True)
    if not (machine.work / ".git").exists():
        _git(folder, "clone", "-q", str(origin), str(machine.work))
    else:
        _git(machine.work, "remote", "add", "origin", str(origin))
        _git(machine.work, "fetch", "-q", "origin")
    enlist(machine, name, url, key, origin, blobs)
    return machine


def enlist(machine: Machine, name: str, url: str, key: Path, origin: Path, blobs: str = "postgresql") -> None:
    """Make a machine a host of a fleet."""
    settings = machine.home / ".config" / "rekindle" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    lines = {
        "store_url": url,
        "fleet_host": name,
        "fleet_key_file": str(key),
        "fleet_blobs": blobs,
        "fleet_repositories": f"work={origin}",
    }
    settings.write_text("".join(f'{key} = "{value}"\n' for key, value in lines.items()))


def placed(machine: Machine, session: str) -> Any:
    """The session as the fleet has it."""
    told = machine.json("fleet", "status")
    return next((one for one in told["sessions"] if one["id"] == session), None)


def until_copied(machine: Machine, session: str) -> None:
    """Wait until all that there is of a session now is off its host."""
    since = time.time()

    def is_copied() -> bool:
        told = placed(machine, session)
        return (
            told is not None
            and told["behind"] is not None
            and (told["behind"] == 0 or time.time() - told["behind"] > since)
        )

    until(is_copied, f"a copy of {session}")


def kill_host(machine: Machine, session: str, attempt: int = 1) -> None:
    """The host is gone: its daemon, the keeper, the guard and the agent, all at once."""
    pids = [machine.daemon(), *machine.pids(session, attempt).values()]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not any(is_running(pid) for pid in pids), f"the end of {pids}")


def _git(cwd: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8"},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


git = _git
