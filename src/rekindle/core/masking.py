r"""Hides secrets in text: by what they look like, and by the values in this environment. Pure.

The replacement says what was there (`[masked:ANTHROPIC_API_KEY]`) and is plain text without quotes or backslashes, so
JSON stays JSON. Masking again changes nothing: a pass is repeated until it finds nothing more.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from re import Match, Pattern
from typing import Any

from rekindle.core.secret_patterns import BARE_SECRET, RULES, SecretRule, is_secret_member
from rekindle.core.secret_values import SecretForm, forms

_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", '"': '"', "\\": "\\", "/": "/"}
_SHORTEST_MEMBER = 6
_PLAIN = re.compile(r"[A-Za-z0-9]+")
#: Not in the middle of a word; a word may begin after a JSON escape, but not with the escape's letter.
_ALONE = r"(?:(?<![A-Za-z0-9_\\])|(?<=\\[nrtbf]))"
_MARK = re.compile(r"\[masked:[^\]\n]{0,80}\]")


class Masker:
    """Masks with one environment's secrets. `counts` tells what was masked since it was made, by label."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        found = forms(environment or {})
        self._values = [_Value(one) for one in found]
        self._numbers = {int(one.text): one.name for one in found if one.form == "number"}
        self.counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text without its secrets. JSON text stays JSON text."""
        while (masked := self._pass(text)) != text:
            text = masked
        return text

    def data(self, data: bytes) -> bytes:
        """The same for bytes of any kind: only the text in them can be a secret."""
        text = data.decode("utf-8", "surrogateescape")
        masked = self.text(text)
        return data if masked is text else masked.encode("utf-8", "surrogateescape")

    def lines(self, data: bytes) -> bytes:
        """Lines of JSON, or of anything: each text in them is masked as itself, not as JSON writes it."""
        return b"\n".join(self._line(line) for line in data.split(b"\n"))

    def value(self, value: Any) -> Any:
        """A JSON value with every text in it masked. Returns the same object if there was nothing to mask."""
        match value:
            case str():
                return self.text(value)
            case list():
                items = [self.value(item) for item in value]
                return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
            case dict():
                members = {self.text(key): self._member(key, item) for key, item in value.items()}
                same = all(key in members and members[key] is item for key, item in value.items())
                return value if same else members
            case int() if not isinstance(value, bool) and value in self._numbers:
                return self._mark(self._numbers[value])
            case _:
                return value

    def _member(self, key: str, item: Any) -> Any:
        if isinstance(item, str) and len(item) >= _SHORTEST_MEMBER and is_secret_member(key):
            return item if _MARK.fullmatch(item) else self._mark(key)
        return self.value(item)

    def _line(self, line: bytes) -> bytes:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return self.data(line)
        masked = self.value(value)
        if masked is value:
            return line
        return json.dumps(masked, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def _pass(self, text: str) -> str:
        for value in self._values:
            if value.needle in text:
                text = value.pattern.sub(self._replacement_of(value), text)
        lowered = _lowered(text)
        for rule in RULES:
            searched = lowered if rule.ignores_case else text
            if rule.needle in searched:
                masked = self._apply(rule, text, searched)
                text, lowered = masked, lowered if masked is text else _lowered(masked)
        return BARE_SECRET.sub(lambda _: self._mark("aws secret"), text)

    def _apply(self, rule: SecretRule, text: str, searched: str) -> str:
        kept: list[str] = []
        done = 0
        at = searched.find(rule.needle)
        while at >= 0:
            match = rule.pattern.match(text, at)
            if match is not None:
                start, end = match.span("secret")
                label = match.groupdict().get("name") or rule.label
                kept += (text[done:start], self._mark(label.lower() if rule.ignores_case else label))
                done = end
            at = searched.find(rule.needle, at + 1 if match is None else done)
        return "".join((*kept, text[done:])) if kept else text

    def _replacement_of(self, value: _Value) -> Callable[[Match[str]], str]:
        def replace(match: Match[str]) -> str:
            # An odd backslash before it would escape our bracket: it belongs to the secret, or to nothing.
            backslashes = match["before"]
            mark = self._mark(value.name)
            if value.form == "number" and match["bare"] is not None:
                return f"{match['bare']}0"  # a JSON number has to stay one
            is_structure = value.is_json and '"' in match["secret"] and "\\" not in match["secret"]
            return backslashes[len(backslashes) % 2 :] + (f'"{mark}"' if is_structure else mark)

        return replace

    def _mark(self, label: str) -> str:
        label = "".join(char if (char.isascii() and char.isalnum()) or char in "_- ." else "_" for char in label)[:80]
        self.counts[label] += 1
        return f"[masked:{label}]"


class _Value:
    """One secret of the environment, and the pattern for all ways in which JSON may write it, nested or not."""

    def __init__(self, secret: SecretForm) -> None:
        self.name = secret.name
        self.form = secret.form
        self.is_json = secret.form == "text" and secret.text[:1] in "{["
        self.needle = max(_PLAIN.findall(secret.text), key=len, default="")
        self.pattern = _written(secret)


def _lowered(text: str) -> str:
    """In lower case, with every character in its place (some become two in lower case)."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(char.lower() if char.isascii() else char for char in text)
    return lowered


def _written(secret: SecretForm) -> Pattern[str]:
    body = "".join(_character(char) for char in secret.text)
    match secret.form:
        case "text":
            return re.compile(rf"(?<!\\)(?P<before>\\*)(?P<secret>{body})")
        case "word":
            return re.compile(rf"{_ALONE}(?P<before>)(?P<secret>{body})(?![A-Za-z0-9_-])")
        case "number":
            bare = r"(?P<bare>(?:^|[:,\[])[ \t\r\n]{0,400})"
            ends = r"(?=[ \t\r\n]{0,400}(?:[,}\]]|$))"
            return re.compile(
                rf"(?P<before>)(?:{bare}(?P<secret>{body}){ends}|{_ALONE}(?<![.+-]){body}(?![A-Za-z0-9_-]|\.[0-9]))"
            )


def _character(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    codes = [f"{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)]
    hexed = "".join(rf"\\{{1,15}}u(?i:{code})" for code in codes)
    short = rf"|\\{{1,15}}{re.escape(_ESCAPES[char])}" if char in _ESCAPES else ""
    return f"(?:{re.escape(char)}|{hexed}{short})"
