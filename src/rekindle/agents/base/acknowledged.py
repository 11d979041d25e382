"""What was said in a conversation according to us, and what a record of it lacks. Pure.

The agent reported each message when it received or sent it, with the text and, if the agent has one, the message's
own name. A resume is the same conversation only if its model gets all of that: present, in order, unaltered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec


class Spoken(msgspec.Struct, frozen=True):
    """One message. `id` is the agent's own name for it; empty: it has none.

    A `boundary` is where the agent summarised its conversation, and the `summary` is what it wrote there: the two
    together stand for what came before. `sure`: its turn ended well. In any other turn the agent may have died before
    it wrote the message down, so the message counts as missing only if it was seen written.
    """

    role: Literal["user", "assistant", "boundary", "summary"]
    text: str = ""
    id: str = ""
    sure: bool = True


class Lacking(msgspec.Struct, frozen=True):
    """How many of the earlier messages are missing, or have changed.

    `foreign`: how many of the prompts belong to another conversation. `unconfirmed`: what the model gets in the user's
    name although the record does not say that anybody said it; only somebody who knows the session can tell.
    """

    prompts: int = 0
    of_prompts: int = 0
    answers: int = 0
    of_answers: int = 0
    summary: bool = False
    foreign: int = 0
    unconfirmed: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything is lacking or foreign."""
        return bool(self.prompts or self.answers or self.summary or self.foreign)

    @property
    def words(self) -> str:
        """What is lacking, as text for a person; empty: nothing."""
        parts = [f"{self.prompts} of {self.of_prompts} earlier prompts"] * bool(self.prompts)
        parts += [f"{self.answers} of {self.of_answers} earlier answers"] * bool(self.answers)
        parts += ["its own summary of what was said before"] * self.summary
        return " and ".join(parts)


def lacking(expected: Sequence[Spoken], there: Sequence[Spoken], written: frozenset[str] = frozenset()) -> Lacking:
    """What a conversation lacks of what was acknowledged. `written` are the messages that were seen written."""
    covered = _covered(expected, there)
    asked = [one for one in expected[covered:] if one.sure or one.id in written]
    missing = _missing([one for one in asked if one.role != "boundary"], there)
    spoken = [one for one in expected if one.role in ("user", "assistant")]
    return Lacking(
        prompts=sum(one.role == "user" for one in missing),
        of_prompts=sum(one.role == "user" for one in spoken),
        answers=sum(one.role == "assistant" for one in missing),
        of_answers=sum(one.role == "assistant" for one in spoken),
        summary=any(one.role == "summary" for one in missing),
    )


def _covered(expected: Sequence[Spoken], there: Sequence[Spoken]) -> int:
    """How many of the first messages are covered by a summary that the conversation has, older summaries included.

    A conversation that lost its boundary must have what came before it instead, and no summary.
    """
    boundaries = {one.id for one in there if one.role == "boundary"}
    for at in range(len(expected) - 1, -1, -1):
        if expected[at].role == "boundary" and expected[at].id in boundaries:
            return at + 1
    return 0


def _missing(expected: Sequence[Spoken], there: Sequence[Spoken]) -> list[Spoken]:
    """The messages that are missing, out of order or changed. Names decide if both sides have them."""
    places: dict[str, int] = {one.id: at for at, one in enumerate(there) if one.id}
    missing: list[Spoken] = []
    at = -1
    for one in expected:
        if one.id and places:
            found = places.get(one.id)
        else:
            found = next((n for n in range(at + 1, len(there)) if _is_same(there[n], one)), None)
        if found is None or found <= at or not _is_same(there[found], one):
            missing.append(one)
            continue
        at = found
    return missing


def _is_same(one: Spoken, other: Spoken) -> bool:
    return one.role == other.role and one.text == other.text
