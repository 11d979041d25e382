"""The ids of prompts. One of rekindle's own is named after the prompt it goes on with: a spool has nothing but the id.

Three kinds, and none can be taken for another: what a person or a program gives has neither a slash nor a plus sign in
it; what a feature's run asks for has a slash (see `core.feature.talks`); what rekindle says to go on with one of them
is that one's id, a plus sign and a tail.

Whoever has the prompt itself asks it (`by`, `of`), not its id.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.names import why_not

_JOINT: Final = "+"


def why_not_id(given: str) -> str | None:
    """Why somebody cannot give a prompt this id, as the end of a sentence; None if they can."""
    return why_not(given) or (f"has a {_JOINT} in it" if _JOINT in given else None)


def derived(prompt: str, tail: str) -> str:
    """The id of a prompt of rekindle's own that goes on with another one."""
    return f"{prompt}{_JOINT}{tail}"


def task_in(prompt: str) -> str:
    """The id of the prompt that one of rekindle's own goes on with; empty for a prompt that a person gave."""
    task, joint, _ = prompt.partition(_JOINT)
    return task if joint else ""
