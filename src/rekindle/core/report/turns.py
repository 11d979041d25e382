"""The turns of a session as its facts show them: when each was sent, how it ended, and in which snapshot. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session
from rekindle.core.snapshot_reasons import attempt_ended, ends, turn_ended


class WalkedTurn(msgspec.Struct, frozen=True):
    """A prompt that was sent. `number` counts all of the session from 1, `in_attempt` those of its attempt.

    `mark` is the reason of the snapshot that is taken after it.
    """

    number: int
    attempt: int
    in_attempt: int
    prompt: str
    sent_at: float
    seq: int
    how: Literal["running", "done", "failed", "cut"] = "running"
    ended_at: float | None = None
    outcome: str = ""
    mark: str = ""


class TurnsSeen:
    """Collects the turns. `heard` gets the session before and after each fact that has changed it."""

    def __init__(self) -> None:
        self.found: list[WalkedTurn] = []

    def heard(self, before: Session, fact: AnyFact, seq: int, after: Session) -> None:
        """One more fact."""
        match fact:
            case f.PromptSent():
                of_attempt = sum(one.attempt == fact.attempt for one in self.found)
                number = len(self.found) + 1
                self.found.append(WalkedTurn(number, fact.attempt, of_attempt + 1, fact.prompt, fact.at, seq))
            case f.TurnFinished():
                self._end(fact.prompt, "done", fact.at, fact.stop_reason, turn_ended(ends(after)[0]), seq)
            case f.TurnFailed():
                why = f"{fact.error}: {fact.message}"
                self._end(fact.prompt, "failed", fact.at, why, turn_ended(ends(after)[0]), seq)
            case f.Exited() if before.turn is not None and before.turn.state != "cut":
                self._end(before.turn.id, "cut", fact.at, fact.how_ended, attempt_ended(ends(after)[1]), seq)
            case _:
                pass

    def ended_at(self, seq: int) -> WalkedTurn | None:
        """The turn that ended with this fact."""
        return next((one for one in reversed(self.found) if one.seq == seq and one.how != "running"), None)

    def _end(
        self, prompt: str, how: Literal["done", "failed", "cut"], at: float, outcome: str, mark: str, seq: int
    ) -> None:
        for place, one in reversed(list(enumerate(self.found))):
            if one.prompt == prompt:
                self.found[place] = replace(one, how=how, ended_at=at, outcome=outcome, mark=mark, seq=seq)
                return
