"""The real Claude Code in a job of a fleet: its worker dies or sleeps in mid-sentence, and another continues it.

What the model was given is compared with what rekindle says; agents are looked at many times a second on both hosts.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rekindle.adapters.blobs.sealed import make_key
from tests.e2e.daemon import Machine, until
from tests.fleet.hosts import enlist, kill_host, placed, until_copied
from tests.fleet.yard import Watch
from tests.postgres import new_database
from tests.real.stage import ClaudeStage, git
from tests.temporal import end_the_server, the_server

pytestmark = pytest.mark.timeout(280)


@pytest.fixture(scope="module", autouse=True)
def server_of_these_tests() -> Iterator[None]:
    yield
    end_the_server()


def work(machine: Machine, folder: Path) -> subprocess.Popen[bytes]:
    """Start a worker, and wait until it answers."""
    with (folder / f"{machine.home.name}.log").open("ab") as log:
        started = subprocess.Popen(
            [*machine.command, "worker"], cwd=machine.work, env=machine.environment(), stdout=log, stderr=log
        )
    until(lambda: machine.run("worker", "status").returncode == 0, "a worker")
    return started


@pytest.mark.parametrize("how", ["dies with its whole tree", "sleeps and comes back"])
def test_the_engine_has_another_host_continue_claude_in_the_same_conversation(
    claude: ClaudeStage, folder: Path, how: str
) -> None:
    here, origin, key, url = claude.machine, folder / "origin.git", folder / "key", new_database()
    make_key(str(key))
    git(folder, "clone", "-q", "--bare", str(here.work), str(origin))
    git(here.work, "remote", "add", "origin", str(origin))
    git(here.work, "fetch", "-q", "origin")
    there = replace(here, home=folder / "other-home", work=folder / "other-work")
    there.home.mkdir()
    there.work.mkdir()
    for machine, name in ((here, "a"), (there, "b")):
        enlist(machine, name, url, key, origin)
        settings = machine.home / ".config" / "rekindle" / "config.toml"
        engine = f'temporal_address = "{the_server().address}"\nfleet_heartbeat = "10s"\n'
        settings.write_text(settings.read_text() + engine)
    workers = [work(here, folder)]
    watch = Watch({"a": Path(here.places.sessions), "b": Path(there.places.sessions)})
    try:
        with watch:
            options = ("--fleet", "--agent", "claude", "--permission", "all")
            job = here.ok("job", "submit", *options, claude.speaking("the report")).strip()
            session = until(lambda: here.json("job", "show", job)["job"]["session"], "its session")
            claude.until_half_said(session, "the report")
            until_copied(here, session)
            workers.append(work(there, folder))
            if how == "sleeps and comes back":
                workers[0].send_signal(signal.SIGSTOP)
            else:
                kill_host(here, session)
            claude.machine = there
            until(lambda: placed(there, session)["host"] == "b", "the session on the other host")
            if how == "sleeps and comes back":
                workers[0].send_signal(signal.SIGCONT)
                until(lambda: here.json("worker", "status")["jobs"] == [], "the sleeper has let go")
            until(lambda: there.json("job", "show", job)["job"]["status"] == "done", "its end")

            def taken() -> list[str]:
                attempts = there.show(session)["session"]["attempts"]
                found = [one["receipt"] for one in attempts[1:] if one["receipt"]]
                return [one["reason"] for one in found if one["kind"] == "same"]

            # The agent's record, which proves it, comes a moment after its words.
            reasons = until(taken, "the proof that it is the same conversation")
            assert "it was on host a and is on b now" in reasons[0]
            assert claude.has_heard(session, "the report") == 1, "the prompt was sent once, as the model saw it"
            assert claude.was_told(session, claude.half)
            assert watch.twice == [] and watch.looks > 0, "never two agents"
    finally:
        there.clean_up()
        for one in workers:
            if one.poll() is None:
                one.kill()
            one.wait()
