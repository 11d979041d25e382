"""Labels of phases: `5`, `5.2`, `3.A`, `1.2B`. One pattern, checked in one place. Pure, standard library only.

A phase is stored and shown as "label: name". A label with a dot is a sub-phase of the label before its last dot.
"""

from __future__ import annotations

import re
from typing import Final

PATTERN: Final = r"^\d+(\.(\d+[A-Z]?|[A-Z]+))*$"
_LABEL: Final = re.compile(r"\d+(\.(\d+[A-Z]?|[A-Z]+))*", re.ASCII)
LONGEST: Final = 40
#: What a label looks like, for messages.
EXAMPLES: Final = "5, 5.2, 3.A or 1.2B"


def is_label(text: str) -> bool:
    """Whether this can be the label of a phase."""
    return len(text) <= LONGEST and _LABEL.fullmatch(text) is not None


def split(phase: str) -> tuple[str, str]:
    """The label and the name of a phase as it is stored; the name is empty if only the label is given."""
    label, _, name = phase.partition(":")
    return label.strip(), name.strip()


def joined(label: str, name: str) -> str:
    """A phase as it is stored and shown."""
    return f"{label}: {name}" if name else label


def major(label: str) -> str:
    """The phase that a sub-phase belongs to at the top; a major phase is its own."""
    return label.partition(".")[0]


def is_sub(label: str) -> bool:
    """Whether this is the label of a sub-phase."""
    return "." in label
