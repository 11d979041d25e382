"""The rule by which Claude Code chooses a branch, held against the real programs: random trees, and the mend.

A resume is asked for, and what the mock model was sent is compared with what the pure function says would be loaded.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rekindle.agents.claude.opened import MEASURED, LoadedBranch, above, opened
from rekindle.agents.claude.spoken import spoken
from rekindle.agents.claude.transcript import ClaudeTranscript
from tests.real.claude_cli import ClaudeCli
from tests.real.claude_trees import Tree
from tests.real.models.server import ModelServer
from tests.real.programs import program

pytestmark = pytest.mark.timeout(240)

PROGRAMS = {"2.1.197": "claude", "2.1.325": "claude-newest"}
#: Trees that between them have branches, gaps, side chains, repeated rows, named leaves and summaries.
SEEDS = (1, 22, 28, 29, 104, 117)
_SAID = re.compile(r"^(?:prompt|answer) \d+$|Summary \d+", re.MULTILINE)


@pytest.fixture(params=list(PROGRAMS))
def cli(request: pytest.FixtureRequest, folder: Path, claude_environment: dict[str, str]) -> ClaudeCli:
    variables = {**claude_environment, "CLAUDE_CODE_MAX_RETRIES": "0", "VERSION": request.param}
    return ClaudeCli(program(PROGRAMS[request.param]), folder / "home", folder / "work", variables)


def version(cli: ClaudeCli) -> str:
    return cli.variables["VERSION"]


def tree(cli: ClaudeCli, seed: int) -> list[dict[str, Any]]:
    return Tree(seed, cli.id, str(cli.work.resolve()), version(cli)).lines


def loaded(cli: ClaudeCli, model: ModelServer, data: bytes) -> list[str] | None:
    """What the model is sent of a transcript; None: the program says that there is no such conversation."""
    cli.transcript().parent.mkdir(parents=True, exist_ok=True)
    cli.transcript().write_bytes(data)
    before = len(model.turns())
    done = cli.ask("a new one", "--resume", cli.id)
    if done.status != 0:
        assert "No conversation found" in done.errors
        assert len(model.turns()) == before
        return None
    messages = model.turns()[-1].body["messages"]
    blocks = [block for one in messages for block in as_blocks(one["content"])]
    return [said for block in blocks for said in _SAID.findall(block.get("text", "").strip())]


def as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def predicted(branch: LoadedBranch) -> list[str] | None:
    if branch.refused or not branch.rows:
        return None
    turns = [one for row in branch.rows if (one := spoken(row)) is not None]
    return [said for one in turns for said in _SAID.findall(one.text)]


def file_of(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def check(cli: ClaudeCli, model: ModelServer, seed: int) -> None:
    lines = tree(cli, seed)
    assert loaded(cli, model, file_of(lines)) == predicted(opened(lines, MEASURED[version(cli)]))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_branch_that_is_loaded_is_the_one_that_was_predicted(cli: ClaudeCli, model: ModelServer, seed: int) -> None:
    assert version(cli) in cli.version()
    check(cli, model, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_it_is_predicted_for_many_more_trees(cli: ClaudeCli, model: ModelServer, seed: int) -> None:
    check(cli, model, seed)


def test_a_line_that_names_a_row_makes_the_program_load_the_branch_above_it(cli: ClaudeCli, model: ModelServer) -> None:
    """The file is torn at its end as well: the line begins on a line of its own."""
    lines = tree(cli, 0)
    left = next(one["uuid"] for one in lines if "answer 4" in json.dumps(one))
    wanted = above(lines, left, splices=True)
    assert predicted(wanted) != predicted(opened(lines, MEASURED[version(cli)])), "it is not loaded by itself"
    expected = tuple(one for row in wanted.rows if (one := spoken(row)) is not None)
    led = ClaudeTranscript().redirected(file_of(lines).rstrip(b"\n"), expected, frozenset())
    assert led is not None
    assert loaded(cli, model, led.data) == predicted(wanted)


def test_the_first_new_record_shows_what_was_loaded(cli: ClaudeCli, model: ModelServer) -> None:
    lines = tree(cli, 0)
    data = file_of(lines)
    sent = loaded(cli, model, data)
    record = ClaudeTranscript().went_on(cli.transcript().read_bytes(), len(data))
    assert record is not None and sent is not None
    assert [said for one in record.turns for said in _SAID.findall(one.text)] == sent
