"""The hooks of agents beside Claude Code: a fresh conversation of a real one is given what its skill session left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.daemon import BIN
from tests.real.acp_stage import SETUPS, prepare
from tests.real.models.server import ModelServer
from tests.real.programs import NODE_MODULES, companions, program
from tests.real.test_claude_skills import CONTEXT, HEADING, SAMPLE

pytestmark = pytest.mark.timeout(300)
#: How each agent is asked one thing; Codex runs only hooks that a person has trusted, so that the test says it has.
ASKED: dict[str, tuple[str, ...]] = {
    "codex": ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "hello"),
    "gemini": ("-p", "hello"),
    "qwen": ("-p", "hello"),
    "copilot": ("-p", "hello", "--allow-all-tools"),
}


def native(agent: str) -> Path:
    if agent != "codex":
        return program(agent)
    program(agent)  # says what is missing
    found = sorted(NODE_MODULES.glob("@openai/codex-linux-*/vendor/*/bin/codex"))
    assert found, "codex-acp is installed with the program that it runs"
    return found[0]


def trust(agent: str, home: Path, work: Path) -> None:
    """Hooks of a project run only in a folder that the user trusts."""
    if agent == "codex":
        config = home / ".codex" / "config.toml"
        config.write_text(f'{config.read_text()}\n[projects."{work}"]\ntrust_level = "trusted"\n')
    if agent == "copilot":
        (home / ".copilot").mkdir(exist_ok=True)
        (home / ".copilot" / "config.json").write_text(json.dumps({"trustedFolders": [str(work)]}))


@pytest.mark.parametrize("agent", ASKED)
def test_a_fresh_conversation_is_given_what_was_left_until_it_is_acknowledged(
    agent: str, folder: Path, scrubbed: dict[str, str]
) -> None:
    home, work = folder / "home", (folder / "work").resolve()
    found = native(agent)
    for name, path in companions(agent).items():
        (folder / "bin" / name).symlink_to(path)
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer(SETUPS[agent].dialect()))
        places = os.pathsep.join((str(folder / "bin"), str(BIN), "/usr/local/bin", "/usr/bin", "/bin"))
        variables = {**scrubbed, **prepare(agent, home, model.url), "PATH": places, "HOME": str(home)}
        trust(agent, home, work)

        def run(*words: str, given: str = "") -> str:
            done = subprocess.run(
                words, cwd=work, env=variables, input=given, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, (done.stdout, done.stderr)
            return done.stdout

        def session(*words: str, given: str = "") -> str:
            return run(str(BIN / "rekindle"), "session", *words, given=given)

        shutil.copytree(SAMPLE, work / ".claude" / "skills" / "report")
        run(str(BIN / "rekindle"), "hooks", "install", "--agent", agent)
        session("activate", "sessions/login", "report")
        session("continue", "sessions/login")
        session("dehydrate", "sessions/login", given=json.dumps(CONTEXT))
        state = work / "sessions" / "login" / ".state.json"
        state.write_text(json.dumps({**json.loads(state.read_bytes()), "pid": None, "owner": None}))
        run(str(found), *ASKED[agent])
        told = json.dumps(model.turns()[0].body, ensure_ascii=False)
        assert told.count(HEADING) == 1 and "| Find the leak in the pool" in told and "### Step 9F: " in told
        before = len(model.turns())
        session("continue", "sessions/login")
        run(str(found), *ASKED[agent])
        after = [json.dumps(one.body, ensure_ascii=False) for one in model.turns()[before:]]
        assert after and not any(HEADING in one for one in after)
