"""Which values of an environment are secrets, and in which other forms each may be written. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

_NAME: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|(?:^|_)(?:PAT|AUTH|PASS|PIN)(?:$|_)", re.IGNORECASE
)
#: Names of a single secret, and names whose secrets are often short.
_SINGULAR: Final = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|(?:^|_)(?:PAT|AUTH|PASS|PIN))$", re.IGNORECASE
)
_TYPED: Final = re.compile(r"(?:PASSWORD|PASSWD|(?:^|_)(?:PASS|PIN))$", re.IGNORECASE)
#: Names of things that are measured, not hidden.
_MEASURE: Final = re.compile(r"MAX|MIN|LIMIT|COUNT|TTL|AGE|LENGTH|SIZE|TIMEOUT|PORT|NUM|BUDGET|RATE", re.IGNORECASE)
#: Values that are not secrets whatever their name says: paths, plain switches, versions.
_PLAIN: Final = re.compile(
    r"[~.]{0,2}/.*|true|false|yes|no|on|off|none|null|disabled|enabled|required|optional|default|basic|bearer|[0-9.]*\.[0-9.]*",
    re.DOTALL | re.IGNORECASE,
)
_URL_PASSWORD: Final = re.compile(r"://[^\s/@:]{0,200}:([^\s/@]{3,250})@")
_DIGITS: Final = re.compile(r"[0-9]+")
#: Shorter values are hidden only where they stand alone, and only if they are not plain words.
LONG: Final = 8
_SHORT: Final = 4
_SHORTEST_NUMBER: Final = 6
#: Shorter lines of a long secret are too common to be hidden by themselves.
_LINE: Final = 12

Form = Literal["text", "word", "number"]


@dataclass(frozen=True)
class SecretForm:
    """One way in which a secret may be written: anywhere in a text, or only alone, as a word or a number."""

    name: str
    text: str
    form: Form


def forms(environment: Mapping[str, str]) -> list[SecretForm]:
    """Everything to be hidden, the longest first: one secret may be the beginning of another."""
    found = {one for name, value in environment.items() for one in _forms(name, value)}
    return sorted(found, key=lambda one: (-len(one.text), one.name, one.text, one.form))


def _forms(name: str, value: str) -> Iterator[SecretForm]:
    for password in _URL_PASSWORD.findall(value):
        yield from _of_secret(name, password)
    if _NAME.search(name) and not _PLAIN.fullmatch(value):
        yield from _of_secret(name, value)


def _of_secret(name: str, value: str) -> Iterator[SecretForm]:
    if _DIGITS.fullmatch(value):
        enough = _SHORT if _TYPED.search(name) else _SHORTEST_NUMBER
        if len(value) >= enough and _SINGULAR.search(name) and not _MEASURE.search(name):
            yield SecretForm(name, value, "number")
        return
    if len(value) >= LONG:
        yield SecretForm(name, value, "text")
        yield from (SecretForm(name, core, "text") for core in _in_base64(value))
        lines = [line.strip() for line in value.splitlines()]
        if len(lines) > 1:
            yield from (SecretForm(name, line, "text") for line in lines if len(line) >= _LINE and line[:5] != "-----")
    elif len(value) >= _SHORT and _SINGULAR.search(name) and not value.isalpha():
        yield SecretForm(name, value, "word")


def _in_base64(value: str) -> set[str]:
    """What any base64 text must contain if its bytes contain the value, wherever the value begins."""
    data = value.encode("utf-8", "surrogatepass")
    cores: set[str] = set()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        first = (before * 8 + 5) // 6  # the characters before it also hold bits of what comes before
        last = (before + len(data)) * 8 // 6
        core = encoded[first:last]
        if len(core) >= LONG:
            cores |= {core, core.replace("+", "-").replace("/", "_")}
    return cores
