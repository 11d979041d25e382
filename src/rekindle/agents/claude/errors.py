"""Classifies the errors of Claude Code: it has its own wording, and reports all of them as "success"."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from rekindle.agents.base.failure import Failure, classify, retry_after
from rekindle.core.session.facts import ErrorClass

_WORDS: Final[dict[str, ErrorClass]] = {
    "rate_limit": "rate_limited",
    "authentication_failed": "unauthorized",
    "billing_error": "out_of_credits",
    "overloaded": "overloaded",
}
_RESET: Final = re.compile(r"limit reached\|(\d{9,12})\b")


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the stream said about a failed turn. `retried` is the text of its own retries."""

    text: str = ""
    word: str = ""
    status: int | None = None
    terminal_reason: str = ""
    retried: str = ""
    retry_seconds: float | None = None
    resets_at: float | None = None
    limit: str = ""


class ErrorVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """`transient`: the same may work later, without anybody doing anything."""

    error: ErrorClass
    transient: bool
    retry_after_seconds: float | None
    resets_at: float | None


def judge(told: Told) -> ErrorVerdict:
    """The kind of failure, and when it ends if the agent said so."""
    error = _error(told)
    transient = error in ("rate_limited", "overloaded", "no_internet") or (told.status or 0) >= 500
    found = _RESET.search(told.text)
    resets_at = float(found[1]) if found is not None else told.resets_at
    after = told.retry_seconds if told.retry_seconds is not None else retry_after(Failure(None, told.text))
    return ErrorVerdict(error=error, transient=transient, retry_after_seconds=after, resets_at=resets_at)


def _error(told: Told) -> ErrorClass:
    if told.terminal_reason == "prompt_too_long":
        return "context_overflow"
    if told.word == "server_error" and told.retried == "overloaded":
        return "overloaded"
    known = _WORDS.get(told.word)
    return known if known is not None else classify(Failure(told.status, told.text))
