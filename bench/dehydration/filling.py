"""Made conversations: the beats of `conversations.toml`, and between them what a long day of work with an agent is full
of. The same seed gives the same conversation. Nothing here knows how a conversation is dehydrated.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from rekindle.core.session.history import Turn

#: How many characters a made conversation has at least: a good part of a model's window.
LENGTH: Final = 160_000
_NAMES: Final = (
    *("router", "cache", "session", "widget", "queue", "parser", "export"),
    *("layout", "mailer", "worker", "schema", "policy", "token", "index"),
)
_KINDS: Final = ("ts", "py", "go", "rb", "kt", "rs", "java", "sql", "yml", "md")
_VERBS: Final = ("loads", "checks", "renders", "stores", "merges", "drops", "splits", "formats", "copies", "sends")
_SMALL: Final = (
    "ok",
    "go on",
    "yes please",
    "thanks, looks good so far",
    "hm, let's see",
    "how is it going?",
    "fine with me, continue",
    "I'm in a meeting until noon, just go ahead",
    "can you show me that again in short?",
)
_TALK: Final = (
    "Let me look at how {a} {v} the {b} first.",
    "That matches what I expected: {a} {v} the {b} only when it has to.",
    "I see. The {a} is called from {n} places, and none of them looks at the {b}.",
    "Reading on. The {b} is made in the {a}, which {v} it twice.",
    "This part is fine. I leave the {a} as it is and look at the {b} next.",
    "Interesting: {path} has a comment from 2019 that says the {a} should be removed.",
    "I considered changing the {a}, but the {b} would have to change too, so I don't.",
    "The test for the {a} passes. Now the {b}.",
    "I'll check whether {path} uses the {b} anywhere.",
    "It compiles again after the small change in {path}.",
    "`{name}` takes {n} ms here, which is not what we are after.",
    "I tried {name} with {n} instead of {m}: no difference, so I put it back.",
    "For now I keep {name}; we can decide about {path} later.",
    "{name} is deprecated since version {n}.{m}, but nobody calls it with more than {n} arguments.",
    "The error in {path}, line {m}, was there before; it has nothing to do with this.",
    "We don't need {name} because the {a} {v} it anyway.",
    "Still to check: whether {name} must hold the lock while the {b} {v}.",
)


class Beat(msgspec.Struct, frozen=True):
    """Something with planted facts: who says it, and how far into the conversation."""

    at: float
    who: Literal["user", "agent", "call", "result"]
    text: str
    facts: list[str]


class MadeTalk(msgspec.Struct, frozen=True):
    """One conversation, before it is filled in."""

    name: str
    goal: str
    beats: list[Beat]

    @property
    def facts(self) -> list[tuple[str, Beat]]:
        """All planted facts, each with its beat."""
        return [(fact, beat) for beat in self.beats for fact in beat.facts]


def talks() -> list[MadeTalk]:
    """The conversations of the file."""
    found: dict[str, Any] = tomllib.loads((Path(__file__).parent / "conversations.toml").read_text("utf-8"))
    return msgspec.convert(found["talk"], list[MadeTalk])


def filled(talk: MadeTalk, seed: int) -> list[Turn]:
    """The whole conversation."""
    chance = random.Random(f"{talk.name} {seed}")  # made texts, no secrets
    turns = [Turn("user", talk.goal)]
    length, beats = 0, sorted(talk.beats, key=lambda one: one.at)
    while length < LENGTH or beats:
        if beats and length >= beats[0].at * LENGTH:
            turns += _said(beats.pop(0), chance)
            continue
        more = _filler(chance)
        length += sum(len(one.text) + len(one.name) for one in more)
        turns += more
    return turns


def _said(beat: Beat, chance: random.Random) -> list[Turn]:
    match beat.who:
        case "call":
            return [Turn("tool_call", name=beat.text), Turn("tool_result", f"completed: {_log(chance)}", beat.text)]
        case "result":
            name = f"Bash: ./check {chance.choice(_NAMES)}"
            output = "\n".join([_log(chance), beat.text, _log(chance)])
            return [Turn("tool_call", name=name), Turn("tool_result", f"completed: {output}", name)]
        case "agent":
            before, after = (_sentence(chance) for _ in range(2))
            return [Turn("assistant", f"{before} {beat.text} {after}")]
        case "user":
            return [Turn("user", beat.text)]


def _filler(chance: random.Random) -> list[Turn]:
    found = [Turn("assistant", " ".join(_sentence(chance) for _ in range(chance.randint(1, 6))))]
    for _ in range(chance.randint(1, 4)):
        path = _path(chance)
        name = chance.choice((f"Read: {path}", f"Grep: {chance.choice(_NAMES)} in {path}", f"Edit: {path}"))
        name = name if chance.random() < 0.7 else f"Bash: make {chance.choice(_NAMES)}-{chance.choice(_VERBS)}"
        output = _code(chance) if name.startswith("Read") else _log(chance)
        found += [Turn("tool_call", name=name), Turn("tool_result", f"completed: {output}", name)]
    if chance.random() < 0.06:
        found.append(Turn("user", chance.choice(_SMALL)))
    return found


def _sentence(chance: random.Random) -> str:
    a, b = chance.sample(_NAMES, 2)
    name = f"{chance.choice(_VERBS)}_{chance.choice(_NAMES)}{chance.choice(_NAMES).title()}"
    words = {"a": a, "b": b, "v": chance.choice(_VERBS), "n": chance.randint(2, 30), "path": _path(chance)}
    return chance.choice(_TALK).format(name=name, m=chance.randint(31, 999), **words)


def _path(chance: random.Random) -> str:
    folder = "/".join(chance.sample(_NAMES, chance.randint(1, 2)))
    return f"{folder}/{chance.choice(_NAMES)}_{chance.choice(_VERBS)}.{chance.choice(_KINDS)}"


def _code(chance: random.Random) -> str:
    lines = []
    for number in range(chance.randint(12, 60)):
        a, b = chance.sample(_NAMES, 2)
        indent = "  " * chance.randint(0, 3)
        lines.append(f"{number + 1:4}  {indent}{a}.{chance.choice(_VERBS)}({b}, {chance.randint(0, 999)})")
    return "\n".join(lines)


def _log(chance: random.Random) -> str:
    levels = ("INFO", "INFO", "INFO", "DEBUG", "WARN")
    return "\n".join(
        f"{chance.choice(levels)} {chance.choice(_NAMES)}: {chance.choice(_VERBS)} {chance.choice(_NAMES)}"
        f" in {chance.randint(1, 4000)} ms"
        for _ in range(chance.randint(1, 14))
    )
