"""git is started in one place, so that nobody can forget what must not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import rekindle

SOURCE = Path(rekindle.__file__).parent
PLACE = "adapters/git/process.py"
#: Modules that start programs, and none of them git: agents, commands that a person or a plan names,
#: receivers of notifications, tools for boot entries, a second reader of a long journal, tmux, the keeper.
STARTERS = {
    PLACE,
    "adapters/boot/tools.py",
    "adapters/daemon_socket/client.py",
    "adapters/journal_file/second_half.py",
    "adapters/keepers/scopes.py",
    "adapters/machine/agent_programs.py",
    "adapters/machine/checks.py",
    "adapters/machine/command_launcher.py",
    "adapters/machine/commands.py",
    "adapters/machine/hook_script.py",
    "adapters/notify/command.py",
    "doors/cli/terminals.py",
    "keeper/agent.py",
    "keeper/launch.py",
    "keeper/nursery.py",
    "scripted/commands.py",
}
_CALLS = {
    "Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "system", "popen",
    "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell", "posix_spawn",
    "posix_spawnp", "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe", "spawnv",
    "spawnve", "spawnvp", "spawnl", "spawnlp", "fork_exec",
}  # fmt: skip
_MODULES = {"subprocess", "os", "asyncio", "posix", "_posixsubprocess"}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def _starts_programs(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _CALLS:
            base = node.value
            if isinstance(base, ast.Name) and base.id in _MODULES and (base.id, node.attr) != ("asyncio", "run"):
                return True
        if not isinstance(node, ast.ImportFrom) or node.module not in _MODULES:
            continue
        if any(alias.name in _CALLS for alias in node.names):
            return True
    return False


def test_only_known_modules_start_programs() -> None:
    found = {name for name, tree in _modules() if _starts_programs(tree)}
    assert found == STARTERS, "does a new one start git? then it has to go through adapters/git/process.py"


def test_no_other_module_spells_a_git_command() -> None:
    """A list or tuple of words that begins with git, or a path to it."""
    found = set()
    for name, tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.List | ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
                first = node.elts[0].value
                if isinstance(first, str) and first.rpartition("/")[2] == "git" and isinstance(node.ctx, ast.Load):
                    found.add(name)
    assert found == {PLACE}
