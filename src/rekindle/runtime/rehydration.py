"""Prepares what a new conversation is told of one that no longer fits its model: a summary, files, and what to do.

The agent's own summary comes first: the notes of its skill session, else the marked block in its answer. One that an
earlier conversation was told already is carried on with what came after it. Where there is none, one is made from the
conversation, without a model. Nothing here decides when.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from rekindle.core.session.facts import PROMPT
from rekindle.core.session.history import Turn, request_of, with_summary
from rekindle.core.session.overflow import is_question
from rekindle.core.session.state import Prompt, Session
from rekindle.core.session.summary_marks import TITLE
from rekindle.core.skill import carrying, injection
from rekindle.core.skill.carrying import Carried
from rekindle.core.skill.dehydration import PROMPT_CHARACTERS, DehydratedContext, context_in
from rekindle.core.skill.salvage import Remains, salvaged
from rekindle.ports.notes import ContextNotes, HeldSkill
from rekindle.ports.workplace import Workplace

#: What an agent is to do with notes that its skill session does not have.
_STEPS: Final = (
    "You are that agent, in a new conversation: the work in the notes is yours. Go on with it now.",
    "- Do not repeat what is done. Look at the files before you rely on what the notes say about them.",
    "- Your context is nearly empty: do not sum up again.",
)
_WAITING: Final = ("queued", "sent", "began", "cut")


@dataclass(frozen=True)
class Rehydrated:
    """The text before the first prompt, and in words what it is and what it leaves out. Empty: there is nothing."""

    history: str = ""
    given: str = ""
    behind: str = ""


@dataclass(frozen=True)
class FoundNotes:
    """What there is to tell, whole. `carried`: an older summary is a part of it."""

    context: DehydratedContext
    carried: Carried | None = None


class Rehydration:
    """Belongs to one supervisor."""

    def __init__(
        self, workplace: Workplace, notes: ContextNotes, nonce: Callable[[], str] = lambda: secrets.token_hex(8)
    ) -> None:
        self._workplace = workplace
        self._notes = notes
        self._nonce = nonce

    async def skill_of(self, session: Session) -> str:
        """The folder of the skill session that the agent works in; empty: it works in none."""
        held = await asyncio.to_thread(self._notes.skill_of, session)
        return held.folder if held is not None else ""

    async def asked(self, session: Session) -> None:
        """The agent was asked for a summary: its skill session says so."""
        gauge = session.context
        usage = gauge.used / gauge.size if gauge is not None and gauge.size else 1.0
        await asyncio.to_thread(self._notes.asked, session, usage)

    async def prepare(self, session: Session, turns: Sequence[Turn], changed: Sequence[str]) -> Rehydrated:
        """What the next conversation is told. `turns` are all that was said, `changed` the files that differ."""
        nonce = self._nonce()
        held = await asyncio.to_thread(self._notes.skill_of, session)
        room = _room(held, nonce)
        found = await self._found(session, held, turns, Remains(changed, _running(session)), room)
        context = await asyncio.to_thread(carrying.fitted, found.context, room)
        if held is not None and found.context is not held.context:
            await asyncio.to_thread(self._notes.leave, session, context, held.context)
            held = await asyncio.to_thread(self._notes.skill_of, session)
            has_it = held is not None and held.context == context
        else:
            has_it = held is not None
        text = await asyncio.to_thread(self._text, session, held, context, nonce, has_it)
        given = await asyncio.to_thread(_given, found, text)
        return Rehydrated(with_summary(text, PROMPT), given, _behind(session, turns))

    async def _found(
        self, session: Session, held: HeldSkill | None, turns: Sequence[Turn], remains: Remains, room: int
    ) -> FoundNotes:
        """The newest summary that the agent made, an older one with what came after it, or one without a model."""
        notes = held.context if held is not None else None
        told_at = await asyncio.to_thread(carrying.told_at, turns)
        told_in = (
            await asyncio.to_thread(self._told_in, session, turns) if notes is not None and told_at is not None else []
        )
        if notes is not None and not told_in:
            return FoundNotes(notes)
        if told_at is None or told_at < _asked_at(turns):
            summary = await self._summed_up(session)
            if summary is not None:
                return FoundNotes(summary)
        if told_at is None:
            return FoundNotes(await asyncio.to_thread(salvaged, turns, remains, room))
        is_newest = notes is not None and told_at in told_in
        older = notes if notes is not None and is_newest else carrying.summary_told(turns[told_at].text)
        waiting = {request_of(one.text) for one in session.prompts if one.state in _WAITING}
        since = carrying.since(turns, told_at, waiting)
        if not since:
            return FoundNotes(older)
        carried = await asyncio.to_thread(carrying.carried, older, since, remains, room)
        return FoundNotes(carried.context, carried)

    def _told_in(self, session: Session, turns: Sequence[Turn]) -> list[int]:
        """The turns in which the skill session's notes were told to earlier conversations. Blocking.

        An agent may never acknowledge them. They know nothing of what it has done with them.
        """
        notes = injection.told_notes(self._notes.skill_text(session, None) or "")
        users = [at for at, one in enumerate(turns) if one.role == "user"]
        return [at for at in users if notes and notes == injection.told_notes(turns[at].text)]

    async def _summed_up(self, session: Session) -> DehydratedContext | None:
        """The summary in the agent's answer to the newest question for one, if it has answered in that conversation."""
        asked = [one for one in session.prompts if is_question(one) and one.state == "done" and one.attempt]
        newest = max(asked, key=lambda one: (one.attempt, one.message), default=None)
        if newest is None or any(_is_after(one, newest) for one in session.prompts):
            return None
        said = await self._workplace.last_turns(session, [newest.attempt])
        return context_in(said.get(newest.attempt, ""))

    def _text(
        self, session: Session, held: HeldSkill | None, context: DehydratedContext, nonce: str, has_it: bool
    ) -> str:
        """The summary as it is told, and the files: from the skill session if that has it. Blocking."""
        window = session.context.size if session.context is not None else None
        text = self._notes.skill_text(session, window) if has_it else None
        if text is not None:
            return text
        facts, steps = _facts(held, context), _steps(held)
        block = injection.block(msgspec.to_builtins(context), facts, nonce, steps, PROMPT_CHARACTERS)
        return "\n\n".join([block, *self._notes.files(session, context.required_files, window, nonce)])


