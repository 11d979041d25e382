"""Counts the planted facts that survive a dehydration without a model, and those that plain truncation keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bench.dehydration.filling import Beat, MadeTalk, filled, talks
from rekindle.core.session.history import Turn
from rekindle.core.skill.dehydration import PROMPT_CHARACTERS, lines
from rekindle.core.skill.injection import HOOK_CHARACTERS
from rekindle.core.skill.salvage import salvaged

SIZES: Final = (HOOK_CHARACTERS, PROMPT_CHARACTERS)
WAYS: Final = ("dehydrated", "the end", "beginning and end")


class Survival(msgspec.Struct, frozen=True):
    """Of one way at one size: how many of all planted facts are left, in all and by where they were."""

    way: str
    size: int
    kept: int
    planted: int
    parts: dict[str, tuple[int, int]]

    @property
    def share(self) -> float:
        """The share that survives."""
        return self.kept / self.planted


def transcript(turns: Sequence[Turn]) -> str:
    """The conversation as one text."""
    return "\n".join(f"[{one.role}] {one.name} {one.text}".strip() for one in turns)


def measured(seed: int = 1) -> list[Survival]:
    """Every way at every size, over all conversations."""
    every = [(talk, filled(talk, seed)) for talk in talks()]
    return [_measured(way, size, every) for size in SIZES for way in WAYS]


def _measured(way: str, size: int, every: Sequence[tuple[MadeTalk, list[Turn]]]) -> Survival:
    kept, planted = 0, 0
    parts: dict[str, tuple[int, int]] = {}
    for talk, turns in every:
        text = _KEPT[way](turns, size)
        assert len(text) <= size, f"{way}: {len(text)} characters, {size} are allowed"
        for fact, beat in talk.facts:
            is_there = fact in text
            kept, planted = kept + is_there, planted + 1
            for part in _parts(beat):
                had, of = parts.get(part, (0, 0))
                parts[part] = (had + is_there, of + 1)
    return Survival(way, size, kept, planted, parts)


def _parts(beat: Beat) -> tuple[str, str]:
    third = "first third" if beat.at < 1 / 3 else "second third" if beat.at < 2 / 3 else "last third"
    who = {"user": "user", "agent": "agent", "call": "tool calls", "result": "tool output"}[beat.who]
    return third, who


def _ends(turns: Sequence[Turn], size: int) -> str:
    text = transcript(turns)
    return text[: size // 2] + text[len(text) - (size - size // 2) :]


_KEPT: Final[dict[str, Callable[[Sequence[Turn], int], str]]] = {
    "dehydrated": lambda turns, size: "\n".join(lines(salvaged(turns, most=size))),
    "the end": lambda turns, size: transcript(turns)[-size:],
    "beginning and end": _ends,
}
_COLUMNS: Final = ("first third", "second third", "last third", "user", "agent", "tool calls", "tool output")


def table(found: Sequence[Survival]) -> str:
    """The figures as a table in Markdown."""
    rows = [
        f"| characters | kept | facts | {' | '.join(_COLUMNS)} |",
        f"|---|---|---|{'---|' * len(_COLUMNS)}",
    ]
    for one in found:
        parts = " | ".join(f"{one.parts[name][0]} of {one.parts[name][1]}" for name in _COLUMNS)
        rows.append(f"| {one.size:,} | {one.way} | **{one.kept} of {one.planted}** ({one.share:.0%}) | {parts} |")
    return "\n".join(rows)
