"""Dehydrated context made from a conversation without a model, for an agent that did not manage a summary. Pure.

Nothing is worded anew: what the user said, sentences of the agent, lines of tools' output, calls, files. What is kept
is chosen by how much it tells: words that are rare in this conversation, names, paths and numbers count, what repeats
itself in shape does not. The same conversation gives the same context.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from rekindle.core.session.history import Turn, request_of
from rekindle.core.skill.dehydration import (
    MOST_FILES,
    PROMPT_CHARACTERS,
    DehydratedContext,
    size,
    trimmed,
    without_middle,
)

#: How the room is shared: what the user said, what the agent found and decided, what tools showed, what was run.
_SHARES: Final = {"user": 0.3, "agent": 0.37, "shown": 0.15, "run": 0.1, "files": 0.08}
#: No more than this is looked at, from the end; the first message counts in any case.
_MOST_READ: Final = 4_000_000
_MOST_LINES: Final = 400
_LONGEST_PIECE: Final = 700
_WORD: Final = re.compile(r"[^\W\d_][\w'-]*|\d[\d.,:%]*")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=\S)|\n+")
_NUMBER: Final = re.compile(r"\d+")
_PATH: Final = re.compile(r"[\w.@~+-]*/[\w./@+-]+|[\w-]+\.[A-Za-z]{1,5}\b")
_NAME: Final = re.compile(r"`[^`]+`|\b\w*[a-z]_[a-z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b[A-Z]{2,}[\w-]*\b|--[\w-]+")
_CUE: Final = re.compile(
    r"\b(because|instead|rather|decid\w+|agreed|must|never|always|only|except|not|don't|so|then|keep|use|left|next|"
    r"todo|open|missing|remain\w*|fixed|done|fault|cause|found)\b",
    re.IGNORECASE,
)
_LATER: Final = re.compile(
    r"\b(next|left|remain\w*|still|todo|to do|missing|open|then|after that|now)\b", re.IGNORECASE
)
_TROUBLE: Final = re.compile(r"\b(fail\w*|error|exception|denied|warning|refused|violat\w+|cannot)\b", re.IGNORECASE)
_EDITS: Final = re.compile(r"^(multi)?(edit|write|put|create|update|patch|notebookedit|apply)\w*[: ]+", re.IGNORECASE)
_READS: Final = re.compile(r"^(read|view|open|grep|glob|ls|list|search|find|cat|fetch|web)\w*[: ]+", re.IGNORECASE)
_SHELL: Final = re.compile(r"^(bash|run|shell|terminal|execute)\w*[: ]+", re.IGNORECASE)
_BOX: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s*\[ \]\s*(.+)$", re.MULTILINE)
_PENDING: Final = re.compile(r"^\[(?:pending|in_progress)\]\s*(.+)$", re.MULTILINE)


class Remains(msgspec.Struct, frozen=True):
    """What is known besides the conversation: files that differ, commands that ran when it ended, the newest plan."""

    changed: Sequence[str] = ()
    running: Sequence[str] = ()
    plan: str = ""


class SalvagedPiece(msgspec.Struct, frozen=True):
    """A sentence or a line, and where in the conversation it stands."""

    at: int
    text: str
    kind: str


def salvaged(turns: Sequence[Turn], remains: Remains | None = None, most: int = PROMPT_CHARACTERS) -> DehydratedContext:
    """Dehydrated context of at most so many characters, as it is told."""
    turns, remains = _recent(turns), remains or Remains()
    pieces = list(_pieces(turns))
    worth, room = Worth(pieces), most - 400
    made = _made(turns, remains, pieces, worth, room)
    for _ in range(4):  # the parts that have no share of the room take some, too
        over = size(made) - most
        if over <= 0 or room <= 600:
            break
        room -= over + 20
        made = _made(turns, remains, pieces, worth, max(room, 400))
    return trimmed(made, most)


def _made(
    turns: Sequence[Turn], remains: Remains, pieces: Sequence[SalvagedPiece], worth: Worth, room: int
) -> DehydratedContext:
    said = [one for one in turns if one.role == "user" and not one.name]
    goal = without_middle(request_of(said[0].text).strip(), max(200, min(2000, room // 5))) if said else ""
    shares = {name: int((room - len(goal)) * share) for name, share in _SHARES.items()}
    user = _user_history(turns, worth, shares["user"])
    found = _best(pieces, "agent", worth, shares["agent"] + shares["user"] - len(user))
    shown = _best(pieces, "shown", worth, shares["shown"])
    edited, commands = _calls(turns)
    ran = _within(commands, worth, shares["run"])
    changed = list(dict.fromkeys([*edited, *remains.changed]))
    parts = [
        "This was made from the conversation without a model: it quotes, and what it leaves out may matter.",
        *_part("Goal", [goal]),
        *_part("Decisions and findings, oldest first", found),
        *_part("What tools showed", shown),
        *_part("Commands that were run", ran),
        *_part("Files that were changed, the newest last", _listed(changed, shares["files"])),
        *_part("Was running when the conversation ended, its outcome is unknown", list(remains.running)[:10]),
    ]
    return DehydratedContext(
        summary="\n".join(parts),
        last_action=_last_action(turns),
        next_steps=_next_steps(turns, remains.plan),
        required_files=changed[::-1][:MOST_FILES],
        user_history=user,
        made_by="rekindle",
    )


class Worth:
    """How much a text tells, measured by the conversation that it is from."""

    def __init__(self, pieces: Sequence[SalvagedPiece]) -> None:
        self._all = max(1, len(pieces))
        self._words: Counter[str] = Counter()
        self._shapes: Counter[str] = Counter()
        self._known: dict[tuple[str, int], float] = {}
        for one in pieces:
            self._words.update(set(_words(one.text)))
            self._shapes[_shape(one.text)] += 1

    def of(self, text: str, at: int = 0) -> float:
        """A number to compare with others; texts later in the conversation are worth a little more."""
        if (text, at) not in self._known:
            self._known[text, at] = self._measured(text, at)
        return self._known[text, at]

    def _measured(self, text: str, at: int) -> float:
        words = set(_words(text))
        if not words:
            return 0.0
        rare = sum(math.log(self._all / self._words[word]) if self._words[word] else 1.0 for word in words)
        exact = 1.5 * (len(_PATH.findall(text)) + len(_NAME.findall(text))) + 1.0 * min(3, len(_NUMBER.findall(text)))
        cues = 1.5 * min(3, len(_CUE.findall(text))) + 3.0 * bool(_TROUBLE.search(text))
        repeated = 1 + math.log(max(1, self._shapes[_shape(text)]))
        return float((rare + exact + cues) / (8 + len(words)) ** 0.7 / repeated * (1 + 0.4 * at / self._all))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _shape(text: str) -> str:
    """A text without its numbers, paths and names: lines of a log have the same one."""
    return _NUMBER.sub("0", _NAME.sub("N", _PATH.sub("P", text)))[:120]


def _recent(turns: Sequence[Turn]) -> list[Turn]:
    left, found = _MOST_READ, []
    for one in reversed(turns):
        left -= len(one.text) + len(one.name)
        if left < 0:
            break
        found.append(one)
    kept = found[::-1]
    return kept if len(kept) == len(turns) else [turns[0], *kept]


def _pieces(turns: Sequence[Turn]) -> Iterable[SalvagedPiece]:
    at = 0
    for one in turns:
        if one.role == "assistant":
            texts, kind = _SENTENCE.split(one.text), "agent"
        elif one.role == "tool_result":
            lines = one.text.splitlines()
            texts, kind = (lines if len(lines) <= _MOST_LINES else lines[: _MOST_LINES // 4] + lines[-300:]), "shown"
        else:
            continue
        for text in texts:
            if text.strip():
                at += 1
                yield SalvagedPiece(at, text.strip()[:_LONGEST_PIECE], kind)


def _best(pieces: Sequence[SalvagedPiece], kind: str, worth: Worth, room: int) -> list[str]:
    """The pieces that tell the most, as many as there is room for, in their order."""
    own = [one for one in pieces if one.kind == kind]
    ranked = sorted(own, key=lambda one: (-worth.of(one.text, one.at), one.at))
    kept: list[SalvagedPiece] = []
    known: set[str] = set()
    for one in ranked:
        if one.text in known or len(one.text) + 3 > room:
            continue
        known.add(one.text)
        room -= len(one.text) + 3
        kept.append(one)
        if room < 20:
            break
    return [one.text for one in sorted(kept, key=lambda one: one.at)]


def _user_history(turns: Sequence[Turn], worth: Worth, room: int) -> str:
    """What the user said after the goal, oldest first. Where there is no room for all, what tells little goes first."""
    said = [request_of(one.text).strip() for one in turns if one.role == "user" and not one.name][1:]
    texts = [without_middle(one, 1200) for one in said if one]
    ranked = sorted(range(len(texts)), key=lambda at: (-_weight(texts[at], at, len(texts), worth), -at))
    kept: set[int] = set()
    for at in ranked:
        if len(texts[at]) + 3 <= room:
            room -= len(texts[at]) + 3
            kept.add(at)
    return "\n".join(f"- {_one_line(texts[at])}" for at in sorted(kept))


def _weight(text: str, at: int, count: int, worth: Worth) -> float:
    """The last message of the user is what it is about now."""
    return math.inf if at == count - 1 else worth.of(text) * (1 + at / max(1, count))


def _calls(turns: Sequence[Turn]) -> tuple[list[str], list[str]]:
    """The files that were edited, and the commands that were run, oldest first; each once, where it was last."""
    edited: dict[str, None] = {}
    commands: dict[str, None] = {}
    for one in turns:
        if one.role != "tool_call" or not one.name.strip():
            continue
        name = one.name.strip()
        if (match := _EDITS.match(name)) is not None:
            path = name[match.end() :].split("\n")[0].strip()
            edited.pop(path, None)
            edited[path] = None
        elif _READS.match(name) is None:
            command = _SHELL.sub("", name).split("\n")[0][:300]
            commands.pop(command, None)
            commands[command] = None
    return list(edited), list(commands)


def _within(commands: Sequence[str], worth: Worth, room: int) -> list[str]:
    """The commands that tell the most and the newest ones."""
    ranked = sorted(range(len(commands)), key=lambda at: -worth.of(commands[at]) * (1 + at / max(1, len(commands))))
    kept: set[int] = set()
    for at in [*range(len(commands) - 1, max(-1, len(commands) - 4), -1), *ranked]:
        if at not in kept and len(commands[at]) + 3 <= room:
            room -= len(commands[at]) + 3
            kept.add(at)
    return [commands[at] for at in sorted(kept)]


def _last_action(turns: Sequence[Turn]) -> str:
    said = next((one.text.strip() for one in reversed(turns) if one.role == "assistant" and one.text.strip()), "")
    call = next((one.name for one in reversed(turns) if one.role == "tool_call"), "")
    ended = [f"Last tool call: {_one_line(call)[:300]}"] if call else []
    return "\n".join([*([without_middle(said, 600)] if said else []), *ended])


def _next_steps(turns: Sequence[Turn], plan: str) -> list[str]:
    """Open tasks of the newest plan and unticked boxes, then what the agent said last about what comes next."""
    found = _PENDING.findall(plan)
    said = [one.text for one in turns if one.role == "assistant" and one.text.strip()]
    if not found and said:
        found = _BOX.findall("\n".join(said[-5:]))
    for text in reversed(said[-3:]):
        found += [one.strip() for one in _SENTENCE.split(text) if _LATER.search(one)]
    return [_one_line(one)[:300] for one in dict.fromkeys(found)][:8]


def _listed(files: Sequence[str], room: int) -> list[str]:
    """As many of the newest as there is room for, in one line."""
    kept: list[str] = []
    for one in reversed(files):
        room -= len(one) + 2
        if room < 0:
            break
        kept.append(one)
    return [", ".join(reversed(kept))] if kept else []


def _part(title: str, texts: Sequence[str]) -> list[str]:
    if not any(one.strip() for one in texts):
        return []
    return ["", f"{title}:", *(f"- {_one_line(one)}" for one in texts)]


def _one_line(text: str) -> str:
    return " ".join(text.split())
