"""On which line of a TOML text each key is. Pure.

`tomllib` gives values without places. This scans a text that `tomllib` has accepted, so it may assume that the text is
valid; in any other text it finds what it can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

#: A path of keys and of positions in arrays, as in `("agent", "worker", "on_error", 1, "action")`.
TomlPath = tuple[str | int, ...]

_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t\r\n]+|\#[^\n]*)"
    r'|(?P<string>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
    r"|(?P<mark>[\[\]{}=,.])"
    r"|(?P<word>[^\s\[\]{}=,.#\"']+)",
    re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def name(self) -> str:
        """The token as the name of a key."""
        return self.text[1:-1] if self.kind == "string" else self.text


class _Scanner:
    """Walks over the tokens. A key is recognised by the `=` or `]` after it, so line ends do not count."""

    def __init__(self, text: str) -> None:
        every = (_Token(found.lastgroup or "", found[0], found.start()) for found in _TOKEN.finditer(text))
        self._tokens = [token for token in every if token.kind != "blank"]
        self._text = text
        self._at = 0
        self._lengths: dict[TomlPath, int] = {}
        self.places: dict[TomlPath, int] = {}

    def scan(self) -> None:
        table: TomlPath = ()
        while (token := self._next()) is not None:
            if token.text == "[" and token.kind == "mark":
                table = self._header(token)
            elif token.kind != "mark":
                self._pair(table, token)

    def _header(self, first: _Token) -> TomlPath:
        is_array = self._is_next("[")
        self._at += is_array
        path: TomlPath = ()
        while (token := self._next()) is not None and not self._is_mark(token, "]"):
            if token.kind != "mark":
                path = (*self._newest(path), token.name)
                self._note(path, first)
        if is_array:
            self._at += 1
            self._lengths[path] = self._lengths.get(path, 0) + 1
        path = self._newest(path)
        self._note(path, first)
        return path

    def _newest(self, path: TomlPath) -> TomlPath:
        """A header that names an array of tables means its newest element."""
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _pair(self, table: TomlPath, first: _Token) -> None:
        path = (*table, first.name)
        self._note(path, first)
        while (token := self._next()) is not None and not self._is_mark(token, "="):
            if token.kind != "mark":
                path = (*path, token.name)
                self._note(path, token)
        self._value(path)

    def _value(self, path: TomlPath) -> None:
        token = self._next()
        if token is None:
            return
        if self._is_mark(token, "["):
            self._array(path)
        elif self._is_mark(token, "{"):
            while (inner := self._next()) is not None and not self._is_mark(inner, "}"):
                if inner.kind != "mark":
                    self._pair(path, inner)
        else:
            while self._is_next("."):  # the rest of a float
                self._at += 2
            if (
                _DATE.fullmatch(token.text)
                and self._at < len(self._tokens)
                and _TIME.match(self._tokens[self._at].text)
            ):
                self._at += 1  # a date, a space, and a time
                while self._is_next("."):
                    self._at += 2

    def _array(self, path: TomlPath) -> None:
        position = 0
        while self._at < len(self._tokens) and not self._is_next("]"):
            if self._is_next(","):
                self._at += 1
                continue
            self._note((*path, position), self._tokens[self._at])
            self._value((*path, position))
            position += 1
        self._at += 1

    def _note(self, path: TomlPath, token: _Token) -> None:
        self.places.setdefault(path, self._text.count("\n", 0, token.start) + 1)

    def _next(self) -> _Token | None:
        if self._at >= len(self._tokens):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def _is_next(self, mark: str) -> bool:
        return self._at < len(self._tokens) and self._is_mark(self._tokens[self._at], mark)

    @staticmethod
    def _is_mark(token: _Token, mark: str) -> bool:
        return token.kind == "mark" and token.text == mark


_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIME: Final = re.compile(r"\d\d:\d\d")


def places(text: str) -> Mapping[TomlPath, int]:
    """The line of every table, key and array element, counted from 1."""
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.places


def line_at(found: Mapping[TomlPath, int], path: TomlPath) -> int | None:
    """The line of a path, or of the nearest key above it that has one."""
    while path:
        if path in found:
            return found[path]
        path = path[:-1]
    return None
