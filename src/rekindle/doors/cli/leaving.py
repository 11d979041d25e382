"""The text for a person who stops watching a session: what keeps running, and how to come back. Pure."""

from __future__ import annotations

from typing import Any

from rekindle.doors.cli.live import waiting_line


def left_behind(session: str, told: dict[str, Any] | None, now: float) -> str:
    """One line. `told` is the session as last seen; None if no daemon could be asked."""
    back = f"rekindle attach {session}"
    if told is None:
        return f"Nobody could be asked how it goes on. Come back: {back}"
    if told["asks"] is not None:
        return f"Still running, and waiting for an answer. Reattach: {back}"
    if told["waits_until"] is not None:
        return f"Still running, {waiting_line(told, now)}. Reattach: {back}"
    if not told["rested"]:
        return f"Still running. Reattach: {back}"
    if told["is_running"]:
        return f"Its turn is over. Come back: {back}"
    return f"Nothing is running: the session is {told['status']}. Come back: {back}"
