"""Where a job keeps the environment of its agents until their sessions begin. It may hold keys."""

from __future__ import annotations

from typing import Protocol


class JobPlaces(Protocol):
    """Readable by this user alone. Raises OSError."""

    def keep(self, job: str, env: dict[str, str], steps: dict[str, dict[str, str]]) -> None:
        """Keep the environment of a job, and what its steps have besides. On disk on return."""
        ...

    def environment(self, job: str, step: str) -> dict[str, str] | None:
        """What the agent of a step gets; None: nothing was kept, or it cannot be read."""
        ...

    def copy(self, job: str, to: str) -> None:
        """Another job gets the same environment: the schedule that starts it has it."""
        ...
