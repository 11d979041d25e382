"""Text in HTML: escaped, and without characters that control a terminal, turn the line around or hide from a reader."""

from __future__ import annotations

import html

from rekindle.core.terminal_text import printable


def escape(text: str, quote: bool = True) -> str:
    """Text from anywhere as HTML. Its lines stay."""
    return html.escape("\n".join(printable(line) for line in text.split("\n")), quote=quote)
