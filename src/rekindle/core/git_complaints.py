"""Why git could not do something, from its output: its own reasons with the files, without its advice."""

from __future__ import annotations

from dataclasses import dataclass, field

_SEVERE = ("fatal: ", "error: ")
_MOST_FILES = 5


@dataclass
class _Complaint:
    sentence: str
    files: list[str] = field(default_factory=list)

    def told(self) -> str:
        if not self.files:
            return self.sentence
        more = f" and {len(self.files) - _MOST_FILES} more" if len(self.files) > _MOST_FILES else ""
        return f"{self.sentence.rstrip(':')}: {', '.join(self.files[:_MOST_FILES])}{more}"


def reason(stderr: bytes) -> str:
    """Git's complaints in one line. A few of the files that it lists below a complaint are named."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    found: list[_Complaint] = []
    for line in lines:
        if line.startswith(_SEVERE):
            found.append(_Complaint(line.partition(": ")[2].strip()))
        elif line.startswith("\t") and found:
            found[-1].files.append(line.strip())
    return "; ".join(one.told() for one in found) or (lines or ["no reason given"])[-1]
