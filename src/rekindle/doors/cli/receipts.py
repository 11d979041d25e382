"""Receipts in plain words, and which of them is news to whoever watches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.core.terminal_text import printable
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
        raise RekindleError(f"{told['id']}: {told['message']}", f"try again: rekindle resume {told['id']}")
    print(f"{told['id']}: {told['status']}, attempt {told['attempt']}.")
    for line in receipt_lines(told["receipt"]):
        print(f"  {line}")
    if told["message"]:
        print(f"  {printable(told['message'])}")


def print_woken(told: dict[str, Any]) -> None:
    """That a command has woken a session, with what is known about its conversation by now."""
    print(f"{told['id']}: woken up, attempt {told['attempt']}.")
    for line in receipt_lines(told["receipt"]):
        print(f"  {line}")
    more = "The receipt may still change; see" if told["receipt"] else "There is no receipt yet; see"
    print(f"  {more}: rekindle show {told['id']}")


def receipt_lines(receipt: dict[str, Any] | None) -> Iterator[str]:
    """A receipt: what was proved, and below it everything that is not known or was repeated."""
    if receipt is None:
        return
    yield f"{_WORDS[receipt['kind']]}: {printable(receipt['reason'])}"
    for line in (*receipt["unknown"], *receipt["repeated"]):
        yield f"- {printable(line)}"


class Receipts:
    """The receipts of a session that somebody watches. Each is told once; one that changes is told again."""

    def __init__(self, known: dict[str, Any] | None = None) -> None:
        self._known = (known["attempt"], known["receipt"]) if known is not None else (0, None)

    def news(self, told: dict[str, Any]) -> list[str]:
        """What is to be printed now that a session is shown like this."""
        now = (told["attempt"], told["receipt"])
        if now[1] is None or now == self._known:
            return []
        is_new = now[0] != self._known[0]
        self._known = now
        head = [f"{told['id']}: woken up, attempt {told['attempt']}."] if is_new else []
        return [*head, *(f"  {line}" for line in receipt_lines(told["receipt"]))]
