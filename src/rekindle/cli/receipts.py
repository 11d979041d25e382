"""Receipts in plain words."""

from __future__ import annotations

from typing import Any

from rekindle.cli.outcome import printable
from rekindle.ports.errors import RekindleError


def print_receipt(told: dict[str, Any]) -> None:
    """What a resume proved, in plain words."""
    if told["status"] == "failed":
        raise RekindleError(f"{told['id']}: {told['message']}", f"try again: rekindle resume {told['id']}")
    print(f"{told['id']}: {told['status']}, attempt {told['attempt']}.")
    if told["receipt"]:
        print(f"  {receipt_line(told['receipt'])}")
        for line in (*told["receipt"]["unknown"], *told["receipt"]["repeated"]):
            print(f"  - {printable(line)}")
    if told["message"]:
        print(f"  {printable(told['message'])}")


def receipt_line(receipt: dict[str, Any]) -> str:
    """A receipt's first line."""
    words = {
        "same": "the same conversation",
        "rebuilt": "a new conversation with the old history",
        "fresh": "a fresh start",
        "unproven": "not proved to be the same conversation",
    }
    return f"{words[receipt['kind']]}: {printable(receipt['reason'])}"
