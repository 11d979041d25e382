"""Skill sessions and skills, as files on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from rekindle.core.skill.artifacts import Artifacts
from rekindle.core.skill.holding import SeenSession
from rekindle.core.skill.lifecycle import Claimant
from rekindle.core.skill.skill import Skill
from rekindle.core.skill.state import SkillState
from rekindle.ports.errors import OwnedError, UsageError


class NoSkillSession(UsageError):
    """No skill session is meant by that, or it is over."""

    code = "no_skill_session"


class BadSkillState(UsageError):
    """A state file that is damaged, or that a newer version wrote. It is left as it is."""

    code = "bad_skill_state"


class NoSuchSkill(UsageError):
    """No skill of that name is installed, or what it declares cannot be used."""

    code = "no_such_skill"


class MoveRefused(UsageError):
    """A phase cannot be entered now; the hint says which moves are open."""

    code = "move_refused"


class SkillSessionHeld(OwnedError):
    """Another live process holds the skill session."""

    code = "skill_session_held"


class SupervisedSkill(msgspec.Struct, frozen=True):
    """The skill session that the agent of a session works in. `proof`: what its last resume proved."""

    folder: str
    skill: str
    phase: str
    lifecycle: str
    proof: dict[str, str] | None = None
    resumed_at: str = ""


class SupervisedSkills(Protocol):
    """The skill sessions of supervised agents, by the id of their sessions. Blocking. Never raises."""

    def folder_of(self, conversation: str) -> str | None:
        """The folder that the agent works in; None: it works in none."""
        ...

    def of(self, conversation: str) -> SupervisedSkill | None:
        """The skill session, with the proof of its last resume."""
        ...

    def first_prompt(self, conversation: str, window: int | None) -> str | None:
        """What a new conversation is told first: the notes and files that were left. None if nothing was left.

        `window`: the size of its context window in tokens, None if nobody knows.
        """
        ...


class SkillFolders(Protocol):
    """Folders with a `.state.json`. A state file is never deleted. Blocking. Raises RekindleError."""

    def resolve(self, given: str) -> str:
        """The folder that a word of the command line means: a path, or a name below the root."""
        ...

    def shown(self, folder: str) -> str:
        """A folder as people read it: relative to here where that is shorter."""
        ...

    def read(self, folder: str) -> SkillState | None:
        """The state; None if there is no state file. Raises BadSkillState."""
        ...

    def change(self, folder: str, change: Callable[[SkillState | None], SkillState]) -> SkillState:
        """Change the state in one step, under the folder's lock; on disk on return. The folder is made if missing."""
        ...

    def seen(self) -> list[SeenSession]:
        """All skill sessions below the root, in no order."""
        ...

    def holder(self, state: SkillState) -> int | None:
        """The pid of another live process that holds the session. One that nobody can judge counts as alive."""
        ...

    def is_mine(self, state: SkillState) -> bool:
        """Whether the caller's own process holds the session."""
        ...

    def me(self, pid: int | None = None) -> Claimant:
        """The process that claims: the agent or the shell that runs this command, or the one with this pid."""
        ...

    def remember(self, folder: str, who: Claimant) -> None:
        """Let the hooks of that process find the folder without a search."""
        ...

    def scan(self, folder: str, state: SkillState) -> Artifacts:
        """What the artifacts say. Cheap: a listing, the end of the log, the plan's checkboxes."""
        ...

    def log_end(self, folder: str, name: str) -> str:
        """The end of a session's log, "" if there is none."""
        ...

    def append_log(self, folder: str, name: str, text: str) -> None:
        """Append an entry to a file of the folder, on disk on return."""
        ...

    def keep_dropped(self, folder: str, record: dict[str, Any]) -> None:
        """Keep what a dehydration left behind."""
        ...

    def dropped(self, folder: str) -> list[dict[str, Any]]:
        """All that dehydrations left behind, oldest first."""
        ...


class SkillFiles(Protocol):
    """Skills in `.claude/skills` of the repository, then of the user's home. Raises NoSuchSkill."""

    def load(self, name: str) -> Skill:
        """What a skill declares."""
        ...

    def names(self) -> dict[str, str]:
        """All skills, each with its description; a broken one says why."""
        ...


class ProofChecker(Protocol):
    """Validates a value against a JSON Schema."""

    def problems(self, schema: dict[str, Any], value: Any) -> list[str]:
        """What is wrong with the value, in words; empty if it is valid. Raises UsageError for a bad schema."""
        ...
