"""What a person is told about Ctrl-C, before and after: what keeps running, and how to come back. Pure."""

from __future__ import annotations

from typing import Any

from rekindle.core.terminal_text import quoted
from rekindle.doors.cli.live import waiting_line

LEAVES = "Ctrl-C leaves it running"
#: On a narrow terminal.
SHORT = "Ctrl-C leaves"


def still_running(name: str, how: str = "") -> list[str]:
    """The lines after Ctrl-C, for a session or a feature: one form for every command."""
    return [f"Still running{how}. {_reattach(name)}", f"Stop it: rekindle stop {quoted(name)}"]


def job_running(job: str) -> list[str]:
    """The same for a job."""
    return [f"Still running. Look at it: rekindle job show {job}", f"Stop it: rekindle job cancel {job}"]


def left_behind(session: str, told: dict[str, Any] | None, now: float) -> list[str]:
    """The same for a session. `told`: the session as last seen; None if no daemon could be asked."""
    if told is None:
        return [f"No daemon answers, so it is not known what is still running. {_reattach(session)}"]
    if told["question"] is not None and told["asks"] is None and not told["is_running"]:
        return [f"It waits for your answer: rekindle answer {told['question']['id']}", _reattach(session)]
    if told["question"] is not None:
        return still_running(session, ", and waiting for an answer")
    if told["waits_until"] is not None:
        return still_running(session, f", {waiting_line(told, now)}")
    if not told["rested"]:
        return still_running(session)
    if told["is_running"]:
        return [f"Its turn is over. {_reattach(session)}"]
    return [f"Nothing is running: the session is {told['status']}. {_reattach(session)}"]


def _reattach(name: str) -> str:
    return f"Reattach: rekindle attach {quoted(name)}"
