"""`rekindle resume --explain`, as it is shown."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.app.session_resuming import Explained
from rekindle.core.terminal_text import printable


def shown(found: Explained) -> dict[str, Any]:
    """Evidence, decision and reasons, as an object with a text for people."""
    text = [
        "Evidence:",
        *(f"  {printable(line)}" for line in found.evidence),
        f"Decision: {found.decision}",
        "Because:",
    ]
    text += [f"  {printable(line)}" for line in found.reasons]
    return {**msgspec.to_builtins(found), "text": text}
