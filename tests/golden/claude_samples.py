"""The recorded transcripts, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "claude"
_SUFFIX: Final = ".transcript.jsonl"

TRANSCRIPTS: Final = {
    path.name.removesuffix(_SUFFIX): path.read_bytes() for path in sorted(_FOLDER.glob(f"*{_SUFFIX}"))
}
