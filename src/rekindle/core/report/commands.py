"""What the exit status of a command shows: that tests, a build or a linter ran well, or did not. Pure.

It knows the usual programs by name. A command that nobody recognises shows nothing but itself. One that only lists or
pretends (`--collect-only`, `--dry-run`), that works in a folder outside of the work, or whose exit status is not that
of the check (`|| true`, `| tail`) shows nothing at all. One that was told to
run some tests does not show that all pass.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from rekindle.core.report import command_words as known
from rekindle.core.report.contents import Subject
from rekindle.core.report.shell_text import Counted, counted_commands

_NOTHING: Final[frozenset[Subject]] = frozenset()


class Shown(msgspec.Struct, frozen=True):
    """What a command shows. `whole`: if it ended with 0, all of it went well. `part`: if so, some of it did.

    `fails`: if it ended with anything else, this did not go well.
    """

    whole: frozenset[Subject] = _NOTHING
    part: frozenset[Subject] = _NOTHING
    fails: frozenset[Subject] = _NOTHING

    @property
    def subjects(self) -> frozenset[Subject]:
        """What it is about at all."""
        return self.whole | self.part | self.fails


def shown(command: str) -> Shown:
    """What this command shows."""
    try:
        words = shlex.split(command)
    except ValueError:
        return Shown()
    return _shown(words)


def _shown(words: Sequence[str]) -> Shown:
    if _works_elsewhere(words):
        return Shown()
    words = _meant(words)
    if not words:
        return Shown()
    name = words[0].rpartition("/")[2]
    if name in known.SHELLS:
        return _in_shell(words[1:])
    if known.PRETENDING.intersection(words) or _pretends(name, words) or _looks_elsewhere(words):
        return Shown()
    targets = _targets(name, words)
    found: frozenset[Subject] = _NOTHING.union(*targets)
    if any(known.SKIPS_TESTS.fullmatch(word) for word in words):
        found -= {"tests"}
    if not found:
        return Shown()
    fails = found.intersection(*targets)
    if _is_narrowed(name, words, found):
        return Shown(part=found, fails=fails)
    return Shown(whole=found, fails=fails)


def _targets(name: str, words: Sequence[str]) -> list[frozenset[Subject]]:
    """What each thing that the command was told to do checks."""
    own = frozenset(subject for subject, programs in known.PROGRAMS.items() if name in programs)
    if name == "ruff" and "format" in words and "--check" not in words:
        return []
    if name == "prettier" and not {"--check", "-c", "-l", "--list-different"}.intersection(words):
        return []
    if own:
        return [own]
    if name == "node" and "--test" in words:
        return [frozenset[Subject](["tests"])]
    if name in known.SUBCOMMANDS:
        return [_named(name, _told(words)[:1])]
    if name in known.TARGETS:
        return [_named(name, [word]) for word in _told(words)]
    if ("/" in words[0] or "." in name) and known.SCRIPT.fullmatch(name):
        return [frozenset[Subject](["tests"])]
    return []


def _told(words: Sequence[str]) -> list[str]:
    """The targets or the subcommand of a runner: no options, no settings of variables, no word that only says `run`."""
    return [
        word
        for word in _positionals(words)
        if "=" not in word and not word.startswith("+") and word not in known.SAYS_RUN
    ]


def _named(name: str, words: Iterable[str]) -> frozenset[Subject]:
    """What a target names: `test`, and also `test:unit` and `test-fast`."""
    found: set[Subject] = set()
    for word in words:
        first = re.split(r"[:\-]", word, maxsplit=1)[0]
        found |= {subject for subject, names in known.WORDS.items() if first in names or word in names}
        extra = known.OWN_WORDS.get((name, word))
        if extra is not None:
            found.add(extra)
    return frozenset(found)


def _positionals(words: Sequence[str]) -> list[str]:
    """The words after the program that are neither options nor the values of options, as far as that can be told."""
    found: list[str] = []
    before = ""
    for word in words[1:]:
        excludes = before == "-x" and words[0].rpartition("/")[2].startswith("gradle")
        if not word.startswith("-") and not excludes and not _takes_value(before):
            found.append(word)
        before = word
    return found


def _takes_value(option: str) -> bool:
    if option in known.FOLDER_OPTIONS or option in known.VALUED:
        return True
    return option.startswith("--") and option != "--" and "=" not in option and option not in known.FLAGS


def _works_elsewhere(words: Sequence[str]) -> bool:
    """Whether the command was told to work in a folder outside of the one it is started in."""
    for number, word in enumerate(words):
        option, has_value, value = word.partition("=")
        if option in known.FOLDER_OPTIONS:
            folder = value if has_value else words[number + 1] if number + 1 < len(words) else ""
            if _is_outside(folder):
                return True
        elif re.match(r"-C[./]", word) and _is_outside(word[2:]):
            return True
    return False


def _looks_elsewhere(words: Sequence[str]) -> bool:
    """Whether the command was told to look at something outside of the folder it is started in."""
    places = [word for word in words[1:] if "/" in word or word == ".."]
    return any(_is_outside(place) and not _is_everything(place, words) for place in places)


def _is_outside(path: str) -> bool:
    """Whether a path leads out of the folder in which a command is started, or may do so."""
    depth = 0
    for part in path.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return True
    return path.startswith(("/", "~")) or "$" in path


def _pretends(name: str, words: Sequence[str]) -> bool:
    """Whether it checks nothing, or says 0 whatever happens."""
    if name in ("make", "gmake"):
        return any(re.fullmatch(r"-[a-zA-Z]*[ntqi][a-zA-Z]*", word) and word[1] not in "CfIjlo" for word in words[1:])
    if name == "go":
        return bool({"-c", "-n", "-list"}.intersection(words))
    return name == "ctest" and "-N" in words


def _is_narrowed(name: str, words: Sequence[str], found: frozenset[Subject]) -> bool:
    """Whether it was told to run only some of the tests, or to look at some of the files."""
    if any(known.NARROWING.fullmatch(word.partition("=")[0]) for word in words[1:]):
        return True
    if known.NARROWING_OF.get(name, _NO_WORDS).intersection(word.partition("=")[0] for word in words[1:]):
        return True
    places = _positionals(words)
    if name == "go":
        return "tests" in found and not {"./...", "..."}.intersection(places)
    if name in known.SUBCOMMANDS:
        left = [word for word in places if word not in known.SAYS_RUN and not word.startswith("+")]
        return _is_part_by_name(left[:1]) or ("tests" in found and len(left) > 1)
    if name in known.TARGETS:
        return _is_part_by_name(places)
    if "tests" not in found:
        return any(known.FILE.search(word) for word in places)
    looks_like_place = [word for word in words[1:] if "/" in word or "::" in word or known.FILE.search(word)]
    selected = [word for word in (*places, *looks_like_place) if not _is_everything(word, words)]
    return bool(selected) and not known.SCRIPT.fullmatch(name)


_NO_WORDS: Final[frozenset[str]] = frozenset()


def _is_part_by_name(targets: Iterable[str]) -> bool:
    """`test:unit` and `test-fast` are parts of the tests, as the project itself says."""
    for target in targets:
        first, _, rest = target.replace("-", ":").partition(":")
        if first in known.WORDS["tests"] and rest and rest not in known.ALL_OF_IT:
            return True
    return False


def _is_everything(word: str, words: Sequence[str]) -> bool:
    """Whether a word of a test program does not select some tests: a usual folder, a subcommand, an option's value."""
    if word.startswith("-") or word.rstrip("/").removeprefix("./") in known.EVERYTHING:
        return True
    before = words[words.index(word) - 1]
    return before.startswith("-") and known.OUTPUT.search(before) is not None


