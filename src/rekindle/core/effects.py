"""Every action that the core can ask for, as data. An effect's id is derived, so that its result can be found."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.core.session.facts import How


@dataclass(frozen=True)
class Launch:
    """Start an agent process in a keeper. *Probeable*: its folder and lock are derived from session and attempt.

    What it continues is chosen when it is started (`strategy.choose`), and nowhere else.
    """

    session: str
    attempt: int

    @property
    def id(self) -> str:
        return f"launch-{self.session}-{self.attempt}"


@dataclass(frozen=True)
class Open:
    """Open the conversation. *Idempotent*: its messages have derived ids that the keeper recognises."""

    session: str
    attempt: int
    how: How
    token: str | None

    @property
    def id(self) -> str:
        return f"open-{self.session}-{self.attempt}-{self.how}"


@dataclass(frozen=True)
class Say:
    """Send a prompt. *Idempotent* within an attempt; across them the agent's record decides (`session.settling`)."""

    session: str
    attempt: int
    prompt: str
    text: str

    @property
    def id(self) -> str:
        return f"say-{self.session}-{self.attempt}-{self.prompt}"


@dataclass(frozen=True)
class Answer:
    """Answer a permission request. *Idempotent*."""

    session: str
    attempt: int
    request: str
    option: str | None

    @property
    def id(self) -> str:
        return f"answer-{self.session}-{self.attempt}-{self.request}"


@dataclass(frozen=True)
class Cancel:
    """Ask the agent to end its turn. *Idempotent*."""

    session: str
    attempt: int
    prompt: str

    @property
    def id(self) -> str:
        return f"cancel-{self.session}-{self.attempt}-{self.prompt}"


@dataclass(frozen=True)
class End:
    """End the attempt's whole tree, with grace. *Idempotent*."""

    session: str
    attempt: int
    reason: str

    @property
    def id(self) -> str:
        return f"end-{self.session}-{self.attempt}"


@dataclass(frozen=True)
class Wait:
    """Nothing to do before this wall-clock time."""

    session: str
    until: float

    @property
    def id(self) -> str:
        return f"wait-{self.session}-{self.until}"


@dataclass(frozen=True)
class RunGate:
    """Run the command of a gate. *Repeatable*: after a crash it runs again, so its runbook must allow for that."""

    session: str
    gate: str
    run: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"gate-{self.session}-{self.gate}"


Effect = Launch | Open | Say | Answer | Cancel | End | Wait | RunGate
