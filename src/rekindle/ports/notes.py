"""What one conversation leaves for the next outside the conversation itself: a skill session's notes, and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from rekindle.core.session.state import Session
from rekindle.core.skill.dehydration import DehydratedContext


class HeldSkill(msgspec.Struct, frozen=True):
    """The skill session that a session's agent works in. `folder` is how a command names it.

    `context` are notes that nobody has acknowledged yet.
    """

    folder: str
    context: DehydratedContext | None = None


class ContextNotes(Protocol):
    """Blocking. Every method may be called again after a crash. Trouble with a file counts as its absence."""

    def skill_of(self, session: Session) -> HeldSkill | None:
        """The skill session that is at work in a session; None: there is none."""
        ...

    def asked(self, session: Session, usage: float) -> None:
        """The agent is asked for a summary, at this share of its context: its skill session says so from now on."""
        ...

    def leave(self, session: Session, context: DehydratedContext, used: DehydratedContext | None = None) -> None:
        """Put notes into the session's skill session, unless it has others than `used` already or takes none now."""
        ...

    def skill_text(self, session: Session, window: int | None) -> str | None:
        """What a fresh agent is given of the skill session, its files with it; None: nothing was left for one."""
        ...

    def files(self, session: Session, names: Sequence[str], window: int | None, nonce: str) -> list[str]:
        """The named files of the session's work tree as they go with a prompt, or why one does not."""
        ...


class NoNotes:
    """Where there are neither skill sessions nor files."""

    def skill_of(self, session: Session) -> HeldSkill | None:
        """None."""
        return None

    def asked(self, session: Session, usage: float) -> None:
        """Nobody has to know."""

    def leave(self, session: Session, context: DehydratedContext, used: DehydratedContext | None = None) -> None:
        """Nowhere."""

    def skill_text(self, session: Session, window: int | None) -> str | None:
        """None."""
        return None

    def files(self, session: Session, names: Sequence[str], window: int | None, nonce: str) -> list[str]:
        """None."""
        return []
