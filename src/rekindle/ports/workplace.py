"""Where a session's agent works: its environment, its folder, and what it may ask us for there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from rekindle.agents.base.dialect import CallbackResult
from rekindle.agents.base.observation import CallbackAsked
from rekindle.core.session.facts import AnyFact, Created
from rekindle.core.session.history import Turn
from rekindle.core.session.state import Session
from rekindle.ports.feature import CommandDone


class Workplace(Protocol):
    """Belongs to one store. Nothing here outlives a call."""

    def note_agent(self, session: Session) -> None:
        """Record, before it is started, which agent the newest attempt has: its output is read as that agent's."""
        ...

    def environment(self, session: Session) -> dict[str, str]:
        """The complete environment of the session's agent."""
        ...

    def resolve(self, cwd: str, paths: Iterable[str]) -> list[str]:
        """Paths as the agent wrote them, made absolute, links followed."""
        ...

    async def ready(self, session: Session) -> list[str]:
        """Make sure that the session's folder exists before its agent is started, and say what a person should know.

        Raises WorktreeLost if it is gone for good.
        """
        ...

    async def changed(self, session: Session) -> list[str]:
        """The files that have changed since the session's last turn ended, sorted."""
        ...

    async def history(self, session: Session) -> list[Turn]:
        """What was said and done in the session so far, as rekindle itself has kept it."""
        ...

    async def last_turns(self, session: Session, attempts: Collection[int]) -> dict[int, str]:
        """What the agent said in the last turn of each of these attempts, whole, as far as rekindle has kept it."""
        ...

    async def end_terminals(self, session: Session) -> None:
        """End the commands that we ran for the session's agent: they do not outlive it."""
        ...

    async def run_gate(self, session: Session, words: Sequence[str]) -> CommandDone:
        """Run a command in the session's folder, with its environment, to its end. It may run again later."""
        ...

    async def serve(self, session: Session, attempt: int, asked: CallbackAsked) -> CallbackResult:
        """Do what the agent asks (read or write a file, run a command) and return the result, however long it takes."""
        ...


class SessionPlaces(Protocol):
    """The places of sessions, for those who begin, take over or move one. Raises OSError."""

    def prepare(self, created: Created, env: dict[str, str]) -> None:
        """Make the place of a new session, with the environment that its agent gets. On disk on return."""
        ...

    def take_over(self, session: str, staged: str, env: dict[str, str]) -> list[AnyFact]:
        """Put the folder of an imported session in place, and return the facts that it came with."""
        ...

    def change_environment(self, session: Session, env: dict[str, str]) -> None:
        """Another agent continues the session: it gets this environment."""
        ...

    def environment(self, session: Session) -> dict[str, str]:
        """The complete environment of the session's agent."""
        ...

    def note_place(self, session: Session) -> None:
        """Record where the session is now."""
        ...
