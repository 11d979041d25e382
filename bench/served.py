"""A daemon of the benchmark's own, from start to end, and what the system says about a process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measured import Disagreement
from bench.stage import Stage
from rekindle.places import Places
from rekindle.settings import load

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Served:
    """A daemon that listens."""

    pid: int
    socket: str

    def ask(self, **request: Any) -> dict[str, Any]:
        """One question, on a connection of its own."""
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as answers:
            connection.connect(self.socket)
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(answers.readline())
        if not answer["ok"]:
            raise Disagreement(f"the daemon refused {request['op']}: {answer['error']['message']}")
        return answer


def home_environment(stage: Stage, home: str) -> dict[str, str]:
    """The stage's environment with another home."""
    kept = {name: value for name, value in stage.environment.items() if not name.startswith("XDG")}
    return {**kept, "HOME": home}


@contextmanager
def served(
    stage: Stage, home: str | None = None, module: Sequence[str] = ("rekindle.entry", "serve")
) -> Iterator[Served]:
    """A daemon, until the end of the block."""
    environment = home_environment(stage, home or str(stage.folder / "home"))
    places = Places(load(environment, None))
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        env={**environment, "REKINDLE_READY_FD": str(write)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(write,),
    )
    os.close(write)
    try:
        if not os.read(read, 200):
            raise Disagreement("the daemon did not start")
        yield Served(process.pid, places.socket)
    finally:
        os.close(read)
        process.terminate()
        process.wait(60)


def processor_seconds(pid: int) -> float:
    """What a process has used of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def pss(pid: int) -> int:
    """A process's proportional share of memory, in bytes."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise Disagreement(f"process {pid} has no PSS")
