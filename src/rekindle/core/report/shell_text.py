"""Which commands of a shell's text decide its exit status. Pure.

Only texts that are plain lists of commands are understood. Anything else (conditions, loops, functions, substitutions,
`||`, commands in the background) is not: then nothing is known about what the exit status means.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

#: Commands, as words, all of which ended with 0 if the text did.
Counted = list[list[str]]

_PUZZLING: Final = re.compile(r"[`$\\{}!]|\|\||<<")
_QUOTED_OPERATOR: Final = re.compile(r"'[^']*[;|&()<>\n][^']*'|\"[^\"]*[;|&()<>\n][^\"]*\"")
_CONTROL: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "for", "do", "done", "case", "esac", "function"}
    | {"trap", "exit", "return", "eval"}
)


def counted_commands(text: str, *, stops_at_failure: bool = False, pipes_fail: bool = False) -> Counted | None:
    """The commands that must have ended with 0 if the text did, and the changes of folder before them; None: unknown.

    Without `set -e` only the last list counts: in `a; b` nobody hears how `a` ended.
    """
    if _PUZZLING.search(text) or _QUOTED_OPERATOR.search(text):
        return None
    statements = _statements(text)
    if statements is None:
        return None
    found: Counted = []
    for number, statement in enumerate(statements):
        is_last = number == len(statements) - 1
        commands = [command for pipe in statement for command in (pipe if pipes_fail else pipe[-1:])]
        if any(command[0] in _CONTROL for pipe in statement for command in pipe) and not _only_leaves(statement):
            return None
        if commands[0][0] == "set":
            stops_at_failure = stops_at_failure or any(re.match(r"-[a-z]*e", word) for word in commands[0])
            pipes_fail = pipes_fail or "pipefail" in commands[0]
        # `set -e` does not stop at a failure inside of `a && b`, unless that is the last list.
        if is_last or (stops_at_failure and len(statement) == 1):
            found += commands
        else:
            found += [command for command in commands if command[0] == "cd"]
    return [one for one in found if one[0] != "exit"]


def _only_leaves(statement: list[list[list[str]]]) -> bool:
    """Whether the only word of control in a list is an `exit` after `&&`, which changes nothing."""
    first, *rest = [command for pipe in statement for command in pipe]
    return first[0] not in _CONTROL and all(one[0] not in _CONTROL or one == ["exit", "0"] for one in rest)


def _statements(text: str) -> list[list[list[list[str]]]] | None:
    """The text as lists (by `&&`) of pipes of commands; None if it has something else."""
    found: list[list[list[list[str]]]] = []
    for line in text.split("\n"):
        try:
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            return None
        statement: list[list[list[str]]] = [[[]]]
        skip = False
        for number, word in enumerate(words):
            following = words[number + 1] if number + 1 < len(words) else ""
            if skip:
                skip = False
            elif re.fullmatch(r"&?[<>]+&?", word):
                skip = True
            elif word.isdigit() and re.fullmatch(r"[<>]+&?", following):
                continue
            elif word == ";":
                found.append(statement)
                statement = [[[]]]
            elif word == "&&":
                statement.append([[]])
            elif word == "|":
                statement[-1].append([])
            elif re.fullmatch(r"[;&|()<>]+", word):
                return None
            else:
                statement[-1][-1].append(word)
        found.append(statement)
    found = [one for one in found if one != [[[]]]]
    is_whole = all(command for statement in found for pipe in statement for command in pipe)
    return found if found and is_whole else None
