"""The ids of prompts. rekindle's own prompts are named after the prompt they continue: a spool has only the id.

Three kinds, and none can be taken for another: an id from a person or a program has neither a slash nor a plus sign;
one from a feature's run has a slash (see `core.feature.talks`); one from rekindle that continues one of them is that
one's id, a plus sign and a tail.

If you have the prompt itself, look at its `by` and `of`, not at its id.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.names import why_not

_JOINT: Final = "+"


def why_not_id(given: str) -> str | None:
    """Why nobody can give a prompt this id, as the end of a sentence; None if they can."""
    return why_not(given) or (f"has a {_JOINT} in it" if _JOINT in given else None)


def derived(prompt: str, tail: str) -> str:
    """The id of a prompt of rekindle's own that continues another one."""
    return f"{prompt}{_JOINT}{tail}"


def task_in(prompt: str) -> str:
    """The id of the prompt that one of rekindle's own continues; empty for a prompt that a person gave."""
    task, joint, _ = prompt.partition(_JOINT)
    return task if joint else ""
