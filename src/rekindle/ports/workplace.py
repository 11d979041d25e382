"""Where a session's agent works: its environment, its folder, and what it may ask of us there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from rekindle.agents.base.dialect import CallbackResult
from rekindle.agents.base.observation import CallbackAsked
from rekindle.core.session.facts import AnyFact, Created
from rekindle.core.session.history import Turn
from rekindle.core.session.state import Session


class Workplace(Protocol):
    """Belongs to one store. Nothing here outlives a call."""

    def note_agent(self, session: Session) -> None:
        """Write down, before it is started, whose the newest attempt is: what it says is read in its own language."""
        ...

    def environment(self, session: Session) -> dict[str, str]:
        """The complete environment of the session's agent."""
        ...

    def resolve(self, cwd: str, paths: Iterable[str]) -> list[str]:
        """Paths as the agent wrote them, made absolute, links followed."""
        ...

    async def ready(self, session: Session) -> list[str]:
        """See to it that the session's folder is there before its agent is started, and say what a person should know.

        Raises WorktreeLost if it is gone for good.
        """
        ...

    async def changed(self, session: Session) -> list[str]:
        """The files that differ from how they were when the session's last turn ended, sorted."""
        ...

    async def history(self, session: Session) -> list[Turn]:
        """What was said and done in the session so far, as rekindle itself has kept it."""
        ...

    async def last_turns(self, session: Session, attempts: Collection[int]) -> dict[int, str]:
        """What the agent said in the last turn of each of these attempts, whole, as far as rekindle has kept it."""
        ...

    async def end_terminals(self, session: Session) -> None:
        """End the commands that the session's agent has had us run: they do not outlive it."""
        ...

    async def serve(self, session: Session, attempt: int, asked: CallbackAsked) -> CallbackResult:
        """Do what the agent asks (read or write a file, run a command) and return the result, however long it takes."""
        ...


class SessionPlaces(Protocol):
    """The places of sessions, as those need them who begin, take over or move one. Raises OSError."""

    def prepare(self, created: Created, env: dict[str, str]) -> None:
        """Make the place of a new session, with the environment that its agent gets. On disk on return."""
        ...

    def take_over(self, session: str, staged: str, env: dict[str, str]) -> list[AnyFact]:
        """Put the folder of an imported session in place, and return the facts that it came with."""
        ...

    def change_environment(self, session: Session, env: dict[str, str]) -> None:
        """Another agent goes on with the session: it gets this environment."""
        ...

    def environment(self, session: Session) -> dict[str, str]:
        """The complete environment of the session's agent."""
        ...

    def note_place(self, session: Session) -> None:
        """Write down where the session is now."""
        ...
