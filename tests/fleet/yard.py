"""A whole fleet: Temporal, PostgreSQL, and workers in network namespaces of their own, each with its HOME and clone.

One more host, `desk`, is no worker: people ask from there. Agents are looked at all the time, on all hosts: there must
never be two of one session.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from rekindle.adapters.blobs.sealed import make_key
from rekindle.keeper import launch, processes
from tests.e2e.daemon import SECONDS, Machine, is_running
from tests.fleet.hosts import git
from tests.fleet.networks import Network, network
from tests.patience import FACTOR
from tests.postgres import Cluster, new_cluster
from tests.temporal import TemporalServer, new_server

#: The shortest that leaves an agent a lease through which a busy machine gets it.
HEARTBEAT = 8.0
DESK = "desk"
ENGINE = "temporal"


def until(
    condition: Callable[[], Any], what: str | Callable[[], str] = "the condition", seconds: float = SECONDS
) -> Any:
    """Wait until a condition holds. Commands answer slowly enough, and the machine has other things to do."""
    deadline = time.monotonic() + seconds * FACTOR
    while not (found := condition()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what if isinstance(what, str) else what()} did not come about")
        time.sleep(0.25)
    return found


class Watch:
    """Looks, many times a second, which agents live on which host."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        #: sessions that had two agents at once, and where
        self.twice: list[tuple[str, list[tuple[str, int]]]] = []
        self.looks = 0

    def live(self) -> dict[str, list[tuple[str, int]]]:
        """The live agents of each session: on which host, and in which attempt."""
        found: dict[str, list[tuple[str, int]]] = {}
        for host, folder in self._folders.items():
            for attempt in folder.glob("*/[0-9]*"):
                identity = launch.read_identity(str(attempt))
                if identity is not None and processes.is_running(identity.agent):
                    found.setdefault(attempt.parent.name, []).append((host, int(attempt.name)))
        return found

    def _look(self) -> None:
        while not self._over.wait(0.05):
            with contextlib.suppress(OSError, ValueError):
                for session, places in self.live().items():
                    if len(places) > 1:
                        self.twice.append((session, places))
                self.looks += 1

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@dataclass
class Yard:
    """The fleet. Workers are started by the test."""

    folder: Path
    net: Network
    temporal: TemporalServer
    cluster: Cluster
    members: dict[str, Machine]
    watch: Watch
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Machine:
        return self.members[name]

    @property
    def desk(self) -> Machine:
        return self.members[DESK]

    def start(self, *names: str, options: tuple[str, ...] = ()) -> None:
        """Start the workers of these hosts, and wait until they answer."""
        for name in names:
            machine = self.members[name]
            with (self.folder / f"{name}.log").open("ab") as log:
                self.workers[name] = subprocess.Popen(
                    [*self.net.inside(name), *machine.command, "worker", *options],
                    cwd=machine.work,
                    env=machine.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
        for name in names:
            until(partial(self._answers, name), f"the worker of {name}: {self.log(name)}")

    def _answers(self, name: str) -> bool:
        assert self.workers[name].poll() is None, self.log(name)
        return self.members[name].run("worker", "status").returncode == 0

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-4000:]

    def signal(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to the worker process alone: its keepers and agents do not notice."""
        self.workers[name].send_signal(number)
        if number == signal.SIGKILL:
            self.workers[name].wait()

    def kill_host(self, name: str) -> None:
        """Everything of a host is gone at once: worker, guards, keepers, agents."""
        pids = [self.workers[name].pid]
        for attempt in Path(self.members[name].places.sessions).glob("*/[0-9]*"):
            identity = launch.read_identity(str(attempt))
            if identity is not None:
                pids += [
                    one.pid for one in (identity.guard, identity.keeper, identity.agent) if processes.is_running(one)
                ]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.workers[name].wait()
        until(lambda: not any(is_running(pid) for pid in pids[1:]), f"the end of {pids}")

    def submit(self, *script: str, options: tuple[str, ...] = ()) -> str:
        """A job of the fleet, from the desk."""
        return self.desk.ok("job", "submit", "--fleet", "--agent", "scripted", *options, "\n".join(script)).strip()

    def job(self, job: str) -> Any:
        return self.desk.json("job", "show", job)["job"]

    def until_driven(self, job: str, *hosts: str) -> Any:
        """Wait until one of these hosts has the job, and its session has an agent there."""

        def found() -> Any:
            told = self.job(job)
            live = self.watch.live().get(told["session"] or "", [])
            return told if told["host"] in hosts and [one for one, _ in live] == [told["host"]] else None

        return until(found, lambda: f"{job} on {hosts}: {self.story(job)}")

    def until_over(self, job: str, how: str = "done") -> Any:
        told = until(
            lambda: (one := self.job(job))["status"] in ("done", "failed", "cancelled") and one,
            lambda: f"the end of {job}: {self.story(job)}",
        )
        assert told["status"] == how, self.story(job)
        return told

    def story(self, job: str) -> str:
        """What is known of a job, for who has to find out why a test failed."""
        told = self.job(job)
        session = self.stored(told["session"] or "") or {}
        short = {key: told[key] for key in ("status", "why", "host", "session", "next_at")}
        attempts = [
            {key: one.get(key) for key in ("number", "how", "status", "how_ended", "cut", "given_up", "folder")}
            for one in session.get("attempts", ())
        ]
        prompts = [
            {key: one.get(key) for key in ("id", "text", "state", "attempt", "outcome", "after")}
            for one in session.get("prompts", ())
        ]
        rest = {key: session.get(key) for key in ("state", "message", "resume_asked", "notices", "host_change")}
        lines = [short, *attempts, *prompts, rest, self.watch.live()]
        records = [
            f"{path}\n{path.read_text()}"
            for one in self.members.values()
            for path in (one.home / ".local/state/rekindle/scripted").glob("*.jsonl")
        ]
        return "\n".join([*map(str, lines), *records, self.logs()])

    def logs(self) -> str:
        return "\n".join(f"== {name}\n{self.log(name)[-1500:]}" for name in self.workers)

    def rows(self, query: LiteralString, *values: Any) -> list[Any]:
        """What the shared store says."""
        with psycopg.connect(self.cluster.url(self.database)) as db:
            return db.execute(query, values).fetchall()

    @contextlib.contextmanager
    def copies_away(self, blobs: str) -> Iterator[None]:
        """Meanwhile nothing can be copied off a host: the folder is gone, or somebody has locked the table."""
        if blobs == "postgresql":
            with psycopg.connect(self.cluster.url(self.database)) as db:
                db.execute("LOCK TABLE blobs IN ACCESS EXCLUSIVE MODE")
                yield
            return
        mount = self.folder / "mount"
        mount.rename(self.folder / "away")
        mount.write_text("not a folder")  # also for root, who can write anywhere
        yield
        mount.unlink()
        (self.folder / "away").rename(mount)

    def stored(self, session: str) -> Any:
        """The session as the shared store has it."""
        found = self.rows("SELECT body FROM sessions WHERE id = %s", session)
        return json.loads(found[0][0]) if found else None

    database: str = ""


@contextlib.contextmanager
def yard_of(*names: str, blobs: str = "postgresql", heartbeat: float = HEARTBEAT, quick: bool = True) -> Iterator[Yard]:
    """A fleet of these hosts. Nothing of it is left running, and nobody was ever twice.

    `quick`: its store does not wait for the disk.
    """
    with network() as net, tempfile.TemporaryDirectory(prefix="rk-") as place, contextlib.ExitStack() as parts:
        folder = Path(place)
        cluster = new_cluster(quick=quick)
        parts.callback(cluster.stop)
        cluster.stop()
        cluster.listens = net.address
        cluster.start()
        database = cluster.database()
        temporal = new_server(net.add(ENGINE), net.inside(ENGINE))
        parts.callback(temporal.stop)
        origin, key, password = folder / "origin.git", folder / "key", folder / "password"
        make_key(str(key))
        password.touch(0o600)
        password.write_text(cluster.password)
        _origin(folder, origin)
        kept = str(folder / "mount") if blobs == "folder" else blobs
        lines = {
            "store_url": cluster.tcp_url(database),
            "store_password_file": str(password),
            "fleet_key_file": str(key),
            "fleet_blobs": kept,
            "fleet_repositories": f"work={origin}",
            "fleet_heartbeat": f"{heartbeat:g}s",
            "temporal_address": temporal.address,
            "fleet_plain_connections": "on",  # the bridge is this machine's own
        }
        members: dict[str, Machine] = {}
        for name in (DESK, *names):
            members[name] = machine = Machine(folder / name / "home", folder / name / "work")
            git(folder, "clone", "-q", str(origin), str(machine.work))
            settings = machine.home / ".config" / "rekindle" / "config.toml"
            settings.parent.mkdir(parents=True)
            own = {**lines, "fleet_host": name}
            settings.write_text("".join(f'{key} = "{value}"\n' for key, value in own.items()))
            if name != DESK:
                net.add(name)
        folders = {name: Path(one.places.sessions) for name, one in members.items()}
        with Watch(folders) as watch:
            yard = Yard(folder, net, temporal, cluster, members, watch)
            yard.database = database
            try:
                yield yard
                assert watch.twice == []
                assert watch.looks > 0
            finally:
                _clean_up(yard)


def _clean_up(yard: Yard) -> None:
    for name, process in yard.workers.items():
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        if process.poll() is None:
            yard.kill_host(name)
    yard.desk.run("serve", "--stop")
    deadline = time.monotonic() + 30
    while yard.watch.live() and time.monotonic() < deadline:
        for name in yard.members:
            for attempt in Path(yard.members[name].places.sessions).glob("*/[0-9]*"):
                identity = launch.read_identity(str(attempt))
                for one in (identity.guard, identity.keeper, identity.agent) if identity is not None else ():
                    if processes.is_running(one):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(one.pid, signal.SIGKILL)
        time.sleep(0.1)


def _origin(folder: Path, origin: Path) -> None:
    first = folder / "first" / "work"
    first.mkdir(parents=True)
    git(first, "init", "-q", "-b", "main")
    (first / "tracked.txt").write_text("one\n")
    git(first, "add", "-A")
    git(first, "commit", "-q", "-m", "begin")
    git(folder, "clone", "-q", "--bare", str(first), str(origin))
