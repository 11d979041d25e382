"""Other people's text inside ours."""

from __future__ import annotations


def quoted(text: str, most: int, *, tail: bool = False) -> str:
    """A quotation: not too long, and with its further lines indented, so that it cannot be taken for an instruction."""
    text = text.strip()
    if len(text) > most:
        text = "…" + text[-most:] if tail else text[:most] + "…"
    return "\n    ".join(text.splitlines())
