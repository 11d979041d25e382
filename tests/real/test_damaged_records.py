"""Damaged records of real agents: a receipt never claims more than the model's own record of its request shows.

A share of the corpus, across all sorts of damage, is held in `make test-real`, the whole of it in `make soak`.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from rekindle.core.session.history import request_of
from tests.e2e.daemon import is_running, until
from tests.real.acp_stage import AcpStage
from tests.real.damaged import OPERATIONS, Case, cases
from tests.real.models.server import Request
from tests.real.models.steps import Reply, Step, Use
from tests.real.stage import ClaudeStage, Stage, called
from tests.real.test_drill import lose_the_vault

#: What was said, in its order, as the model gets it in the whole conversation.
PROMPTS = [called(name) for name in ("the first thing", "the second thing", "the third thing")]
ANSWERS = ["answer one", "I run it.", "it has run", "answer three"]
FOREIGN = ("a foreign thing", "a foreign answer")
AGENTS = ("codex", "claude")
#: Every how-manieth case is held in each run, so that it stays short.
SHARE = 14


@pytest.mark.timeout(900)
@pytest.mark.parametrize("vault", [True, False], ids=["vault", "no vault"])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_receipt_claims_no_more_than_the_model_got(request: pytest.FixtureRequest, agent: str, vault: bool) -> None:
    corpus = Corpus(stage_of(request, agent), vault)
    everything = [case for operation in OPERATIONS for case in corpus.cases(operation)]
    corpus.hold(everything[vault::SHARE])


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("vault", [True, False], ids=["vault", "no vault"])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("agent", AGENTS)
def test_the_whole_corpus(request: pytest.FixtureRequest, agent: str, operation: str, vault: bool) -> None:
    corpus = Corpus(stage_of(request, agent), vault)
    corpus.hold(corpus.cases(operation))


def stage_of(request: pytest.FixtureRequest, agent: str) -> Stage:
    if agent == "claude":
        found = request.getfixturevalue("claude")
    else:
        found = request.getfixturevalue("stand_up")(agent)
    assert isinstance(found, Stage)
    return found


class Corpus:
    """One conversation, and its home as it was when the agent fell asleep: each case begins from there."""

    def __init__(self, stage: Stage, vault: bool) -> None:
        assert isinstance(stage, AcpStage | ClaudeStage)
        self.stage = stage
        shell = stage.setup.command if isinstance(stage, AcpStage) else _bash
        use = Reply("I run it.", (shell("true"),))
        first, second, third = "the first thing", "the second thing", "the third thing"
        self._when(first, Reply("answer one"))
        self._when(second, use)
        self._when(second, Reply("it has run"), behind_a_tool=True)
        self._when(third, Reply("answer three"))
        self._when(FOREIGN[0], Reply(FOREIGN[1]))
        self.session = self._converse(called(first))
        for name in (second, third):
            stage.machine.ok("send", self.session, called(name), "--follow")
        self.other = self._converse(called(FOREIGN[0]))
        for session in (self.session, self.other):
            stage.machine.ok("stop", session, "--sleep")
        self.path, self.record = self._record(self.session)
        self.foreign = self._record(self.other)[1]
        self._stop()
        if not vault:
            lose_the_vault(stage)
        self.kept = stage.machine.home.parent / "kept"
        shutil.copytree(stage.machine.home, self.kept, symlinks=True, ignore=shutil.ignore_patterns("*.sock"))

    def cases(self, operation: str) -> list[Case]:
        return list(cases(operation, self.record, self.foreign))

    def hold(self, several: Sequence[Case]) -> None:
        wrong: list[str] = []
        for case in several:
            problem = self._problem(case)
            print(f"{case.name}: {problem or 'fine'}", flush=True)  # seen with -s: the whole corpus takes long
            if problem:
                wrong.append(f"{case.name}: {problem}")
        assert not wrong, "\n".join([f"{len(wrong)} of {len(several)} cases:", *wrong])

    def _problem(self, case: Case) -> str:
        """What the receipt claims and the model did not get; empty: nothing."""
        self._put_back(case)
        stage, session = self.stage, self.session
        before = len(stage.model.turns())
        done = stage.machine.run("send", session, called("the last thing"), "--follow")
        if done.returncode != 0:
            stage.machine.run("send", session, called("one thing more"), "--follow")
        given = stage.model.turns()[before:]
        receipt = stage.machine.receipt(session)
        self._stop()
        if not given:
            return "" if receipt is None or receipt["kind"] != "same" else "same, and the model was never asked"
        users, answers = stage.model.user_texts(given[-1]), stage.model.assistant_texts(given[-1])
        if case.foreign and receipt["kind"] == "same" and any(FOREIGN[0] in one for one in users):
            return "same, in a conversation with foreign words"
        if receipt["kind"] == "same":
            lacking = [*_lacking(PROMPTS, users), *_lacking(ANSWERS, [one.strip() for one in answers])]
            return f"same, and the model lacks {lacking}" if lacking else ""
        if receipt["kind"] == "rebuilt":
            told = "\n".join(users)
            lacking = [one for one in [*PROMPTS, *ANSWERS] if one not in told]
            return f"rebuilt, and the model was not told {lacking}" if lacking else ""
        return ""

    def _when(self, name: str, step: Step, *, behind_a_tool: bool = False) -> None:
        """A step for the prompt with this name, or for what comes behind its command."""
        model = self.stage.model

        def holds(request: Request) -> bool:
            texts = [request_of(text) for text in model.user_texts(request)]
            return bool(texts) and texts[-1].startswith(called(name)) and _is_result(request) is behind_a_tool

        model.when(holds, step)

    def _converse(self, prompt: str) -> str:
        session = self.stage.begin(prompt)
        self.stage.machine.until_status(session, "waiting")
        return session

    def _record(self, session: str) -> tuple[Path, bytes]:
        token = self.stage.token(session)
        [path] = [one for one in self.stage.machine.home.rglob(f"*{token}*.jsonl") if ".local" not in one.parts]
        return path, path.read_bytes()

    def _put_back(self, case: Case) -> None:
        home = self.stage.machine.home
        for one in home.iterdir():
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        shutil.copytree(self.kept, home, symlinks=True, dirs_exist_ok=True)
        if case.data is None:
            self.path.unlink()
        else:
            self.path.write_bytes(case.data)

    def _stop(self) -> None:
        machine = self.stage.machine
        machine.run("stop", "--all", "--sleep")
        daemon = machine.daemon()
        machine.run("serve", "--stop")
        until(lambda: not is_running(daemon), "the end of the daemon, which closes its store last")
        until(lambda: not machine.stamped(), "the end of every agent")


def _lacking(wanted: Sequence[str], given: Sequence[str]) -> list[str]:
    """What is not there, in its order and word for word."""
    rest = iter(given)
    return [one for one in wanted if one not in rest]


def _is_result(request: Request) -> bool:
    """Whether the agent gives its model what a command has printed."""
    items = [one for one in request.body.get("input") or request.body.get("messages") if one.get("role") != "system"]
    last = items[-1]
    blocks = last.get("content") if isinstance(last.get("content"), list) else []
    return last.get("type") == "function_call_output" or any(one.get("type") == "tool_result" for one in blocks)


def _bash(command: str) -> Use:
    return Use("Bash", {"command": command, "description": "a command of the test"})
