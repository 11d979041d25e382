"""What a command that ended with 0 shows: that tests, a build or a linter ran well. Pure.

It knows the usual programs by name. A command that nobody recognises shows nothing but itself, and one that only lists
or pretends (`--collect-only`, `--dry-run`) shows nothing at all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from rekindle.core.report.contents import Subject

_NOTHING: Final[frozenset[Subject]] = frozenset()
#: Programs that check one thing, whatever their arguments.
_PROGRAMS: Final[dict[Subject, frozenset[str]]] = {
    "tests": frozenset(
        {
            "pytest",
            "py.test",
            "unittest",
            "tox",
            "nox",
            "jest",
            "vitest",
            "mocha",
            "rspec",
            "phpunit",
            "ctest",
            "behave",
        }
    ),
    "build": frozenset({"tsc", "gcc", "clang", "webpack", "rollup"}),
    "lint": frozenset(
        {"ruff", "mypy", "pyright", "flake8", "pylint", "eslint", "tsc", "golangci-lint", "shellcheck", "prettier"}
    ),
}
#: Programs that do what one of their words names.
_RUNNERS: Final = frozenset(
    {"make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "go", "mvn", "mvnw", "gradle"}
    | {"gradlew", "dotnet", "mix", "swift", "bazel", "rake", "meson", "ninja", "composer", "cmake", "poe", "hatch"}
)
_WORDS: Final[dict[Subject, frozenset[str]]] = {
    "tests": frozenset({"test", "tests", "check", "verify", "nextest"}),
    "build": frozenset({"build", "compile", "package", "all", "--build", "assemble"}),
    "lint": frozenset({"lint", "typecheck", "clippy", "vet"}),
}
#: What stands before the command that is meant.
_WRAPPERS: Final = frozenset(["env", "time", "nice", "timeout", "npx", "pnpx", "bunx", "xvfb-run", "sudo"])
_RUNS: Final = frozenset(["uv", "poetry", "pipenv", "hatch", "rye", "pdm"])
_PYTHON: Final = re.compile(r"python[\d.]*")
_SCRIPT: Final = re.compile(r"(?:run[-_]?)?(?:all[-_]?)?tests?(?:\.(?:sh|py|js|ts|rb|pl|bash))?")
_PRETENDING: Final = frozenset(
    {"--collect-only", "--co", "--dry-run", "--help", "-h", "--version", "--listTests", "--no-run", "--list"}
    | {"--just-print", "--fixtures"}
)
_SHELLS: Final = frozenset(["sh", "bash", "dash", "zsh"])


def checks(command: str) -> frozenset[Subject]:
    """What this command checks."""
    try:
        words = shlex.split(command)
    except ValueError:
        return _NOTHING
    return _checked(words)


def _checked(words: Sequence[str]) -> frozenset[Subject]:
    words = _meant(words)
    if not words or _PRETENDING.intersection(words):
        return _NOTHING
    name = words[0].rpartition("/")[2]
    if name in _SHELLS:
        return _in_shell(words[1:])
    if name in ("make", "gmake") and "-n" in words:
        return _NOTHING
    found = {subject for subject, programs in _PROGRAMS.items() if name in programs}
    if name in _RUNNERS:
        found |= {subject for subject in _WORDS if any(_names(word, subject) for word in words[1:])}
    if ("/" in words[0] or "." in name) and _SCRIPT.fullmatch(name):
        found.add("tests")
    return frozenset(found)


def _names(word: str, subject: Subject) -> bool:
    """Whether a word of a runner names a target: `test`, and also `test:unit` and `test-fast`."""
    return re.split(r"[:\-]", word, maxsplit=1)[0] in _WORDS[subject] or word in _WORDS[subject]


def _meant(words: Sequence[str]) -> list[str]:
    """The command itself, without settings of variables and what it is started by."""
    left = list(words)
    while left:
        name = left[0].rpartition("/")[2]
        if re.fullmatch(r"[A-Za-z_]\w*=.*", left[0], re.DOTALL) or name in _WRAPPERS:
            left = left[1:]
            while name in ("timeout", "nice") and left and re.fullmatch(r"-.*|[\d.]+[smhd]?", left[0]):
                left = left[1:]
        elif (name in _RUNS and left[1:2] == ["run"]) or (_PYTHON.fullmatch(name) and left[1:2] == ["-m"]):
            left = left[2:]
        elif _PYTHON.fullmatch(name) and len(left) > 1 and not left[1].startswith("-"):
            return [f"./{left[1]}" if "/" not in left[1] else left[1], *left[2:]]
        else:
            break
    return left


def _in_shell(words: Sequence[str]) -> frozenset[Subject]:
    """A shell's exit status speaks for all of its commands only if they are joined by `&&`."""
    if words and not words[0].startswith("-"):
        return _checked([f"./{words[0]}" if "/" not in words[0] else words[0], *words[1:]])
    if len(words) < 2 or not words[0].endswith("c"):
        return _NOTHING
    text = words[1]
    if re.search(r"[;|\n`]|\$\(|(?<!&)&(?!&)", text):
        return _NOTHING
    found: frozenset[Subject] = _NOTHING
    for part in text.split("&&"):
        found |= checks(part)
    return found
