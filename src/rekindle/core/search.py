"""A person's search words as SQLite's full-text search understands them, and the hits with their places.

Pure. All words have to occur; "words in quotes" have to be adjacent; wor* matches the beginning of a word. Nothing a
person can type is an error: whatever is special to the search engine is put in quotes.
"""

from __future__ import annotations

import re

import msgspec

#: Put around a hit by the search engine; indexed text never contains them.
OPEN, CLOSE = "\x02", "\x03"
_PART = re.compile(r'"([^"]*)"?(\*)?|([^\s"]+)')


class Hit(msgspec.Struct, frozen=True):
    """A hit. `marks` are the matches in the snippet: from, to."""

    session: str
    attempt: int
    kind: str
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()


def expression(text: str) -> str | None:
    """The query; None if there is no word in it."""
    found: list[str] = []
    for phrase, star, word in _PART.findall(text.replace("\0", " ")):
        is_prefix = bool(star) or word.endswith("*")
        wanted = str(phrase or word.rstrip("*"))
        if any(char.isalnum() for char in wanted):
            escaped = wanted.replace('"', '""').encode("utf-8", "replace").decode()
            found.append(f'"{escaped}"' + (" *" if is_prefix else ""))
    return " AND ".join(found) or None


def searchable(text: str) -> str:
    """Text as it is indexed: without anything that looks like a mark, or that cannot be stored."""
    plain = text.encode("utf-8", "replace").decode()
    return plain.replace(OPEN, " ").replace(CLOSE, " ").replace("\0", " ")


def hit(session: str, attempt: int, kind: str, marked: str) -> Hit:
    """A hit from a snippet that has the engine's marks in it."""
    plain = ""
    marks: list[tuple[int, int]] = []
    for number, piece in enumerate(re.split(f"[{OPEN}{CLOSE}]", marked)):
        if number % 2 and piece:
            marks.append((len(plain), len(plain) + len(piece)))
        plain += piece
    return Hit(session, attempt, kind, plain, tuple(marks))
