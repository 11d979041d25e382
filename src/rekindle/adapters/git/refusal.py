"""How the light modules here refuse a repository: the tree of errors is loaded only when there is one to raise."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.ports.errors import ForeignRepository


def refused(message: str, hint: str) -> ForeignRepository:
    """The error to raise."""
    from rekindle.ports.errors import ForeignRepository

    return ForeignRepository(message, hint)
