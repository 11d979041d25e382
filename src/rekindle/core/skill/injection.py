"""How dehydrated context reaches a fresh agent: which session's, when, and as what text. Pure; a hook reads this, so
that it imports next to nothing.

What an earlier agent left comes from a file in the work tree: it is data. It stands between two lines with a mark
that nobody could know before, and each of its lines begins with "| ": it can neither end the block nor pose as
rekindle's own words, which hold nothing from the file.
"""

from __future__ import annotations

from rekindle.core.skill import procedure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Claude Code cuts what a hook says above 10,000 characters to a preview of 2 KB.
HOOK_CHARACTERS = 9_500
#: When a conversation begins, or forgets what it knew.
SOURCES = ("startup", "clear", "compact", "resume")
#: The supervisor gives its agents the context with their first prompt; a hook repeats it only where that was forgotten.
FORGETTING = ("clear", "compact")
LEAD = "| "
#: What each part may take of the room for notes if all of them are long, in their order.
_PARTS = (
    ("Summary", "summary", 0.40),
    ("Last action", "lastAction", 0.12),
    ("Next steps", "nextSteps", 0.18),
    ("Required files", "requiredFiles", 0.10),
    ("Handover instructions", "handoverInstructions", 0.10),
    ("What the user said", "userHistory", 0.10),
)
_CUT = "… (cut; the whole text is in .state.json)"
_LONGEST_FACT = 200


class WaitingNotes:
    """A skill session whose dehydrated context nobody has acknowledged. `holder`: `mine`, `other` or `free`."""

    __slots__ = ("conversation", "folder", "holder", "newest", "pane", "session", "state")

    def __init__(self, folder: str, state: Mapping[str, object], holder: str, newest: float) -> None:
        self.folder = folder
        self.state = state
        self.holder = holder
        self.newest = newest
        self.pane = _one(state.get("paneId"))
        #: the agent's own name for the conversation that worked in it, and rekindle's
        self.session = _one(state.get("sessionId"))
        self.conversation = _one(state.get("conversation"))


class Newcomer:
    """An agent whose conversation begins. `conversation`: the id of its session if rekindle supervises it."""

    __slots__ = ("conversation", "pane", "session", "source")

    def __init__(self, source: str, session: str = "", pane: str = "", conversation: str = "") -> None:
        self.source = source
        self.session = session
        self.pane = pane
        self.conversation = conversation


def waits(state: Mapping[str, object]) -> bool:
    """Whether a state holds dehydrated context. `continue` removes it: that is the acknowledgement."""
    context = state.get("dehydratedContext")
    summary = context.get("summary") if isinstance(context, dict) else None
    return isinstance(summary, str) and bool(summary.strip())


def fingerprint(context: Mapping[str, object]) -> str:
    """A text that two contexts share only if they say the same."""
    return "\n".join([f"{key} {value!r}" for key, value in sorted(context.items()) if value not in ("", [], None)])


def is_due(who: Newcomer) -> bool:
    """Whether a hook gives this agent anything now."""
    return who.source in (FORGETTING if who.conversation else SOURCES)


def meant_for(who: Newcomer, found: Sequence[WaitingNotes]) -> WaitingNotes | None:
    """The notes that are meant for an agent; None: it begins with nothing.

    Its own (by process, conversation, pane) come first. A session of another pane, or of a supervised agent, is not
    somebody else's to take up, and one that a live process holds is nobody else's at all.
    """
    usable = [one for one in found if one.holder != "other" and waits(one.state)]
    if who.conversation:
        return _newest([one for one in usable if one.conversation == who.conversation])
    own = (
        [one for one in usable if one.holder == "mine"],
        [one for one in usable if who.session and one.session == who.session],
        [one for one in usable if who.pane and one.pane == who.pane],
    )
    for some in own:
        if some:
            return _newest(some)
    free = [one for one in usable if not one.conversation and one.pane in ("", who.pane)]
    return _newest([one for one in free if one.state.get("lifecycle") != "completed"])


def _newest(found: Sequence[WaitingNotes]) -> WaitingNotes | None:
    return max(found, key=lambda one: one.newest) if found else None


def skill_block(
    state: Mapping[str, object], folder: str, nonce: str, *, is_known: bool = True, most: int = HOOK_CHARACTERS
) -> str:
    """The text that a fresh agent is given of a skill session, of at most so many characters.

    `folder` is how commands name it. `is_known`: an agent on this machine left the notes; otherwise they may have come
    with the repository, and a person has to say whether they count.
    """
    steps = procedure.fast_steps()
    if not is_known:
        steps = [procedure.UNKNOWN_NOTES, "", *steps]
    facts = (
        ("Session", folder),
        ("Skill", state.get("skill")),
        ("Resuming at", state.get("currentPhase")),
        ("Lifecycle", state.get("lifecycle") or "active"),
    )
    context = state.get("dehydratedContext")
    return block(context if isinstance(context, dict) else {}, facts, nonce, steps, most)


def block(
    context: Mapping[str, object], facts: Sequence[tuple[str, object]], nonce: str, steps: Sequence[str], most: int
) -> str:
    """Notes under the heading that chooses the fast path, between lines that they cannot imitate, and what to do."""
    begin, end = edges("notes", nonce)
    above, below = _around(nonce, steps)
    told = notes(context, facts, nonce, _room(nonce, steps, most))
    return "\n".join([*above, begin, *told, end, *below])


def room_for_skill(nonce: str, most: int) -> int:
    """How many characters of a skill session's block are left for its notes at least, whatever its facts say."""
    facts = _cost(["x" * (_LONGEST_FACT + 20)]) * 4
    return _room(nonce, [procedure.UNKNOWN_NOTES, "", *procedure.fast_steps()], most) - facts


