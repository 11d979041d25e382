"""A workplace without a machine under it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rekindle.agents.base.dialect import CallbackRefused, CallbackResult
from rekindle.agents.base.observation import CallbackAsked
from rekindle.core.session.history import Turn
from rekindle.core.session.state import Session


class FakeWorkplace:
    """See `rekindle.ports.workplace.Workplace`."""

    def note_agent(self, session: Session) -> None:
        pass

    def environment(self, session: Session) -> dict[str, str]:
        return {"SESSION": session.id}

    def resolve(self, cwd: str, paths: Iterable[str]) -> list[str]:
        return [path if path.startswith("/") else f"{cwd.rstrip('/')}/{path}" for path in paths]

    async def ready(self, session: Session) -> list[str]:
        return []

    async def changed(self, session: Session) -> list[str]:
        return []

    async def history(self, session: Session) -> list[Turn]:
        return [Turn("user", prompt.text) for prompt in session.prompts if prompt.attempt]

    async def last_turns(self, session: Session, attempts: Collection[int]) -> dict[int, str]:
        return {}

    async def end_terminals(self, session: Session) -> None:
        pass

    async def serve(self, session: Session, attempt: int, asked: CallbackAsked) -> CallbackResult:
        return CallbackRefused("not_served", f"{session.id} has no callbacks")
