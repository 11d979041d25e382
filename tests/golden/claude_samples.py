"""The recorded streams and transcripts, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "claude"


def _samples(suffix: str) -> dict[str, bytes]:
    return {path.name.removesuffix(suffix): path.read_bytes() for path in sorted(_FOLDER.glob(f"*{suffix}"))}


STREAMS: Final = _samples(".stream.jsonl")
TRANSCRIPTS: Final = _samples(".transcript.jsonl")
