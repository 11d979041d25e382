"""Measures plans: a run against git and the same agent in a script, and plans of 5,000 tasks against those of 50.

The script does what a person would: for each task a worktree with a branch, the agent in it, a commit; then a merge,
and both are cleared away. The agent is the scripted one, started as rekindle starts it and spoken to in its protocol.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.leftovers import end_leftovers
from bench.measured import Disagreement, Measured, in_turn
from bench.served import home_environment, served
from bench.stage import GIT, Stage
from bench.starting import script

_WHO = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
_AT_ONCE = 4
_SMALL = 50


def overhead(stage: Stage) -> Measured:
    """40 tasks in 10 waves, four at once: `rekindle run --plan` against the script."""
    per_wave, waves = (4, 10) if stage.sizes.heavy > 2 else (2, 2)
    numbers = count()
    environment = home_environment(stage, str(stage.folder / "home"))

    def repository() -> Path:
        return stage.repository(f"planned-{next(numbers)}", "main")

    def candidate() -> float:
        root = repository()
        plan = _plan(root, per_wave, waves, _wave_names(per_wave, waves))
        begun = perf_counter()
        _rekindle(environment, root, "run", "--plan", plan)
        spent = perf_counter() - begun
        _check(root, "feature/planned", per_wave * waves)
        return spent

    def reference() -> float:
        root = repository()
        begun = perf_counter()
        _by_script(root, environment, _wave_names(per_wave, waves))
        spent = perf_counter() - begun
        _check(root, "feature/planned", per_wave * waves)
        return spent

    with served(stage):
        return in_turn(max(2, stage.sizes.heavy - 2), reference, candidate)


def begin(tasks: int) -> Callable[[Stage], Measured]:
    """From `rekindle run --plan FILE --detach` to its end: the plan is written down, and its run has begun."""
    return lambda stage: _sizes(stage, tasks, explain=False)


def explain(tasks: int) -> Callable[[Stage], Measured]:
    """`rekindle resume FEATURE --explain --json` of a run that was cut at its beginning."""
    return lambda stage: _sizes(stage, tasks, explain=True)


def _sizes(stage: Stage, tasks: int, *, explain: bool) -> Measured:
    large = tasks if stage.sizes.heavy > 2 else 4 * _SMALL
    environment = home_environment(stage, str(stage.folder / "home"))
    numbers = count()

    def measure(number: int) -> float:
        root = stage.repository(f"sized-{'e' if explain else 'b'}-{tasks}-{next(numbers)}", "main")
        plan = _plan(root, number // 10, 10, _wave_names(number // 10, 10), "run sleep 600")
        with served(stage):
            begun = perf_counter()
            _rekindle(environment, root, "run", "--plan", plan, "--detach", "--parallel", "1")
            spent = perf_counter() - begun
            if not explain:
                _rekindle(environment, root, "stop", "planned")
                return spent
        begun = perf_counter()
        told = json.loads(_rekindle(environment, root, "resume", "planned", "--explain", "--json"))
        spent = perf_counter() - begun
        end_leftovers(stage.folder)  # the agent lives on without the daemon
        if len(told["tasks"]) != number:
            raise Disagreement(f"of {number} tasks {len(told['tasks'])} were explained")
        return spent

    return in_turn(max(2, stage.sizes.heavy - 2), lambda: measure(_SMALL), lambda: measure(large))


def _wave_names(per_wave: int, waves: int) -> list[list[str]]:
    return [[f"t{wave}-{number}" for number in range(per_wave)] for wave in range(waves)]


def _plan(root: Path, per_wave: int, waves: int, names: list[list[str]], prompt: str = "") -> str:
    lines = ['feature = "planned"', 'agent = "scripted"', f"waves = {json.dumps(names)}"]
    for wave in range(waves):
        for number in range(per_wave):
            name = names[wave][number]
            lines += ["[[task]]", f'id = "{name}"', f'prompt = "{prompt or f"write {name}.txt {name}"}"']
    path = root.parent / f"{root.name}.toml"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _rekindle(environment: dict[str, str], root: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(
        [script("rekindle"), *words],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode != 0:
        raise Disagreement(f"rekindle {words[0]}: {done.stderr.strip() or done.stdout.strip()[-500:]}")
    return done.stdout


def _by_script(root: Path, environment: dict[str, str], names: list[list[str]]) -> None:
    trees = root / ".worktrees"

    def git(*words: str, cwd: Path = root) -> None:
        command = [GIT, *_WHO, *words]
        subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    def work(name: str) -> None:
        tree = trees / name
        _agent(tree, environment, f"write {name}.txt {name}")
        git("add", "-A", cwd=tree)
        git("commit", "-q", "-m", name, cwd=tree)

    git("worktree", "add", "-q", "-b", "feature/planned", str(trees / "merges"))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for wave in names:
            for name in wave:
                git("worktree", "add", "-q", "-b", f"work/{name}", str(trees / name), "feature/planned")
            list(pool.map(work, wave))
            for name in wave:
                git("merge", "-q", "--no-ff", "-m", f"Merge {name}", f"work/{name}", cwd=trees / "merges")
                git("worktree", "remove", str(trees / name))
                git("branch", "-q", "-D", f"work/{name}")


def _agent(tree: Path, environment: dict[str, str], prompt: str) -> None:
    """One turn of the scripted agent, by its own protocol."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rekindle.scripted"],
        cwd=tree,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None and process.stdout is not None
    number = count(1)

    def ask(method: str, **params: Any) -> dict[str, Any]:
        assert process.stdin is not None and process.stdout is not None
        this = next(number)
        request = {"jsonrpc": "2.0", "id": this, "method": method, "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            said: dict[str, Any] = json.loads(line)
            if said.get("id") == this and "method" not in said:
                return dict(said["result"])
            if "method" in said and "id" in said:  # it asks for a permission: the first option
                chosen = said["params"]["options"][0]["optionId"]
                answer = {"outcome": {"outcome": "selected", "optionId": chosen}}
                process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": answer}).encode() + b"\n")
                process.stdin.flush()
        raise Disagreement("the agent left")

    ask("initialize", protocolVersion=1, clientCapabilities={})
    session = ask("session/new", cwd=str(tree), mcpServers=[])["sessionId"]
    ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": prompt}])
    process.stdin.close()
    process.wait(30)
    process.stdout.close()


def _check(root: Path, branch: str, tasks: int) -> None:
    words = [GIT, "ls-tree", "--name-only", branch]
    found = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    if len(found) != tasks:
        raise Disagreement(f"{tasks} tasks became {len(found)} files")
