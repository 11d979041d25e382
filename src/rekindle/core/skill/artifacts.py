"""What the files of a skill session say: entries of its log, ticked steps of its plan, its debrief. Pure.

The scan is cheap: a listing, the end of the log, the plan's checkboxes. No file is read whole to find this out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

#: How much of the end of a log is read, and of a plan at most.
LOG_TAIL: Final = 16 << 10
PLAN_MOST: Final = 256 << 10
MOST_FILES: Final = 200
ENTRIES: Final = 5
_BOX: Final = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[(?P<mark>[ xX])\][ \t]*(?P<step>.*)$", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(?P<title>\S.*)$", re.MULTILINE)
_LONGEST: Final = 160


class LogEntry(msgspec.Struct, frozen=True):
    """An entry of the log: its heading, and its first words."""

    title: str
    begins: str = ""


class PlanSteps(msgspec.Struct, frozen=True):
    """The checkboxes of a plan. `open` are the first ones that are not ticked."""

    ticked: int
    total: int
    open: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether there are steps, and all of them are ticked."""
        return self.total > 0 and self.ticked == self.total


class Artifacts(msgspec.Struct, frozen=True):
    """What the scan found. None: there is no such file."""

    files: tuple[str, ...] = ()
    log: tuple[LogEntry, ...] | None = None
    plan: PlanSteps | None = None
    debrief: bool = False
    #: the text that the log's end consists of, for what it mentions
    log_end: str = ""

    def named(self, log: str, plan: str, debrief: str) -> list[str]:
        """The artifacts that are there, in words."""
        found = [f"log ({log})"] if self.log is not None else []
        if self.plan is not None:
            steps = f", {self.plan.ticked} of {self.plan.total} steps ticked" if self.plan.total else ""
            found.append(f"plan ({plan}{steps})")
        if self.debrief:
            found.append(f"debrief ({debrief})")
        return found


def entries_of(text: str) -> tuple[LogEntry, ...]:
    """The last entries of a log, oldest first. An entry begins at a heading; without any, lines count."""
    heads = list(_HEADING.finditer(text))
    if not heads:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return tuple(LogEntry(line[:_LONGEST]) for line in lines[-ENTRIES:])
    found = []
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        body = " ".join(text[head.end() : end].split())
        found.append(LogEntry(head["title"].rstrip()[:_LONGEST], body[:_LONGEST]))
    return tuple(found[-ENTRIES:])


def steps_of(text: str) -> PlanSteps:
    """The checkboxes of a plan."""
    boxes = [(one["mark"] != " ", one["step"].strip()[:_LONGEST]) for one in _BOX.finditer(text)]
    left = tuple(step for ticked, step in boxes if not ticked)
    return PlanSteps(sum(ticked for ticked, _ in boxes), len(boxes), left[:3])


def headings_of(text: str) -> Sequence[str]:
    """The headings in a text."""
    return [one["title"].rstrip() for one in _HEADING.finditer(text)]
