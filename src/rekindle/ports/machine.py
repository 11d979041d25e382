"""This machine, as far as it matters for rekindle's work. It is inspected, never changed."""

from __future__ import annotations

from typing import Protocol

from rekindle.core.governor.room import MachineReading


class Machine(Protocol):
    """Programs, file systems, terminals."""

    def git_version(self) -> str | None:
        """Git's version text; None if there is no git."""
        ...

    def git_identity(self, folder: str) -> str | None:
        """The email address of commits made in a folder; None if nobody has set one."""
        ...

    def free_bytes(self, folder: str) -> int | None:
        """How much room the disk of a folder has, or of its nearest existing parent; None if nobody can tell."""
        ...

    def has_program(self, name: str) -> bool:
        """Whether a program is on the PATH."""
        ...

    def lock_problem(self, folder: str) -> tuple[str, str] | None:
        """Why locks do not work in a folder, with what to do; None if they do."""
        ...

    def terminals(self) -> dict[str, str]:
        """The sessions that have one of our terminals, each with the command that would end it."""
        ...


class MachineLoad(Protocol):
    """What the machine has for agents, and how much of it is free."""

    def reading(self) -> MachineReading | None:
        """What holds now, within the limits of the container or service that we run in; None if nobody can tell."""
        ...
