"""The skill sessions of the agents that rekindle supervises: which folder, what its next conversation is told, and what
the last resume proved.

An agent that is supervised gets dehydrated context with its first prompt, the required files with it. Those come from
a file in the work tree, so that only plain files below the work tree are read, without following a link.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from rekindle import files
from rekindle.adapters.git import repository
from rekindle.adapters.skill_folder import left_notes, pointer
from rekindle.core.skill import dehydration, injection
from rekindle.core.skill.state import SkillState, document
from rekindle.core.terminal_text import printable, quoted
from rekindle.ports.errors import RekindleError
from rekindle.ports.skills import SupervisedSkill

_LARGEST = 64 << 20


class SupervisedSkillsHere:
    """The skill sessions of supervised agents. `read` gives the state of a folder, and raises RekindleError."""

    def __init__(
        self,
        state_dir: str,
        read: Callable[[str], SkillState | None],
        nonce: Callable[[], str] = lambda: os.urandom(8).hex(),
    ) -> None:
        self._state_dir = state_dir
        self._read = read
        self._nonce = nonce

    def folder_of(self, conversation: str) -> str | None:
        """The folder that the agent of a session works in; None: it works in none."""
        found = self._found(conversation)
        return found[0] if found is not None else None

    def of(self, conversation: str) -> SupervisedSkill | None:
        """The skill session of a session, with the proof of its last resume."""
        found = self._found(conversation)
        if found is None:
            return None
        folder, state = found
        last = state.resumes[-1] if state.resumes else None
        return SupervisedSkill(
            folder=folder,
            skill=state.skill,
            phase=state.current_phase,
            lifecycle=state.lifecycle,
            proof=last.proof if last is not None else None,
            resumed_at=last.at if last is not None else "",
        )

    def first_prompt(self, conversation: str, window: int | None) -> str | None:
        """What the next conversation of a session is told first; None if nothing was left for it.

        `window`: the size of its context window in tokens, None if nobody knows.
        """
        found = self._found(conversation)
        if found is None or found[1].dehydrated_context is None:
            return None
        folder, state = found
        told: dict[str, Any] = document(state)
        context = told["dehydratedContext"]
        known = left_notes.is_known(self._state_dir, folder, context)
        nonce = self._nonce()
        text = injection.skill_block(told, quoted(folder), nonce, is_known=known, most=dehydration.PROMPT_CHARACTERS)
        names = [one for one in context.get("requiredFiles", []) if isinstance(one, str)]
        given = list(given_files(folder, names, window, nonce))
        return "\n\n".join([text, *given])

    def _found(self, conversation: str) -> tuple[str, SkillState] | None:
        folder = pointer.of_conversation(self._state_dir, conversation)
        if folder is None:
            return None
        try:
            state = self._read(folder)
        except RekindleError:
            return None  # every command of the session says what is wrong with its state file
        return (folder, state) if state is not None and state.conversation == conversation else None


def given_files(
    folder: str, names: list[str], window: int | None, nonce: str, outside: str | None = None
) -> Iterator[str]:
    """The required files as they go with a prompt, each whole or cut, or why it does not go.

    Without a repository, they have to be below `outside`, or else beside the folder.
    """
    repo = repository.find(folder)
    top = repo.top if repo is not None and repo.top is not None else outside or os.path.dirname(folder)
    read = [_read(top, folder, name) for name in names[: dehydration.MOST_FILES]]
    sizes = [len(one) if isinstance(one, bytes) else 0 for one in read]
    for name, content, share in zip(names, read, dehydration.shares(sizes, window), strict=False):
        if not isinstance(content, bytes):
            yield injection.file_block(name, f"(not given: {content})", nonce)
            continue
        text = content[:share].decode("utf-8", "ignore")
        if share < len(content):
            text += f"\n(cut: {share} of {len(content)} bytes; read the rest yourself)"
        yield injection.file_block(name, text, nonce)


def _read(top: str, folder: str, name: str) -> bytes | str:
    """The content of a file of the work tree, or why it is not given."""
    if not files.can_be_a_path(name):
        return "no file can have this name"
    for root in (top, folder):
        path = os.path.normpath(os.path.join(root, name))
        if not files.is_below(path, top) or ".git" in os.path.relpath(path, top).split(os.sep):
            return "it is not a file of the work tree"
        try:
            fd = files.open_folder(top, os.path.dirname(os.path.relpath(path, top)))
        except OSError:
            continue
        try:
            content = _content(os.path.basename(path), fd)
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"it cannot be read ({printable(error.strerror or 'unknown error')})"
        finally:
            os.close(fd)
        return "it is not a text" if b"\0" in content[:4096] else content
    return "there is no such file"


def _content(name: str, folder: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        if not os.path.isfile(f"/proc/self/fd/{fd}"):
            raise OSError(0, "is not a plain file")
        return file.read(_LARGEST)
