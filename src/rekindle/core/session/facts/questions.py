"""Facts about questions: an agent's, and those that rekindle asks a person or a command. Pure data."""

from __future__ import annotations

from rekindle.core.fact import Fact


class PermissionAsked(Fact, frozen=True, kw_only=True, tag="permission_asked"):
    """The agent wants to do something that needs permission. `prompt`: in whose turn; empty if in none.

    `detail` is what a person has to see besides the title, such as the whole command.
    """

    attempt: int
    request: str
    title: str
    kind: str
    options: list[tuple[str, str, str]]
    prompt: str = ""
    detail: str = ""


class PermissionAnswered(Fact, frozen=True, kw_only=True, tag="permission_answered"):
    """Somebody, or the policy, has decided. `option` None: refused without an option."""

    request: str
    option: str | None
    by: str


class EscalationAnswered(Fact, frozen=True, kw_only=True, tag="escalation_answered"):
    """Somebody has decided how the session continues. `text` is what else they tell the agent."""

    question: str
    option: str
    by: str
    text: str = ""


class GateRan(Fact, frozen=True, kw_only=True, tag="gate_ran"):
    """The command of a gate has ended. If it passed, the task is finished.

    `commit` was checked out before and after it; empty: not known.
    """

    gate: str
    passed: bool
    output: str = ""
    commit: str = ""


#: Every fact of this module.
QuestionFact = PermissionAsked | PermissionAnswered | EscalationAnswered | GateRan
