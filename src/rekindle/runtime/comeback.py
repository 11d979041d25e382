"""Finds out what an attempt continues from before it is started: observe, decide, record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.terminal import in_terminal
from rekindle.core.session import facts as f
from rekindle.core.session.continuation import handed_back
from rekindle.core.session.facts import PROMPT
from rekindle.core.session.history import Turn, with_history
from rekindle.core.session.losses import foreign_prompts, lost_answers, lost_prompts, misplaced_prompts
from rekindle.core.session.prompt_marks import in_both, marks
from rekindle.core.session.settling import cut_attempts
from rekindle.core.session.state import Session, nothing_ever_ran
from rekindle.core.session.strategy import Choice, Evidence, candidates, choose
from rekindle.core.skill.carrying import told_at
from rekindle.ports.errors import RekindleError
from rekindle.ports.notes import ContextNotes, NoNotes
from rekindle.ports.records import Checked, Records
from rekindle.ports.workplace import Workplace
from rekindle.runtime.rehydration import Rehydrated, Rehydration


class Look(Protocol):
    """A look at the agent's own record of one conversation."""

    async def __call__(self, session: Session, token: str, *, first: bool) -> Evidence: ...


class Comeback:
    """Belongs to one supervisor. Starts nothing, but may repair the agent's record (see `Records.check`)."""

    def __init__(
        self,
        records: Records,
        workplace: Workplace,
        kinds: Mapping[str, AgentKind],
        notes: ContextNotes | None = None,
    ) -> None:
        self._records = records
        self._workplace = workplace
        self._kinds = kinds
        self.rehydration = Rehydration(workplace, notes if notes is not None else NoNotes())

    async def prepare(self, session: Session, attempt: int, now: float) -> f.LaunchIntended:
        """The attempt to start next. Asking again gives the same answer as long as nothing has changed."""
        choice = await self._chosen(session, self._look, now)
        token = choice.token
        kind = self._kinds.get(session.agent)
        if kind is not None and session.terminal and kind.terminal is not None:
            kind = in_terminal(kind)
        if choice.how == "new" and kind is not None and kind.mint is not None:
            token = kind.mint(session.id, attempt)
        changed = [] if session.attempt is None else await self._workplace.changed(session)
        told = await self._told(session, choice, changed)
        return f.LaunchIntended(
            at=now,
            attempt=attempt,
            generation=session.generation + 1,
            how=choice.how,
            token=token,
            known=marks(choice.known) if choice.known is not None else None,
            changed=changed,
            history=told.history,
            notes=list(choice.notes),
            why=choice.why,
            compactions=choice.compactions,
            agent=session.agent,
            said=await self._said(session),
            given=told.given,
            behind=told.behind,
        )

    async def verdict(
        self, session: Session, opened: f.Opened, shown: Sequence[Turn], now: float
    ) -> f.Opened | f.OpenRefused:
        """Whether the conversation that an agent loaded is complete. An incomplete one counts as refused."""
        if opened.how == "new" or opened.known is None:
            return opened
        read = session.attempts[-1].known
        kind = self._kinds.get(session.agent)
        verbatim = kind is not None and kind.verbatim and not session.attempts[-1].compacted_before
        missing = lost_prompts(session, in_both(opened.known, read), shown, verbatim=verbatim)
        missing = missing or misplaced_prompts(session, opened.known if read is None else read)
        if not missing and read is not None:
            try:
                missing = await self._lost_answers(session, opened.token)
            except RekindleError as error:  # no reason to give it up, nor to call it the same
                opened = replace(opened, lacks=f"the agent's answers could not be compared: {error.message}")
        heard = await self._workplace.history(session) if missing or read is None or verbatim else []
        if not missing and (read is None or verbatim):
            missing = lost_answers(session, shown, heard, verbatim=verbatim)
        if not missing:
            return opened
        if not heard:  # a new conversation could not be told what was said: keep this one; the receipt says how
            return replace(opened, lacks=missing)
        return f.OpenRefused(at=now, attempt=opened.attempt, how="load", problem="incomplete", message=missing)

    async def _lost_answers(self, session: Session, token: str) -> str:
        """What the agent's own record lacks, or words differently from what the agent told us. Raises RekindleError."""
        found = await self._records.lacking(session, token)
        if found.words:
            return f"the agent's record lacks {found.words}, or has them in other words"
        return foreign_prompts(session, found.foreign, found.unconfirmed)

    async def foretold(self, session: Session, now: float) -> Choice:
        """What `prepare` would choose now. Changes nothing."""
        return await self._chosen(session, self._foresee, now)

    async def _chosen(self, session: Session, look: Look, now: float) -> Choice:
        """The one choice of how a session comes back. Records are checked until one is found.

        Older ones are neither read nor repaired without need.
        """
        evidence: list[Evidence] = []
        for token in candidates(session):
            evidence.append(await look(session, token, first=not evidence))
            if evidence[-1].state != "missing":
                break
        return choose(session, evidence, now)

    async def _look(self, session: Session, token: str, *, first: bool) -> Evidence:
        try:
            if first:
                await self._records.copy(session)
            return _evidence(token, await self._records.check(session, token))
        except RekindleError as error:
            return _unchecked(token, error)

    async def _foresee(self, session: Session, token: str, *, first: bool) -> Evidence:
        try:
            return _evidence(token, await self._records.foresee(session, token))
        except RekindleError as error:
            return _unchecked(token, error)

    async def _said(self, session: Session) -> list[str]:
        """What the agent said in each turn to be continued. If that was not kept, its last words."""
        attempts = cut_attempts(session)
        found = await self._workplace.last_turns(session, attempts) if attempts else {}
        short = {one.number: one.cut.said for one in session.attempts if one.cut is not None}
        return handed_back([found.get(number) or short.get(number, "") for number in attempts])

    async def _told(self, session: Session, choice: Choice, changed: list[str]) -> Rehydrated:
        """What a new conversation is told of the old one: its history or, if that was too long once, a summary.

        Where the old one had been told a summary itself, the history of what came before that is not told anew.
        """
        if choice.how != "new" or session.attempt is None or nothing_ever_ran(session) or session.untold:
            return Rehydrated()
        turns = await self._workplace.history(session)
        if turns and (session.dehydrated or told_at(turns) is not None):
            return await self.rehydration.prepare(session, turns, changed)
        return Rehydrated(with_history(turns, PROMPT) if turns else "")


def _evidence(token: str, found: Checked) -> Evidence:
    if found.state == "unsupported":
        return Evidence(token, "unsupported", compactions=found.compactions)
    return Evidence(token, found.state, found.prompts, found.notes, found.compactions, found.lacks)


def _unchecked(token: str, error: RekindleError) -> Evidence:
    return Evidence(token, "unsupported", None, (f"the agent's own record was not checked: {error.message}",))
