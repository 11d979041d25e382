"""A stage for real agents: own HOME, scrubbed environment, fake keys, a mock model, and a wall around all of it."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, until
from tests.real import guard
from tests.real.acp_stage import SETUPS, AcpStage, prepare
from tests.real.models.anthropic import Anthropic
from tests.real.models.server import ModelServer
from tests.real.programs import MISSING, companions, program
from tests.real.stage import ClaudeStage, ScriptedStage, Stage, git

ISOLATED = guard.isolate()
CASE = "REKINDLE_TEST_CASE"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How well the wall stands; and tests that did not run because an agent is missing are never passed over."""
    how = "only loopback, in a namespace of its own" if ISOLATED else "NO namespace permitted here: only watched"
    terminalreporter.line(f"network of the real agents: {how}")
    missing = [one for one in terminalreporter.stats.get("skipped", ()) if MISSING in str(one.longrepr)]
    if missing:
        terminalreporter.section("REAL AGENTS MISSING", red=True, bold=True)
        terminalreporter.line(f"{len(missing)} tests with real agents were NOT RUN: `make agents` did not work here.")


@pytest.fixture
def case() -> Iterator[str]:
    """A stamp for every process of one test. None of them reaches out, and none is left when the test is over."""
    name = secrets.token_hex(6)
    mark = f"{CASE}={name}"
    if ISOLATED:
        yield name
    else:
        with guard.Watch(lambda: guard.stamped(mark)) as watch:
            yield name
        assert not watch.seen, "a test process reached out"
    until(lambda: not guard.stamped(mark), f"the end of {guard.stamped(mark)}")


@pytest.fixture
def scrubbed(case: str) -> dict[str, str]:
    """The environment of everything that a test starts. The proxies refuse, should anybody try."""
    nowhere = "http://127.0.0.1:9"
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), nowhere)
    here = "127.0.0.1,localhost"
    return {CASE: case, **proxies, "NO_PROXY": here, "no_proxy": here}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, because sockets live below it, with a repository to work in."""
    with tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as name:
        for inner in ("home", "work", "bin"):
            Path(name, inner).mkdir()
        git(Path(name, "work"), "init", "-q", "-b", "main")
        git(Path(name, "work"), "commit", "-q", "--allow-empty", "-m", "begin")
        yield Path(name)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """The mock of Claude's model."""
    with ModelServer(Anthropic()) as server:
        yield server


@pytest.fixture
def claude_environment(scrubbed: dict[str, str], model: ModelServer) -> dict[str, str]:
    """What Claude Code needs to talk to the mock and to nobody else."""
    return {
        **scrubbed,
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "fake-key-of-a-test",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


@pytest.fixture
def claude(folder: Path, claude_environment: dict[str, str], model: ModelServer) -> Iterator[ClaudeStage]:
    """A machine on which rekindle drives the real Claude Code."""
    found = program("claude")
    (folder / "bin" / "claude").symlink_to(found)
    variables = {**claude_environment, "PATH": str(folder / "bin")}
    machine = Machine(folder / "home", folder / "work", "claude", variables, is_quick=False)
    yield ClaudeStage(machine, model)
    machine.clean_up()


@pytest.fixture
def scripted(folder: Path, scrubbed: dict[str, str]) -> Iterator[ScriptedStage]:
    """A machine on which rekindle drives its scripted agent."""
    machine = Machine(folder / "home", folder / "work", "scripted", scrubbed, is_quick=False)
    yield ScriptedStage(machine)
    machine.clean_up()


@pytest.fixture
def stand_up(folder: Path, scrubbed: dict[str, str]) -> Iterator[Callable[[str], AcpStage]]:
    """Machines on which rekindle drives a real agent over ACP, in one home."""
    with ExitStack() as stack:

        def make(agent: str) -> AcpStage:
            found, setup = program(agent), SETUPS[agent]
            model = stack.enter_context(ModelServer(setup.dialect()))
            for name, path in {setup.program: found, **companions(agent)}.items():
                (folder / "bin" / name).symlink_to(path)
            variables = {**scrubbed, **prepare(agent, folder / "home", model.url), "PATH": str(folder / "bin")}
            machine = Machine(folder / "home", folder / "work", agent, variables, is_quick=False)
            stack.callback(machine.clean_up)
            return AcpStage(machine, model)

        yield make


#: The drill of all agents takes most of an hour: by default it is held with these (`make drill` takes all).
DRILLED = os.environ.get("REKINDLE_DRILL", "scripted claude codex").split()


@pytest.fixture(params=[one for one in ("scripted", "claude", *SETUPS) if one in DRILLED or DRILLED == ["all"]])
def stage(request: pytest.FixtureRequest) -> Stage:
    """Every agent of the drill in turn."""
    if request.param in SETUPS:
        stand_up: Callable[[str], AcpStage] = request.getfixturevalue("stand_up")
        return stand_up(request.param)
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Stage)
    return found


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Behind the wall nobody may be left, not even one with a scrubbed environment."""
    if not ISOLATED or "PYTEST_XDIST_WORKER" in os.environ or guard.can_reach_out():
        return
    if left := _strangers_here():
        print(f"\nprocesses left behind the wall: {left}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _strangers_here() -> list[int]:
    here = os.readlink("/proc/self/ns/net")
    outside = os.readlink("/proc/1/ns/net") if os.access("/proc/1/ns/net", os.R_OK) else ""
    if here == outside:
        return []  # the whole machine has no network: everybody is here
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            if os.readlink(one / "ns" / "net") == here and os.getpid() not in (int(one.name), parent):
                found.append(int(one.name))
        except OSError:
            continue
    return found
