"""Receipts in plain words, and which of them are new to the watcher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.printing import print_lines
from rekindle.ports.errors import RekindleError

_WORDS = {
    "same": "the same conversation",
    "rebuilt": "a new conversation with the old history",
    "fresh": "a fresh start",
    "unproven": "not proved to be the same conversation",
}


def print_receipt(told: dict[str, Any]) -> None:
    """What a resume proved, in plain words."""
    if told["status"] == "failed":
        raise RekindleError(f"{told['id']}: {told['message']}", f"rekindle resume {told['id']}")
    print(f"{told['id']}: {told['status']}, attempt {told['attempt']}.")
    print_lines(f"  {line}" for line in receipt_lines(told["receipt"]))
    if told["receipt_may_change"]:
        print_lines([f"  {_being_checked(told)}"])
    print_lines(f"  {line}" for line in proof_lines(told.get("skill")))
    if told["message"]:
        print_lines([f"  {printable(told['message'])}"])


def proof_lines(skill: dict[str, Any] | None) -> Iterator[str]:
    """The skill session that the agent works in, and what its last resume proved."""
    if skill is None:
        return
    yield printable(f"skill session {skill['folder']}: {skill['skill']}, {skill['lifecycle']}, at {skill['phase']}")
    for name, value in (skill["proof"] or {}).items():
        yield printable(f"- {name}: {value}")


def print_woken(told: dict[str, Any]) -> None:
    """The text that a command has woken a session. Its receipt is printed only if it is final."""
    print(f"{told['id']}: woken up, attempt {told['attempt']}.")
    if told["receipt"] is None or told["receipt_may_change"]:
        print_lines([f"  {_being_checked(told)}"])
        return
    print_lines(f"  {line}" for line in receipt_lines(told["receipt"]))
    print_lines([f"  All receipts: rekindle show {told['id']}"])


def _being_checked(told: dict[str, Any]) -> str:
    return f"Whether it is the same conversation is being checked; see: rekindle show {told['id']}"


def receipt_lines(receipt: dict[str, Any] | None) -> Iterator[str]:
    """A receipt: what was proved, and below it everything that is not known or was repeated."""
    if receipt is None:
        return
    yield f"{_WORDS[receipt['kind']]}: {printable(receipt['reason'])}"
    for line in (*receipt["unknown"], *receipt["repeated"]):
        yield f"- {printable(line)}"


class Receipts:
    """The receipts of a session that somebody watches. Each is shown once, when it is final for the moment."""

    def __init__(self, known: dict[str, Any] | None = None) -> None:
        self._attempt = known["attempt"] if known is not None else 0
        self._told = known["receipt"] if known is not None and not known["receipt_may_change"] else None

    def news(self, told: dict[str, Any]) -> list[str]:
        """What to print, given the session's current state."""
        if told["receipt"] is None:
            return []
        head: list[str] = []
        if told["attempt"] != self._attempt:
            head = [f"{told['id']}: woken up, attempt {told['attempt']}."]
            self._attempt, self._told = told["attempt"], None
        if told["receipt_may_change"] or told["receipt"] == self._told:
            return head
        self._told = told["receipt"]
        return [*head, *(f"  {line}" for line in receipt_lines(told["receipt"]))]
