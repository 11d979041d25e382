"""A real agent that is brought back, against its own resume: how soon its model is asked, and what the model is given.

The agent has a home of its own, invented keys and a mock model on the loopback, as the tests with real agents have it.
Where it is not installed the rows are skipped, and say so.
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from bench.measured import Disagreement, Measured, Skipped, in_turn
from bench.stage import Stage
from tests.e2e.daemon import Machine
from tests.real.models.anthropic import Anthropic
from tests.real.models.server import ModelServer, Request
from tests.real.models.steps import Hang
from tests.real.programs import program

_SECONDS = 120.0
_NOWHERE = "http://127.0.0.1:9"
_STREAM = ("--verbose", "--input-format", "stream-json", "--output-format", "stream-json")
_ASKING = (*_STREAM, "--permission-prompt-tool", "stdio")


@dataclass
class _Bare:
    """The agent by itself: one conversation, resumed by the agent's own flag."""

    binary: str
    work: Path
    environment: dict[str, str]
    conversation: str = ""
    #: Whether its caller answers questions, as rekindle does: then it offers its model the tools to ask.
    may_ask: bool = False

    def start(self, text: str) -> subprocess.Popen[bytes]:
        """Say something in the conversation; the first time, begin it."""
        name = ("--resume", self.conversation) if self.conversation else ("--session-id", str(uuid.uuid4()))
        self.conversation = name[1]
        more = _ASKING if self.may_ask else (text,)
        words = (self.binary, "-p", "--model", "default", "--permission-mode", "default", *name, *more)
        given = subprocess.PIPE if self.may_ask else subprocess.DEVNULL
        nowhere = subprocess.DEVNULL
        running = subprocess.Popen(
            words, cwd=self.work, env=self.environment, stdin=given, stdout=nowhere, stderr=nowhere
        )
        if running.stdin is not None:
            said = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}
            with running.stdin:
                running.stdin.write(json.dumps(said).encode() + b"\n")
        return running

    def say(self, text: str) -> None:
        """The same, to its end."""
        if self.start(text).wait(_SECONDS):
            raise Disagreement("the agent by itself failed")


@dataclass
class _Pair:
    """The same agent twice: in a session of rekindle's, which sleeps, and by itself."""

    model: ModelServer
    machine: Machine
    session: str
    bare: _Bare

    def until_asked(self, text: str) -> Request:
        """The first request in which the user says this last."""
        number = len(self.model.turns())
        while True:
            for request in self.model.turns()[max(0, number - 2) :]:
                said = self.model.user_texts(request)
                if any(text in one for one in said):
                    return request
            number += 1
            self.model.until_turns(number, _SECONDS)

    def sleep(self) -> None:
        """Wait for the end of the turn, and have the session's agent ended."""
        self.machine.until_status(self.session, "waiting", "asleep")
        self.machine.ok("stop", "--sleep", self.session)
        self.machine.until_status(self.session, "asleep")


@contextmanager
def _pair(*options: str, agent: str = "claude", may_ask: bool = False) -> Iterator[_Pair]:
    """Both conversations begun with the same words; skipped where the agent is not installed."""
    try:
        binary = str(program(agent))
    except pytest.skip.Exception as missing:
        raise Skipped(str(missing)) from missing
    os.environ.setdefault("REKINDLE_TEST_RUN", secrets.token_hex(6))
    with (
        tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as name,
        ModelServer(Anthropic()) as model,
    ):
        folder = Path(name)
        variables = _variables(model.url)
        for side in ("ours", "bare"):
            for inner in ("home", "work", "bin"):
                (folder / side / inner).mkdir(parents=True)
            _repository(folder / side / "work")
        (folder / "ours" / "bin" / "claude").symlink_to(binary)
        ours = {**variables, "PATH": str(folder / "ours" / "bin")}
        machine = Machine(folder / "ours" / "home", folder / "ours" / "work", "claude", ours, is_quick=False)
        theirs = {**variables, "PATH": os.environ["PATH"], "HOME": str(folder / "bare" / "home"), "LANG": "C.UTF-8"}
        try:
            session = machine.begin("begin here", options=("--permission", "ask", *options))
            pair = _Pair(model, machine, session, _Bare(binary, folder / "bare" / "work", theirs, may_ask=may_ask))
            pair.bare.say("begin here")
            machine.until_status(session, "waiting")
            yield pair
        finally:
            machine.clean_up()


