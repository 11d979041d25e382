"""The questions of skill sessions in the daemon: open in the inbox, answered from anywhere, kept in their folders.

An answer is written to the session's own state file. Whoever resumes the session next takes it from there.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from msgspec.structs import replace

from rekindle.app.skill_moves import as_question
from rekindle.core.inbox.question import Question
from rekindle.core.skill.decision import CUSTOM
from rekindle.core.skill.state import SkillQuestion, SkillState
from rekindle.ports.errors import AnsweredAlready, NoSuchQuestion, RekindleError, UsageError
from rekindle.ports.skills import SkillFolders

_LIST = "`rekindle inbox` lists the open questions"


class AskingFolders(Protocol):
    """Which folders have asked something. A shortcut: what counts is in their state files."""

    def folders(self) -> list[str]:
        """All of them."""
        ...

    def forget(self, folder: str) -> None:
        """A folder that asks nothing any more."""
        ...


class SkillInbox:
    """Raises RekindleError."""

    def __init__(self, folders: SkillFolders, asking: AskingFolders) -> None:
        self._folders = folders
        self._asking = asking

    async def questions(self) -> list[Question]:
        """The open questions."""
        found = await asyncio.to_thread(self._look)
        return [as_question(folder, asked) for folder, asked in found if not asked.option]

    async def meant(self, given: str) -> list[str]:
        """The ids of questions, open or answered, that this is or begins."""
        known = [asked.id for _, asked in await asyncio.to_thread(self._look)]
        return [given] if given in known else [name for name in known if name.startswith(given)]

    async def answer(self, question: str, option: str, *, by: str, text: str) -> str:
        """Answer a question once; returns the option that counts."""
        return await asyncio.to_thread(self._answer, question, option, by, text)

    def _look(self) -> list[tuple[str, SkillQuestion]]:
        found = []
        for folder in self._asking.folders():
            try:
                state = self._folders.read(folder)
            except RekindleError:
                continue  # damaged: it may be put right, and then its question is there again
            if state is None or state.question is None or state.lifecycle == "completed":
                self._asking.forget(folder)
            else:
                found.append((folder, state.question))
        return found

    def _answer(self, question: str, option: str, by: str, text: str) -> str:
        folder = next((folder for folder, asked in self._look() if asked.id == question), None)
        if folder is None:
            raise NoSuchQuestion(f"there is no question {question!r}", _LIST)
        chosen: list[str] = []

        def change(state: SkillState | None) -> SkillState:
            asked = state.question if state is not None else None
            if state is None or asked is None or asked.id != question:
                raise NoSuchQuestion(
                    f"question {question} is closed: what it was about has changed", _LIST, code="question_expired"
                )
            chosen.append(_meant(asked, option, text))
            if asked.option:
                if (asked.option, asked.by, asked.text) == (chosen[-1], by, text):
                    return state
                raise AnsweredAlready(
                    f"question {question} was already answered: {asked.option}, by {asked.by}",
                    _LIST,
                    details={"question": question, "option": asked.option, "by": asked.by},
                )
            return replace(state, question=replace(asked, option=chosen[-1], text=text, by=by))

        self._folders.change(folder, change)
        return chosen[-1]


def _meant(asked: SkillQuestion, option: str, text: str) -> str:
    """The id of the option that a word means, or allow and deny. Raises if there is none, or if it needs text."""
    kind = {"allow": "allow_once", "deny": "reject_once"}.get(option)
    found = next(
        (one[0] for one in asked.options if (one[2] == kind if kind else one[0].casefold() == option.casefold())), None
    )
    if found is None:
        raise NoSuchQuestion(
            f"{option!r} is not an option of question {asked.id}",
            f"choose one of: {', '.join(one[0] for one in asked.options)}",
            code="no_such_option",
        )
    if found == CUSTOM and not text.strip():
        raise UsageError("your own words are needed", f"rekindle answer {asked.id} {found} --text TEXT")
    if found != CUSTOM and text:
        raise UsageError(f"{found!r} takes no text, so that --text would be lost", "leave --text out")
    return found
