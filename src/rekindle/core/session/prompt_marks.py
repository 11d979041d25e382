"""Short forms of long texts: what is kept forever of an agent's record suffices to find a prompt in it, and no more."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

_LONGEST: Final = 80
_HEAD: Final = 40


def mark(text: str) -> str:
    """A short text itself; for a longer one, its beginning and its hash. The mark of a mark is the same mark."""
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{text[:_HEAD]}…#{digest}"


def marks(texts: Iterable[str]) -> list[str]:
    """The marks of some texts, in order."""
    return [mark(text) for text in texts]


def in_both(shown: Sequence[str], read: Sequence[str] | None) -> list[str]:
    """What an agent shows may differ from what its model gets: if its record was read, both count."""
    return list(shown) if read is None else list((Counter(marks(shown)) & Counter(marks(read))).elements())
