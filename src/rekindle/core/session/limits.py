"""Whether a session has taken all that it may. Pure."""

from __future__ import annotations

from rekindle.core.session.facts import Limits, Usage


def reached(limits: Limits, usage: Usage) -> str | None:
    """The limit that is reached, in words; None: it may go on."""
    if limits.cost is not None and usage.cost is not None and usage.cost >= limits.cost:
        return f"it has cost ${usage.cost:.4f}, and may cost ${limits.cost:g}"
    if limits.tokens is not None and usage.tokens >= limits.tokens:
        return f"it has taken {usage.tokens} tokens, and may take {limits.tokens}"
    return None
