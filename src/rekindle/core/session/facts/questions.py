"""Facts about the questions that an agent asks before it does something. Pure data."""

from __future__ import annotations

from rekindle.core.fact import Fact


class PermissionAsked(Fact, frozen=True, kw_only=True, tag="permission_asked"):
    """The agent wants to do something that it may not do unasked. `prompt`: in whose turn; empty in none.

    `detail` is what a person has to see beside the title: the whole command, say.
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


#: Every fact of this module.
QuestionFact = PermissionAsked | PermissionAnswered