def send(stage: Stage) -> Measured:
    """`rekindle send` to a sleeping session until the model is asked, against `claude --resume`."""
    numbers = count()
    with _pair() as pair:
        pair.sleep()

        def reference() -> float:
            text, begun = f"bare {next(numbers)}.", monotonic()
            running = pair.bare.start(text)
            pair.until_asked(text)
            spent = monotonic() - begun
            running.wait(_SECONDS)
            return spent

        def candidate() -> float:
            text, begun = f"ours {next(numbers)}.", monotonic()
            running = pair.machine.start("send", pair.session, text)
            pair.until_asked(text)
            spent = monotonic() - begun
            running.communicate(timeout=_SECONDS)
            pair.sleep()
            return spent

        return in_turn(_rounds(stage), reference, candidate)


def run_warm(stage: Stage) -> Measured:
    """`rekindle run "say hi"` with a daemon, from the start of the command to its end, against `claude -p`."""
    return _run(stage, cold=False)


def run_cold(stage: Stage) -> Measured:
    """The same without a daemon: the command starts one."""
    return _run(stage, cold=True)


def _run(stage: Stage, *, cold: bool) -> Measured:
    with _pair() as pair:
        bare = pair.bare

        def reference() -> float:
            begun = monotonic()
            _Bare(bare.binary, bare.work, bare.environment).say("say hi")
            return monotonic() - begun

        def candidate() -> float:
            pair.machine.ok("stop", "--all")
            if cold:
                pair.machine.ok("serve", "--stop")
            begun = monotonic()
            said = pair.machine.ok("run", "--agent", "claude", "--permission", "ask", "say hi")
            spent = monotonic() - begun
            if "mock reply" not in said:
                raise Disagreement(f"the agent did not answer: {said[-200:]}")
            return spent

        return in_turn(_rounds(stage), reference, candidate)


def kill(stage: Stage) -> Measured:
    """From kill -9 in the middle of a turn until the model is asked again."""
    numbers = count()
    with _pair("--policy", "continue") as pair:
        pair.model.when(lambda request: _hangs(pair, request), Hang("half a"))

        def reference() -> float:
            text = f"hang {next(numbers)}."
            running = pair.bare.start(text)
            before = pair.until_asked(text).number
            _until_recorded(pair.bare.environment["HOME"], text)
            begun = monotonic()
            running.kill()
            running.wait(_SECONDS)
            again = pair.bare.start("go on, please")
            spent = _next_request(pair, before) - begun
            again.wait(_SECONDS)
            return spent

        def candidate() -> float:
            text = f"hang {next(numbers)}."
            pair.machine.ok("send", pair.session, text)
            before = pair.until_asked(text).number
            attempt = pair.machine.show(pair.session)["session"]["attempts"][-1]["number"]
            agent = pair.machine.pids(pair.session, attempt)["agent"]
            _until_recorded(str(pair.machine.home), text)
            begun = monotonic()
            os.kill(agent, 9)
            spent = _next_request(pair, before) - begun
            pair.machine.until_status(pair.session, "waiting")
            return spent

        return in_turn(_rounds(stage), reference, candidate)


def characters(agent: str, *, may_ask: bool = False) -> Callable[[Stage], Measured]:
    """How much the model is given at the resume of an idle session. `may_ask`: the agent by itself may ask too."""

    def measure(_stage: Stage) -> Measured:
        ours, theirs = _resumed(agent, may_ask)
        sizes = [len(_sent(after)) for _, after in (theirs, ours)]
        parts = {
            f"{side}: {part}": len(json.dumps(after.body.get(part)))
            for side, (_, after) in (("ours", ours), ("bare", theirs))
            for part in ("tools", "system", "messages")
        }
        tools = [{tool["name"]: len(json.dumps(tool)) for tool in after.body["tools"]} for _, after in (ours, theirs)]
        only = {name: size for name, size in tools[0].items() if name not in tools[1]}
        return Measured([float(sizes[0])], [float(sizes[1])], {"unit": "characters", **parts, "only ours": only})

    return measure


