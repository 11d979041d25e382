"""How a story stops where something does not hold."""

from __future__ import annotations


class Violation(AssertionError):
    """Something that must always hold does not."""


def demand(holds: bool, otherwise: str) -> None:
    """Stop the story where something does not hold."""
    if not holds:
        raise Violation(otherwise)