def room_for_notes(facts: Sequence[tuple[str, object]], nonce: str, steps: Sequence[str], most: int) -> int:
    """How many characters of such a block are left for the notes."""
    return _room(nonce, steps, most) - _cost([_fact(name, value) for name, value in facts])


def _around(nonce: str, steps: Sequence[str]) -> tuple[list[str], list[str]]:
    return [procedure.RECOVERY, "", procedure.about_notes(nonce), ""], ["", *steps]


def _room(nonce: str, steps: Sequence[str], most: int) -> int:
    above, below = _around(nonce, steps)
    return most - width("\n".join([*above, *edges("notes", nonce), *below])) - 2


def file_block(name: str, content: str, nonce: str) -> str:
    """A file that goes with the notes: data as they are, between lines with the same mark."""
    begin, end = edges("file", nonce)
    told = [_fact("File", name), "", *(line.rstrip("\r") for line in content.split("\n"))]
    return "\n".join([begin, *_led(told, nonce), end])


def edges(what: str, nonce: str) -> tuple[str, str]:
    """The lines that data stands between."""
    return f"----- {what} {nonce} begin -----", f"----- {what} {nonce} end -----"


def notes(context: Mapping[str, object], facts: Sequence[tuple[str, object]], nonce: str, most: int) -> list[str]:
    """What an earlier agent left, as lines of at most so many characters in all."""
    lines = [_fact(name, value) for name, value in facts]
    parts = _parts(context)
    room = most - _cost(lines) - sum(_cost(["", title]) + 2 for title, _, _ in parts)
    costs = [_cost(text) for _, text, _ in parts]
    shares = _shares(costs, [share for _, _, share in parts], room)
    for (title, text, _), cost, share in zip(parts, costs, shares, strict=True):
        lines += ["", f"{title}:", *(text if cost <= share else _cut(text, share))]
    return _led(lines, nonce)


def needed(context: Mapping[str, object]) -> int:
    """How much room notes take if nothing of them is cut."""
    return sum(_cost(["", title]) + 2 + _cost(text) for title, text, _ in _parts(context))


def _parts(context: Mapping[str, object]) -> list[tuple[str, list[str], float]]:
    found = [(title, lines_of(context.get(key)), share) for title, key, share in _PARTS]
    return [one for one in found if one[1]]


def told_files(text: str) -> tuple[int, int, int]:
    """How many files a text that an agent was told has whole, how many only in part, and how many it only names."""
    counts = [0, 0, 0]
    for part in text.split("\n----- file ")[1:]:
        nonce, begins, rest = part.partition(" begin -----\n")
        if not begins or "\n" in nonce:  # the end of one
            continue
        lines = rest.partition(f"\n----- file {nonce} end -----")[0].split("\n")[2:]
        is_absent = len(lines) == 1 and lines[0].startswith(f"{LEAD}(not given: ")
        is_part = lines[-1:] != [] and lines[-1].startswith(f"{LEAD}(cut: ")
        counts[2 if is_absent else 1 if is_part else 0] += 1
    return counts[0], counts[1], counts[2]


def told_notes(text: str) -> list[str]:
    """What a text that an agent was told has of notes, without the facts before them; empty: it has none."""
    _, is_there, rest = text.partition("----- notes ")
    nonce, _, rest = rest.partition(" begin -----\n")
    inside, is_whole, _ = rest.partition(f"\n----- notes {nonce} end -----")
    lines, blank = inside.split("\n"), LEAD.rstrip()
    return lines[lines.index(blank) :] if is_there and is_whole and blank in lines else []


def _led(lines: Sequence[str], nonce: str) -> list[str]:
    """Lines of data, each recognizable as such. The mark itself is nobody's to use."""
    return [f"{LEAD}{_plain(line).replace(nonce, '…')}".rstrip() for line in lines]


def lines_of(value: object) -> list[str]:
    """A text, or a list of texts, as lines without anything that steers a reader or hides from one."""
    if isinstance(value, list):
        return [f"- {' '.join(lines_of(one))}" for one in value if isinstance(one, str) and one.strip()]
    if not isinstance(value, str):
        return []
    lines = value.strip().splitlines()
    return [_plain(line) for line in lines]


def _plain(line: str) -> str:
    """A line without control characters, line breaks of any kind and characters that nobody sees."""
    spaced = line.replace("\t", "    ")
    return spaced if spaced.isprintable() else "".join([char for char in spaced if char.isprintable()])


def width(text: str) -> int:
    """How many characters a text has for an agent that counts as JavaScript does."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _shares(wanted: list[int], shares: list[float], room: int) -> list[int]:
    """How much each part gets: its share, and what others leave over, first come first served."""
    given = [min(want, int(room * share)) for want, share in zip(wanted, shares, strict=True)]
    left = room - sum(given)
    for number, want in enumerate(wanted):
        more = max(0, min(want - given[number], left))
        given[number] += more
        left -= more
    return given


def _cost(lines: Sequence[str]) -> int:
    return sum(map(width, lines)) + (len(LEAD) + 1) * len(lines)


def _cut(lines: list[str], most: int) -> list[str]:
    """The first of these lines, and a word on what is left out."""
    room = most - _cost([_CUT])
    kept: list[str] = []
    for line in lines:
        left = room - _cost(kept) - _cost([""])
        if left <= 0:
            break
        if width(line) > left:
            kept.append(line[: left // 2] if width(line) != len(line) else line[:left])
            break
        kept.append(line)
    return [*kept, _CUT] if room >= 0 else []


def _fact(name: str, value: object) -> str:
    text = " ".join(lines_of(value)) or "unknown"
    return f"{name}: {text[:_LONGEST_FACT]}"


def _one(value: object) -> str:
    return value if isinstance(value, str) else ""
