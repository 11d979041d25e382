"""What of a conversation is searched, piece by piece: the words of one message are one document. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.masking import Masker

#: Longer ones are cut into several, so that a snippet of a huge output is found as fast as of a short one.
LONGEST = 20_000
_LEFT_OUT = ("attempt", "end")
_STREAMED = ("said", "thought")


@dataclass(frozen=True)
class Document:
    """One message, or a part of a long one."""

    kind: str
    text: str


def documents(entries: Iterable[ConversationEntry], masker: Masker) -> list[Document]:
    """The documents of one attempt, masked. More entries may change the last message and add others, nothing else."""
    found: list[Document] = []
    kind = ""
    parts: list[str] = []
    for entry in entries:
        if entry.kind != kind or kind not in _STREAMED:
            found.extend(_cut(kind, masker.text("".join(parts))))
            kind, parts = entry.kind, []
        parts.append(entry.text)
    found.extend(_cut(kind, masker.text("".join(parts))))
    return found


def digest(found: Sequence[Document]) -> bytes:
    """What tells whether documents are still those that were indexed."""
    hashed = hashlib.blake2b(digest_size=16)
    for one in found:
        hashed.update(f"{one.kind}\0{len(one.text)}\0".encode())
        hashed.update(one.text.encode("utf-8", "surrogatepass"))
    return hashed.digest()


def _cut(kind: str, text: str) -> Iterator[Document]:
    if kind in _LEFT_OUT:
        return
    while text.strip():
        end = len(text)
        if end > LONGEST:
            end = max(text.rfind("\n", LONGEST // 2, LONGEST), text.rfind(" ", LONGEST // 2, LONGEST)) + 1 or LONGEST
        yield Document(kind, text[:end])
        text = text[end:]
