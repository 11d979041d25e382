"""Where Claude Code keeps a conversation. Checked against the real program, 2.1.197."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from rekindle.agents.base.transcript import NoPlace

_LONGEST_SLUG: Final = 200
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")


def place(environment: Mapping[str, str], cwd: str, token: str) -> str:
    """The path of a conversation's file. Raises NoPlace."""
    if not _TOKEN.fullmatch(token):
        raise NoPlace(f"{token!r} cannot be the name of a conversation")
    return posixpath.join(_configuration(environment, cwd), "projects", slug(cwd), f"{token}.jsonl")


def _configuration(environment: Mapping[str, str], cwd: str) -> str:
    """The agent's own folder. An empty variable counts as set, and means the working folder."""
    named = environment.get("CLAUDE_CONFIG_DIR")
    if named is None:
        if not environment.get("HOME"):
            raise NoPlace("the agent's environment has no HOME")
        named = posixpath.join(environment["HOME"], ".claude")
    return posixpath.normpath(posixpath.join(cwd, unicodedata.normalize("NFC", named)))


def slug(path: str) -> str:
    """A folder's path as the name of one folder.

    The program counts UTF-16 units, so a character outside the basic plane makes two dashes. A long name is cut, and
    a hash of the whole path is appended.
    """
    data = path.encode("utf-16-le", "surrogatepass")
    units = [low + 256 * high for low, high in zip(data[::2], data[1::2], strict=True)]
    name = re.sub("[^A-Za-z0-9]", "-", "".join(map(chr, units)))
    return name if len(name) <= _LONGEST_SLUG else f"{name[:_LONGEST_SLUG]}-{_hash(units)}"


def _hash(units: list[int]) -> str:
    """The absolute value of a signed 32-bit number, in base 36."""
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    rest = min(value, 2**32 - value)
    digits = ""
    while rest or not digits:
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    return digits
