"""What the spools of one attempt say about its conversation, as facts, without the store or the agent. Pure.

The agent's own dialect reads them, as it does live. What it cannot read is skipped: the agent may have written
anything, and old blocks of its output may have been given back to the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rekindle.agents.base import observation as o
from rekindle.agents.base.booking import Replayed, as_fact
from rekindle.agents.base.dialect import Dialect
from rekindle.agents.base.exchange import Exchanged, Prompted
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, How
from rekindle.core.session.prompt_ids import task_in
from rekindle.core.session.state import OURS

_MOST_SAID: Final = 4000


@dataclass
class OpenTurn:
    """The turn that has not ended. `message` is the number of its prompt in the input."""

    prompt: str
    message: int
    began: bool = False
    said: str = ""
    tools: list[str] = field(default_factory=list)


@dataclass
class Account:
    """`token` names a conversation that is known to have been open; `asked` the one that was asked for.

    `how` is what was tried and `opened` what worked. `known` are the prompts that the agent showed from its record,
    `facts` what happened in the open conversation. `is_partial`: the beginning of the output was given back.
    """

    how: How = "new"
    asked: str | None = None
    opened: How = "new"
    token: str | None = None
    can_load: bool = True
    refused: f.OpenRefused | None = None
    known: list[str] = field(default_factory=list)
    facts: list[AnyFact] = field(default_factory=list)
    turn: OpenTurn | None = None
    is_partial: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        """The ids of the prompts that were sent."""
        return [fact.prompt for fact in self.facts if isinstance(fact, f.PromptSent)]

    def settle(self) -> str | None:
        """What is wrong if nobody knows which conversation the prompts went to: they are only sent to an open one."""
        if self.token is not None or not self.prompts:
            return None
        self.opened, self.token = self.how, self.asked
        if self.token is not None:
            return None
        self.facts.clear()
        self.turn = None
        return "which conversation it was in cannot be told"


class Accounting:
    """Collects what an exchange says, in order. `at`: when the attempt began."""

    def __init__(self, attempt: int, at: float, heard_at: float) -> None:
        self.account = Account()
        self._attempt = attempt
        self._at = at
        self._heard_at = heard_at
        self._replayed = Replayed()

    def take(self, exchanged: Exchanged) -> None:
        """The next step."""
        if isinstance(exchanged, Prompted):
            self._say(exchanged)
            return
        for seen in exchanged.seen:
            self._take(seen)

    def conclude(self, dialect: Dialect, *, is_partial: bool) -> Account:
        """What is known only at the end."""
        found, state, asked = self.account, dialect.open, dialect.asked
        found.is_partial = is_partial
        if asked is not None:
            found.how, found.asked = _how(asked.how), asked.token
        found.known = self._replayed.texts
        found.can_load = state.initialized is None or state.initialized.can_load or state.initialized.can_resume
        turn = found.turn
        if turn is None:
            return found
        turn.said, turn.tools = state.said[-_MOST_SAID:], [tool.words for tool in state.tools]
        if is_partial:
            told = f"its older output was given back, so whether prompt {turn.prompt} was answered is not known"
            found.problems.append(told)
        return found

    def _say(self, said: Prompted) -> None:
        """A prompt is only sent when the turn before it is over: a missing end was given back to the disk."""
        before, at, number, task = self.account.turn, self._at, self._attempt, task_in(said.prompt)
        if before is not None:
            over = f.TurnFinished(at=at, attempt=number, prompt=before.prompt, stop_reason="unknown")
            self.account.facts.append(over)
        self.account.facts += [
            f.PromptQueued(at=at, prompt=said.prompt, text=said.text, by=OURS if task else "user", of=task),
            f.PromptSent(at=at, attempt=number, prompt=said.prompt, message=said.message, text=said.text),
        ]
        self.account.turn = OpenTurn(said.prompt, said.message)

    def _take(self, seen: o.Observation) -> None:
        self._replayed.take(seen)
        turn = self.account.turn
        match as_fact(seen, self._attempt, self._heard_at):
            case f.OpenRefused() as refused:
                self.account.refused = refused
            case (f.TurnFinished() | f.TurnFailed()) as over:
                if turn is not None and over.prompt == turn.prompt:
                    self.account.turn = None
                    self.account.facts.append(over)
            case None:
                self._notice(seen, turn)
            case fact:
                self.account.facts.append(fact)

    def _notice(self, seen: o.Observation, turn: OpenTurn | None) -> None:
        match seen:
            case o.ConversationOpened():
                self.account.opened, self.account.token = _how(seen.how), seen.token
            case o.Said(replay=False) | o.ToolStarted(replay=False) if turn is not None and not turn.began:
                turn.began = True
                self.account.facts.append(f.TurnBegan(at=self._heard_at, attempt=self._attempt, prompt=turn.prompt))


def _how(how: o.How) -> How:
    return "new" if how == "new" else "load"
