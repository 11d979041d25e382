"""A PostgreSQL server of the tests' own: a cluster in a temporary folder, run as the user `postgres` if we are root.

Where the server is not installed, the tests that need it are skipped, and counted; REKINDLE_POSTGRES_REQUIRED=1 makes
that a failure.
"""

from __future__ import annotations

import atexit
import contextlib
import getpass
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

_USER = "postgres"
_RUNNING: list[Cluster] = []
_OPTIONS = ("-c", "max_connections=60", "-c", "shared_buffers=32MB", "-c", "log_min_messages=fatal")


def programs() -> str | None:
    """The folder of initdb and pg_ctl, of the newest server there is."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    if found:
        return os.path.dirname(found[-1])
    there = shutil.which("initdb")
    return os.path.dirname(there) if there is not None else None


def need_server() -> None:
    """Skip the test if there is no PostgreSQL here."""
    if programs() is not None and (os.getuid() != 0 or _has_user()):
        return
    if os.environ.get("REKINDLE_POSTGRES_REQUIRED"):
        pytest.fail("PostgreSQL is required, and is not installed")
    pytest.skip("PostgreSQL is not installed (Debian: postgresql)")


def _has_user() -> bool:
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(_USER) is not None
    return False


@dataclass
class Cluster:
    """One server. `listens` is the address that it can be reached at over TCP, with a password."""

    folder: Path
    port: int
    listens: str = "127.0.0.1"
    password: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def user(self) -> str:
        return _USER if os.getuid() == 0 else getpass.getuser()

    def run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a program of PostgreSQL as the server's user."""
        path = os.path.join(str(programs()), program)
        return subprocess.run(
            (path, *arguments),
            user=_USER if os.getuid() == 0 else None,
            group=_USER if os.getuid() == 0 else None,
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.folder), **_mark()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=check,
        )

    def make(self) -> None:
        """Make the cluster: by its socket the server's user gets in, over TCP only who has the password."""
        if os.getuid() == 0:
            shutil.chown(self.folder, _USER, _USER)
        secret = self.folder / "password"
        secret.write_text(self.password + "\n")
        if os.getuid() == 0:
            shutil.chown(secret, _USER, _USER)
        self.run(
            "initdb",
            *("-D", str(self.folder / "data"), "-U", self.user, "--pwfile", str(secret), "--no-sync"),
            *("-E", "UTF8", "--locale", "C.UTF-8", "--auth-local", "trust", "--auth-host", "scram-sha-256"),
        )
        hba = self.folder / "data" / "pg_hba.conf"
        hba.write_text("local all all trust\nhost all all all scram-sha-256\n")

    def start(self) -> None:
        """Start the server. It answers when this returns."""
        words = [*_OPTIONS, "-p", str(self.port), "-k", str(self.folder), "-c", f"listen_addresses={self.listens}"]
        data, log = str(self.folder / "data"), str(self.folder / "log")
        # The output goes to a file: the server would hold our pipe open.
        options = " ".join(words)
        self.run("pg_ctl", "-D", data, "-l", log, "-w", "-t", "60", "-s", "-o", options, "start")

    def use_tls(self, certificate: tuple[str, str], authority: str, *lines: str) -> None:
        """Show this certificate from now on, prove clients by `authority`; `lines` of pg_hba.conf say who gets in."""
        self.stop("fast")
        data = self.folder / "data"
        for source, name in ((certificate[0], "server.crt"), (certificate[1], "server.key"), (authority, "ca.crt")):
            shutil.copy(source, data / name)
            (data / name).chmod(0o600)
            if os.getuid() == 0:
                shutil.chown(data / name, _USER, _USER)
        (data / "postgresql.auto.conf").write_text("ssl = on\nssl_ca_file = 'ca.crt'\n")
        (data / "pg_hba.conf").write_text("".join(f"{one}\n" for one in ("local all all trust", *lines)))
        self.start()

    def stop(self, how: str = "immediate") -> None:
        """Stop the server as a crash would (`immediate`), or gently (`fast`)."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "-s", "stop", check=False)

    def pause(self, number: int = signal.SIGSTOP) -> None:
        """Send a signal to the server and to all that it has started."""
        leader = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
        for pid in [leader, *map(int, children)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def url(self, database: str) -> str:
        """The address of a database by the server's socket. It needs no password."""
        return f"postgresql://{self.user}@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database: str) -> str:
        """The address of a database over TCP. It needs the password."""
        return f"postgresql://{self.user}@{self.listens}:{self.port}/{database}"

    def database(self) -> str:
        """A new, empty database; its name."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.run("createdb", "-h", str(self.folder), "-p", str(self.port), "-U", self.user, "-T", "template0", name)
        return name


def new_cluster(*, quick: bool = False) -> Cluster:
    """A server of its own, that is stopped and removed with this process."""
    need_server()
    folder = Path(tempfile.mkdtemp(prefix="rk-pg-"))
    made = Cluster(folder, _free_port())
    made.make()
    if quick:
        with open(folder / "data" / "postgresql.conf", "a") as file:
            file.write("fsync = off\nfull_page_writes = off\n")
    made.start()
    _RUNNING.append(made)
    return made


@atexit.register
def stop_all() -> None:
    """Stop every server of this process, and remove its folder."""
    while _RUNNING:
        _remove(_RUNNING.pop())


def _mark() -> dict[str, str]:
    """What the test run finds its processes by."""
    return {name: os.environ[name] for name in ("REKINDLE_TEST_RUN",) if name in os.environ}


@cache
def the_cluster() -> Cluster:
    """The server that the tests of one process share. Its databases are theirs."""
    return new_cluster(quick=True)


def new_database() -> str:
    """The address of an empty database."""
    need_server()
    return the_cluster().url(the_cluster().database())


def _remove(cluster: Cluster) -> None:
    with contextlib.suppress(Exception):
        cluster.pause(signal.SIGCONT)
    cluster.stop()
    shutil.rmtree(cluster.folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
