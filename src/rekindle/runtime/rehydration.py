"""Prepares what a new conversation is told of one that no longer fits its model: a summary, files, and what to do.

The agent's own summary comes first: the notes of its skill session, else the marked block in its answer. Where it left
none, one is made from the conversation, without a model. Nothing here decides when.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from rekindle.core.session.facts import PROMPT
from rekindle.core.session.history import Turn, with_summary
from rekindle.core.session.overflow import is_question
from rekindle.core.session.state import Prompt, Session
from rekindle.core.skill import injection
from rekindle.core.skill.dehydration import PROMPT_CHARACTERS, DehydratedContext, context_in, size, trimmed
from rekindle.core.skill.salvage import Remains, salvaged
from rekindle.ports.notes import ContextNotes
from rekindle.ports.workplace import Workplace

#: What an agent without a skill is to do with the notes.
_STEPS: Final = (
    "You are that agent, in a new conversation: the work in the notes is yours. Go on with it now.",
    "- Do not repeat what is done. Look at the files before you rely on what the notes say about them.",
    "- Your context is nearly empty: do not sum up again.",
)


@dataclass(frozen=True)
class Rehydrated:
    """The text before the first prompt, and in words what it is and what it leaves out. Empty: there is nothing."""

    history: str = ""
    given: str = ""
    behind: str = ""


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
        held = await asyncio.to_thread(self._notes.skill_of, session)
        context = held.context if held is not None else None
        used = context if await asyncio.to_thread(self._are_used, session, turns) else None
        if context is None or context is used:
            context = await self._summed_up(session)
        if context is None:
            remains = Remains(changed, _running(session))
            context = await asyncio.to_thread(salvaged, turns, remains, PROMPT_CHARACTERS)
        whole, context = context, trimmed(context, PROMPT_CHARACTERS)
        if held is not None and held.context is used:
            await asyncio.to_thread(self._notes.leave, session, context, used)
        text = await asyncio.to_thread(self._text, session, context)
        return Rehydrated(with_summary(text, PROMPT), _given(whole, context), _behind(session, turns))

    def _are_used(self, session: Session, turns: Sequence[Turn]) -> bool:
        """Whether the skill session's notes were told to an earlier conversation, which has worked since. Blocking.

        An agent may never acknowledge them. They know nothing of what it has done with them.
        """
        told_in = max((one.number for one in session.attempts if one.given), default=0)
        done = (one for one in session.prompts if one.state == "done" and not is_question(one))
        if not told_in or not any(one.attempt >= told_in for one in done):
            return False
        notes = injection.told_notes(self._notes.skill_text(session, None) or "")
        return bool(notes) and any(notes == injection.told_notes(one.text) for one in turns if one.role == "user")

    async def _summed_up(self, session: Session) -> DehydratedContext | None:
        """The summary in the agent's answer to the newest question for one, if it has answered in that conversation."""
        asked = [one for one in session.prompts if is_question(one) and one.state == "done" and one.attempt]
        newest = max(asked, key=lambda one: (one.attempt, one.message), default=None)
        if newest is None or any(_is_after(one, newest) for one in session.prompts):
            return None
        said = await self._workplace.last_turns(session, [newest.attempt])
        return context_in(said.get(newest.attempt, ""))

    def _text(self, session: Session, context: DehydratedContext) -> str:
        """The summary as it is told, and the files: from the skill session if there is one. Blocking."""
        window = session.context.size if session.context is not None else None
        text = self._notes.skill_text(session, window)
        if text is not None:
            return text
        nonce, told = self._nonce(), msgspec.to_builtins(context)
        block = injection.block(told, [("Made by", _maker(context))], nonce, _STEPS, PROMPT_CHARACTERS)
        return "\n\n".join([block, *self._notes.files(session, context.required_files, window, nonce)])


def _is_after(prompt: Prompt, question: Prompt) -> bool:
    """Whether a turn has ended well since then: the summary was used, and is old."""
    since = (prompt.attempt, prompt.message) > (question.attempt, question.message)
    return prompt.state == "done" and since


def _running(session: Session) -> list[str]:
    """What was running when the conversation ended."""
    cuts = [one.cut for one in session.attempts[-1:] if one.cut is not None]
    return [words for cut in cuts for words in (*cut.tools, *cut.background)]


def _maker(context: DehydratedContext) -> str:
    return "the agent itself" if context.made_by == "agent" else "rekindle, from the conversation, without a model"


def _given(whole: DehydratedContext, context: DehydratedContext) -> str:
    maker = "the agent's own summary" if context.made_by == "agent" else "a summary that was made without a model"
    files = len(context.required_files)
    names = f", with {files} file{'s' * (files != 1)} that it names" if files else ""
    cut = f", cut from {size(whole)}" if context != whole else ""
    return f"{maker} of it ({size(context)} characters{cut}{names})"


def _behind(session: Session, turns: Sequence[Turn]) -> str:
    length = sum(len(one.text) + len(one.name) for one in turns)
    return f"{len(turns)} entries ({length} characters), which `rekindle session dropped {session.id}` shows"
