"""What truly happens in a simulated world, written down as it happens: all that people are told is held against it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.fakes.keepers import Conversation


@dataclass
class Recalled:
    """A turn as the agent's own record has it."""

    prompt: str
    said: list[str] = field(default_factory=list)
    is_over: bool = False

    def copy(self) -> Recalled:
        return Recalled(self.prompt, list(self.said), self.is_over)


class Memory(Conversation):
    """A conversation with its answers. `ended_well`: every turn that ever ended well in it, whatever is kept of it."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.turns: list[Recalled] = []
        self.ended_well: list[Recalled] = []
        self.is_compacted = False


@dataclass
class Tool:
    """A tool call: what it does happens when it begins, and nobody can take it back."""

    session: str
    attempt: int
    title: str
    is_over: bool = False


@dataclass
class Asked:
    """A question that an agent has put to a person. `option`: how it was answered, as the agent was told."""

    session: str
    attempt: int
    title: str
    request: int
    at: float
    option: str | None = None
    is_open: bool = True


@dataclass
class Begun:
    """An agent has got a prompt. `is_shown`: it has said or begun something, so that nobody may send it again."""

    session: str
    attempt: int
    prompt: str
    text: str
    is_shown: bool = False


def said_by(texts: Iterable[Recalled]) -> list[tuple[str, str]]:
    """Turns in short, to compare them."""
    return [(one.prompt, "".join(one.said)) for one in texts]