def _is_after(prompt: Prompt, question: Prompt) -> bool:
    """Whether a turn has ended well since then: the summary was used, and is old."""
    since = (prompt.attempt, prompt.message) > (question.attempt, question.message)
    return prompt.state == "done" and since


def _asked_at(turns: Sequence[Turn]) -> int:
    """Which of these turns is the newest question for a summary; -1: none is."""
    places = (at for at in range(len(turns) - 1, -1, -1) if turns[at].name and turns[at].text.startswith(TITLE))
    return next(places, -1)


def _running(session: Session) -> list[str]:
    """What was running when the conversation ended."""
    cuts = [one.cut for one in session.attempts[-1:] if one.cut is not None]
    return [words for cut in cuts for words in (*cut.tools, *cut.background)]


def _room(held: HeldSkill | None, nonce: str) -> int:
    """How many characters of notes fit into the first prompt, with all that is said about them."""
    plain = injection.room_for_notes(
        _facts(held, DehydratedContext("", made_by="rekindle")), nonce, _steps(held), PROMPT_CHARACTERS
    )
    return min(plain, injection.room_for_skill(nonce, PROMPT_CHARACTERS)) if held is not None else plain


def _facts(held: HeldSkill | None, context: DehydratedContext) -> list[tuple[str, object]]:
    session: list[tuple[str, object]] = [("Session", held.folder)] if held is not None else []
    return [*session, ("Made by", _maker(context))]


def _steps(held: HeldSkill | None) -> list[str]:
    """What to do with notes that could not be put into the skill session, or where there is none."""
    if held is None:
        return list(_STEPS)
    skill = (
        "- You work through a skill. `rekindle session show`, with the folder in the notes, says in which phase you "
        "are: go on there, and neither repeat nor skip a phase.",
    )
    return [*_STEPS, *skill]


def _maker(context: DehydratedContext) -> str:
    return "the agent itself" if context.made_by == "agent" else "rekindle, from the conversation, without a model"


def _given(found: FoundNotes, text: str) -> str:
    """What the text has, in words. It was measured: what is cut on the way there is not said to be given."""
    size, whole = carrying.lines_size(injection.told_notes(text)), carrying.told_size(found.context)
    cut = f", cut from {whole}" if size < whole else ""
    return f"{_told(found)} ({size} characters{cut}{_files(text)})"


def _told(found: FoundNotes) -> str:
    if found.carried is None:
        is_own = found.context.made_by == "agent"
        return "the agent's own summary of it" if is_own else "a summary of it that was made without a model"
    one = found.carried
    how = "word for word" if one.is_whole else f"shortened from {one.characters} characters without a model"
    return f"the summary that the one before it was told, and the {one.entries} entries that came after that, {how}"


def _files(text: str) -> str:
    whole, part, absent = injection.told_files(text)
    named = whole + part + absent
    if not named:
        return ""
    files = f", with {whole + part} of {named} files that it names" if absent else ""
    files = files or f", with {named} file{'s' * (named != 1)} that it names"
    return f"{files}, {part} of them cut" if part else files


def _behind(session: Session, turns: Sequence[Turn]) -> str:
    length = sum(len(one.text) + len(one.name) for one in turns)
    return f"{len(turns)} entries ({length} characters), which `rekindle session dropped {session.id}` shows"