def _meant(words: Sequence[str]) -> list[str]:
    """The command itself, without settings of variables and what it is started by."""
    left = list(words)
    while left:
        name = left[0].rpartition("/")[2]
        if re.fullmatch(r"[A-Za-z_]\w*=.*", left[0], re.DOTALL):
            left = left[1:]
        elif name in known.WRAPPERS:
            left = _after_options(left[1:])
            while name in ("timeout", "nice") and left and re.fullmatch(r"[\d.]+[smhd]?", left[0]):
                left = left[1:]
        elif (name in known.RUNS and left[1:2] == ["run"]) or (name in known.EXECS and left[1:2] == ["exec"]):
            left = _after_options(left[2:])
        elif name in known.INTERPRETERS or known.PYTHON.fullmatch(name):
            return _interpreted(left)
        else:
            break
    return left


def _interpreted(words: list[str]) -> list[str]:
    """What an interpreter runs: a module, or a script."""
    left = words[1:]
    while left and left[0] in ("-W", "-X"):
        left = left[2:]
    while left and re.fullmatch(r"-[bBdEiIOPqsSuv]+", left[0]):
        left = left[1:]
    if left[:1] == ["-m"] and known.PYTHON.fullmatch(words[0].rpartition("/")[2]):
        return _meant(left[3:]) if left[1:3] == ["coverage", "run"] else left[1:]
    if left and not left[0].startswith("-"):
        return _meant([left[0] if "/" in left[0] else f"./{left[0]}", *left[1:]])
    return words if words[0].endswith("node") else []


def _after_options(words: list[str]) -> list[str]:
    """The words after the options of a wrapper."""
    left = list(words)
    while left and left[0].startswith("-"):
        has_value = left[0] in known.WRAPPERS_VALUES or left[0] in known.FOLDER_OPTIONS
        left = left[2 if has_value and "=" not in left[0] else 1 :]
    return left


def _in_shell(words: Sequence[str]) -> Shown:
    """What a script or a text shows that a shell runs."""
    left, stops_at_failure, pipes_fail = list(words), False, False
    while left and left[0].startswith("-"):
        flags = left[0]
        is_long = flags.startswith("--")
        if "n" in flags and not is_long:
            return Shown()
        stops_at_failure = stops_at_failure or ("e" in flags and not is_long)
        if flags.endswith("o") and not is_long:
            pipes_fail = pipes_fail or left[1:2] == ["pipefail"]
            left = left[2:]
            continue
        left = left[1:]
        if "c" in flags and not is_long:
            if left and left[0] == "-o":
                pipes_fail, left = left[1:2] == ["pipefail"], left[2:]
            text = left[0] if left else ""
            return _all_of(counted_commands(text, stops_at_failure=stops_at_failure, pipes_fail=pipes_fail))
    if not left:
        return Shown()
    return _shown([left[0] if "/" in left[0] else f"./{left[0]}", *left[1:]])


def _all_of(commands: Counted | None) -> Shown:
    """What the exit status of several commands shows, all of which have to end well."""
    if commands is None:
        return Shown()
    found: list[Shown] = []
    for words in commands:
        if words[0] == "cd":
            if len(words) != 2 or _is_outside(words[1]):
                return Shown()
        elif words[0] not in known.SETTING_UP:
            found.append(_shown(words))
    whole = _NOTHING.union(*(one.whole for one in found))
    part = _NOTHING.union(*(one.part for one in found)) - whole
    fails = found[0].fails if len(found) == 1 else _NOTHING
    return Shown(whole, part, fails)
