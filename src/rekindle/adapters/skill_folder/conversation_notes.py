"""The notes of a supervised conversation on this machine: its skill session, and the files that it names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from rekindle.adapters.skill_folder import left_notes
from rekindle.adapters.skill_folder.folders import SkillFoldersHere
from rekindle.adapters.skill_folder.supervised import SupervisedSkillsHere, given_files
from rekindle.core.session.state import Session
from rekindle.core.skill import lifecycle
from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.core.skill.state import SkillState, document
from rekindle.core.terminal_text import quoted
from rekindle.ports.errors import RekindleError
from rekindle.ports.notes import HeldSkill

#: A skill session that is put aside or over is nobody's work.
_AT_WORK: Final = ("active", "dehydrating", "restarting", "resuming")


class ConversationNotes:
    """See `rekindle.ports.notes.ContextNotes`. `state_dir` is where what was left here is remembered."""

    def __init__(
        self, skills: SupervisedSkillsHere, folders: SkillFoldersHere, state_dir: str, clock: Callable[[], float]
    ) -> None:
        self._skills = skills
        self._folders = folders
        self._state_dir = state_dir
        self._clock = clock

    @classmethod
    def here(cls, state_dir: str, environment: Mapping[str, str], clock: Callable[[], float]) -> ConversationNotes:
        """Those of this machine, wherever the folders are."""
        folders = SkillFoldersHere("", state_dir, environment, clock)
        return cls(SupervisedSkillsHere(state_dir, folders.read), folders, state_dir, clock)

    def skill_of(self, session: Session) -> HeldSkill | None:
        """The skill session that this session's agent has claimed."""
        folder = self._skills.folder_of(session.id)
        if folder is None:
            return None
        try:
            state = self._folders.read(folder)
        except RekindleError:
            return None  # a damaged state file is refused by the commands that need it
        if state is None or state.lifecycle not in _AT_WORK:
            return None
        return HeldSkill(quoted(folder), state.dehydrated_context)

    def asked(self, session: Session, usage: float) -> None:
        """Its state file says that the agent is being asked, and how full its context is."""
        folder = self._skills.folder_of(session.id)
        if folder is None or self.skill_of(session) is None:
            return
        with contextlib.suppress(RekindleError, OSError):
            self._folders.change(folder, lambda state: lifecycle.asked_to_dehydrate(_known(state), usage, self._at()))

    def leave(self, session: Session, context: DehydratedContext, used: DehydratedContext | None = None) -> None:
        """Notes of the agent's own stay, unless an earlier conversation was told them and has worked since."""
        folder = self._skills.folder_of(session.id)
        if folder is None or self.skill_of(session) is None:
            return
        with contextlib.suppress(RekindleError, OSError):
            after = self._folders.change(folder, lambda state: self._left(state, context, used))
            if after.dehydrated_context is not None:
                left_notes.remember(self._state_dir, folder, document(after)["dehydratedContext"])

    def skill_text(self, session: Session, window: int | None) -> str | None:
        """The heading, the notes between their marks, the procedure, and the files."""
        return self._skills.first_prompt(session.id, window) if self.skill_of(session) is not None else None

    def files(self, session: Session, names: Sequence[str], window: int | None, nonce: str) -> list[str]:
        """Plain files of the work tree, in their order."""
        return list(given_files(session.cwd, list(names), window, nonce, session.cwd))

    def _left(self, state: SkillState | None, context: DehydratedContext, used: DehydratedContext | None) -> SkillState:
        """With notes, even where no turn has finished since a restart: the conversation is left in any case."""
        state = _known(state)
        if state.dehydrated_context not in (None, used) or state.lifecycle not in _AT_WORK:
            return state
        return lifecycle.dehydrated(state, context, self._at())

    def _at(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _known(state: SkillState | None) -> SkillState:
    if state is None:
        raise RekindleError("the skill session is gone", "activate it again")
    return state
