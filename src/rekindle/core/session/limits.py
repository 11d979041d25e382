"""Whether a session has used all that it may. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from rekindle.core.session.facts import Limits, Usage


def reached(limits: Limits, usage: Usage) -> str | None:
    """The limit that is reached, in words; None: it may continue."""
    if limits.cost is not None and usage.cost is not None and usage.cost >= limits.cost:
        return f"it has cost ${usage.cost:.4f}, and its limit is ${limits.cost:g}"
    if limits.tokens is not None and usage.tokens >= limits.tokens:
        return f"it has used {usage.tokens} tokens, and its limit is {limits.tokens}"
    return None


def raised(limits: Limits, usage: Usage) -> Limits:
    """The limits that are reached, doubled: at least twice what was used, so that there is room to go on."""
    if limits.tokens is not None and usage.tokens >= limits.tokens:
        limits = replace(limits, tokens=2 * usage.tokens)
    if limits.cost is not None and usage.cost is not None and usage.cost >= limits.cost:
        limits = replace(limits, cost=round(2 * usage.cost, 2) or 2 * usage.cost)
    return limits
