"""Errors as real agents give them, and the class that each has."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.agents.base.failure import Failure, classify, resets_at, retry_after, why_not_opened
from rekindle.agents.base.observation import Problem
from rekindle.core.session.facts import ErrorClass


@pytest.mark.parametrize(
    ("expected", "code", "message", "data"),
    [
        ("rate_limited", -32603, "Internal error", {"details": "exceeded retry limit, last status: 429"}),
        ("rate_limited", -32603, "You've hit your usage limit", None),
        ("rate_limited", 429, "Too many requests", None),
        ("overloaded", -32603, "Repeated 529 Overloaded errors", None),
        ("overloaded", -32603, "API Error: 529", None),
        ("overloaded", -32603, "The model is at capacity", None),
        ("out_of_credits", -32603, "Your credit balance is too low", None),
        ("out_of_credits", -32603, "429: you exceeded your current quota", None),
        ("unauthorized", -32000, "Authentication required", None),
        ("unauthorized", -32603, "401 Unauthorized", None),
        ("unauthorized", 400, '{"error":{"code":400,"message":"API key not valid. Please pass a valid one."}}', None),
        ("no_internet", -32603, "Unable to connect to API", None),
        ("no_internet", -32603, "Internal error", {"details": "getaddrinfo ENOTFOUND api.example.com"}),
        ("no_internet", -32603, "stream disconnected before completion", None),
        ("context_overflow", -32603, "prompt is too long: 210000 tokens > 200000 maximum", None),
        ("context_overflow", -32603, "ran out of room in the model's context window", None),
        ("context_overflow", -32603, "x", {"error": {"code": "context_length_exceeded"}}),
        ("overloaded", None, "We’re currently experiencing high demand, which may cause temporary errors.", None),
        (
            "context_overflow",
            400,
            "The input token count (12) exceeds the maximum number of tokens allowed (10).",
            None,
        ),
        ("session_lost", -32002, "Session abc not found", None),
        ("other", -32603, "Internal error", {"line": 429, "price": 503}),
        ("other", None, "", None),
        ("overloaded", -32000, "Authentication required", {"class": "overloaded"}),
        ("unauthorized", -32000, "x", {"class": "no class of ours"}),
    ],
)
def test_class_of_a_failed_turn(expected: ErrorClass, code: int | None, message: str, data: Any) -> None:
    assert classify(Failure(code, message, data)) == expected


@pytest.mark.parametrize(
    ("agent", "expected", "code", "message", "data"),
    [
        ("opencode", "unknown_session", -32603, "Internal error", {"service": "session"}),
        ("claude", "unknown_session", -32002, "Resource not found: 0b8", {"uri": "0b8"}),
        ("codex", "unknown_session", -32603, "Internal error", {"details": "no rollout found for thread id 1"}),
        ("gemini", "unknown_session", -32603, "Invalid session identifier", None),
        ("copilot", "unknown_session", -32002, "Session 1 not found", None),
        ("copilot, live", "other", -32602, "Session 1 is already loaded", None),
        ("auggie", "unknown_session", -32602, "Session not found", None),
        ("any", "unsupported", -32601, "Method not found", {"method": "session/load"}),
        ("any", "unauthorized", -32000, "Authentication required", None),
        ("any", "other", -32002, "File /w/x.txt is missing", None),
        ("any", "other", -32603, "Internal error", None),
        ("any", "other", -32603, "write EPIPE", None),
        ("scripted", "unknown_session", -32603, "gone", {"class": "session_lost"}),
    ],
)
def test_only_a_clear_word_says_that_the_session_is_unknown(
    agent: str, expected: Problem, code: int, message: str, data: Any
) -> None:
    assert why_not_opened(Failure(code, message, data), "load") == expected, agent


def test_a_new_conversation_cannot_be_unknown() -> None:
    assert why_not_opened(Failure(-32002, "session not found"), "new") == "other"


@pytest.mark.parametrize(
    ("seconds", "message", "data"),
    [
        (30.0, "", {"retryAfter": 30}),
        (1.5, "", {"retry_after_ms": 1500}),
        (7.0, "", {"error": {"retry_after": "7"}}),
        (20.0, "Please try again in 20s.", None),
        (300.0, "retry after 5 minutes", None),
        (None, "later", {"retry_after": "soon"}),
        (None, "", {"retry_after": -1}),
        (None, "", {"retry_after": True}),
    ],
)
def test_how_long_to_wait(seconds: float | None, message: str, data: Any) -> None:
    assert retry_after(Failure(-1, message, data)) == seconds


@pytest.mark.parametrize(
    ("moment", "data"),
    [
        (1_800_000_000.0, {"resets_at": 1_800_000_000}),
        (1_800_000_000.0, {"resetsAt": 1_800_000_000_000}),
        (1_767_225_600.0, {"resets_at": "2026-01-01T00:00:00Z"}),
        (1_767_225_600.0, {"resets_at": "2026-01-01T00:00:00"}),
        (None, {"resets_at": "3pm"}),
        (None, ["resets_at"]),
    ],
)
def test_when_the_limit_ends(moment: float | None, data: Any) -> None:
    assert resets_at(Failure(-1, "", data)) == moment