def prefix(agent: str, *, stable: bool = False) -> Callable[[Stage], Measured]:
    """How much of what was sent before is the beginning of what is sent after the resume; more is better.

    `stable`: the work tree changes before the resume, and the session has a stable prompt. Shares are compared then,
    because the one side is given less from the beginning.
    """

    def measure(_stage: Stage) -> Measured:
        found = _resumed(agent, False, stable)
        kept = [_common(_sent(before), _sent(after)) for before, after in found]
        whole = [len(_sent(before)) for before, _ in found]
        facts = {"unit": "characters", "ours, of": whole[0], "bare, of": whole[1]}
        if stable:
            facts |= {"unit": "share of what was sent before", "ours, kept": kept[0], "bare, kept": kept[1]}
            return Measured([kept[0] / whole[0]], [kept[1] / whole[1]], facts)
        return Measured([float(kept[0])], [float(kept[1])], facts)  # at least: how many times as much as the other

    return measure


@functools.cache
def _resumed(
    agent: str, may_ask: bool, stable: bool = False
) -> tuple[tuple[Request, Request], tuple[Request, Request]]:
    """The last request before a resume and the first after it, of a session and of the agent by itself."""
    options = ("--stable-prompt", "on") if stable else ()
    with _pair(*options, agent=agent, may_ask=may_ask) as pair:
        found = []
        if stable:
            for work in (pair.machine.work, pair.bare.work):
                (work / "changed.txt").write_text("somebody works here too\n")
        for is_ours in (True, False):
            before = next(one for one in reversed(pair.model.turns()) if _is_side(pair, one, is_ours=is_ours))
            text = f"and now {'ours' if is_ours else 'bare'}."
            if is_ours:
                pair.sleep()
                pair.machine.ok("send", pair.session, text)
                pair.machine.until_status(pair.session, "waiting")
            else:
                pair.bare.say(text)
            found.append((before, pair.until_asked(text)))
        return found[0], found[1]


def _is_side(pair: _Pair, request: Request, *, is_ours: bool) -> bool:
    """Whose request it is: the folder that the agent works in is in its system prompt."""
    return (str(pair.bare.work) in json.dumps(request.body)) != is_ours


def _sent(request: Request) -> str:
    """What a provider's cache sees, in its order."""
    body: dict[str, Any] = _without_marks(request.body)
    return "".join(json.dumps(body.get(part), ensure_ascii=False) for part in ("tools", "system", "messages"))


def _without_marks(value: Any) -> Any:
    """The marks that say up to where to cache move with every request, and are not part of what is cached."""
    if isinstance(value, dict):
        return {name: _without_marks(one) for name, one in value.items() if name != "cache_control"}
    return [_without_marks(one) for one in value] if isinstance(value, list) else value


def _common(before: str, after: str) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))


def _hangs(pair: _Pair, request: Request) -> bool:
    said = pair.model.user_texts(request)
    return bool(said) and said[-1].startswith("hang ")


def _next_request(pair: _Pair, number: int) -> float:
    """When the model was asked after that request."""
    while True:
        if any(one.number > number for one in pair.model.turns()):
            return monotonic()
        pair.model.until_turns(len(pair.model.turns()) + 1, _SECONDS)


def _until_recorded(home: str, text: str) -> None:
    """Wait until the agent's own record has the prompt: who is killed before that has nothing to go on with."""
    deadline = monotonic() + _SECONDS
    while not any(text.encode() in one.read_bytes() for one in Path(home, ".claude", "projects").rglob("*.jsonl")):
        if monotonic() > deadline:
            raise Disagreement("the agent did not write the prompt down")
        sleep(0.01)


def _rounds(stage: Stage) -> int:
    return 9 if stage.sizes.heavy > 2 else 2


def _variables(url: str) -> dict[str, str]:
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
    here = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    agent = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "fake-key-of-a-benchmark",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return {**proxies, **here, **agent}


def _repository(folder: Path) -> None:
    who = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
    for words in (("init", "-q", "-b", "main"), (*who, "commit", "-q", "--allow-empty", "-m", "begin")):
        subprocess.run(["git", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL)
