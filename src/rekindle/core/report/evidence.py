"""What a line of a report rests on: something that is on record, and the command that shows it. Pure data."""

from __future__ import annotations

from typing import Literal, assert_never

import msgspec

from rekindle.core.terminal_text import quoted

#: `exit`: how an agent's process ended. `turn`: one prompt and its answer. `check`: a command that rekindle ran itself.
#: `record`: a fact of a job, of the governor or of a feature's journal.
EvidenceKind = Literal["receipt", "snapshot", "commit", "exit", "turn", "check", "question", "record"]
#: Whose record it is. `all`: what spans sessions.
Owner = Literal["session", "job", "feature", "all"]


class Cited(msgspec.Struct, frozen=True):
    """One piece of evidence. `ref` says which one of its kind it is: `attempt 2`, `turn 3`, a commit, a question's id.

    `seq` is the place of its fact in the store or, for a feature, in its run's journal; 0: it is not a fact.
    """

    kind: EvidenceKind
    of: Owner
    where: str
    ref: str
    seq: int = 0

    @property
    def look(self) -> str:
        """What to type to see it."""
        match self.kind:
            case "snapshot":
                return f"rekindle diff {self.where} {self.ref[:10]}"
            case "commit":
                return f"git show {self.ref[:12]}"
            case "turn":
                return f"rekindle logs {self.where}"
            case "receipt" | "exit" | "check" | "question" | "record":
                return self._look_at_owner()
            case _:
                assert_never(self.kind)

    def _look_at_owner(self) -> str:
        match self.of:
            case "session":
                return f"rekindle show {self.where}"
            case "job":
                return f"rekindle job show {self.where}"
            case "feature":
                return f"rekindle analyze {quoted(self.where)}"
            case "all":
                return "rekindle governor"
            case _:
                assert_never(self.of)

    @property
    def words(self) -> str:
        """As a person reads it."""
        short = self.ref[:10] if self.kind in ("snapshot", "commit") else self.ref
        match self.kind:
            case "turn" | "exit" | "record":
                return short
            case "receipt" | "snapshot" | "commit" | "check" | "question":
                return f"{self.kind} {short}"
            case _:
                assert_never(self.kind)
