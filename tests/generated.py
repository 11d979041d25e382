"""Parts of documents that programs write: each stands between two comments, the first of which names its program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rekindle"
ARCHITECTURE = ROOT / "docs" / "architecture.md"


@dataclass(frozen=True)
class Section:
    """A part of a document, and the module of the tests that writes it."""

    name: str
    program: str
    document: Path = ARCHITECTURE

    def renewed(self, content: str) -> str:
        """The document with this content in the section."""
        begin, end = f"<!-- {self.name}: made by `python -m {self.program}` -->\n", f"<!-- end of {self.name} -->"
        head, found, rest = self.document.read_text().partition(begin)
        _, ended, tail = rest.partition(end)
        if not (found and ended):
            raise ValueError(f"{self.document} has no section between {begin!r} and {end!r}")
        return f"{head}{begin}\n{content}\n\n{end}{tail}"


def first_sentence(docstring: str | None) -> str:
    """What a docstring says first, without its full stop."""
    paragraph = " ".join((docstring or "").split("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)])\. ", paragraph)[0].rstrip(".")
