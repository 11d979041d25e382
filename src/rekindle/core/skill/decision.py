"""How to resume: the fixed tree of options, the extras, and what a typed answer means. Pure.

The tree's options are neither added to, removed nor reworded. Whoever answers may always say something else instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

Choice = Literal["RSM", "RST", "SWT", "OTH/ABN", "OTH/INS", "OTH/custom"]
Extra = Literal["A", "B", "C"]


class TreeOption(NamedTuple):
    """An option: the code, its title and the line that describes it."""

    code: str
    title: str
    about: str


TITLE: Final = "Resume Method"
#: The same for the question tool, which takes 12 characters.
HEADER: Final = "Resume"
#: More the question tool does not take.
MOST_OPTIONS: Final = 4
TREE: Final = (
    TreeOption("RSM", "Resume at saved phase", "Pick up where the session left off"),
    TreeOption("RST", "Restart current phase", "Redo the current phase cleanly from scratch"),
    TreeOption("SWT", "Switch skill", "Start a different skill on this session directory"),
)
OTHER: Final = (
    TreeOption("OTH/ABN", "Abandon session", "Close this session and start fresh"),
    TreeOption("OTH/INS", "Inspect first", "Read session artifacts before deciding"),
)
EXTRAS: Final = (
    TreeOption("A", "View session artifacts before deciding", ""),
    TreeOption("B", "Show phase history", ""),
    TreeOption("C", "Check for newer sessions on same topic", ""),
)
CUSTOM: Final = "OTH/custom"
#: What `--choose` takes, for messages.
ALLOWED: Final = (*(one.code for one in TREE), *(one.code for one in OTHER), f"{CUSTOM}:TEXT", "A", "B", "C")
#: What is recommended, by the kind of a skill session's question. An agent that wants to leave the declared way has to
#: convince a person.
RECOMMENDED: Final = {"resume": "RSM", "gate": "proceed", "approval": "refuse"}
_SHORT: Final = {"ABN": "OTH/ABN", "INS": "OTH/INS"}


class ChosenWay(NamedTuple):
    """What was chosen. `text` are a person's own words."""

    choice: Choice | Extra
    text: str = ""

    @property
    def shows(self) -> bool:
        """Whether it only shows something, after which the question comes again."""
        return self.choice in ("OTH/INS", "A", "B", "C")

    @property
    def method(self) -> str:
        """The method as the log names it."""
        return {"RSM": "Resume", "RST": "Restart", "SWT": "Switch"}.get(self.choice, "Other")


def chosen(typed: str) -> ChosenWay | None:
    """What a typed answer means; None if it is not an answer. Codes are taken in any case."""
    head, colon, text = typed.strip().partition(":")
    code = head.strip().upper()
    if code in ("OTH/CUSTOM", "CUSTOM") and colon:
        return ChosenWay("OTH/custom", text.strip()) if text.strip() else None
    code = _SHORT.get(code, code)
    if colon:
        return None
    for one in ("RSM", "RST", "SWT", "OTH/ABN", "OTH/INS", "A", "B", "C"):
        if one == code:
            return ChosenWay(one)
    return None


def tree_lines() -> list[str]:
    """The whole tree as it is put to a person, word for word, with the extras above it."""
    extras = " | ".join(f"{one.code}: {one.title}" for one in EXTRAS)
    told = [f"Extras: {extras}", "", f"## Decision: {TITLE}"]
    for one in TREE:
        told += [f"- [{one.code}] {one.title}", f"  {one.about}"]
    told.append("- [OTH] Other")
    for one in OTHER:
        told += [f"  - [{one.code.removeprefix('OTH/')}] {one.title}", f"    {one.about}"]
    return told


def asked_in_words(saved: str, left: str) -> str:
    """The question with the phase's own name and one line on what is left."""
    at = f"at {saved}" if saved else "where it was left"
    return f"How should this session go on? It was saved {at}; {left}."


def for_question_tool(title: str) -> list[dict[str, object]]:
    """The tree for Claude Code's question tool: first the four options, then those below Other.

    The tool adds a field for free text by itself: the extras are typed there.
    """
    extras = " | ".join(f"{one.code}: {one.title}" for one in EXTRAS)
    title = f"{title} (Extras, to be typed: {extras})"
    first = [*TREE, TreeOption("OTH", "Other", "Abandon session, or inspect first")]
    return [_tool(title, first), _tool("What else should happen to this session?", OTHER)]


def choice_for_tool(question: str, header: str, choices: Sequence[tuple[str, str]]) -> dict[str, object]:
    """Any other choice for the question tool, which takes four options: whoever wants another one types its name."""
    shown = [TreeOption("", title, about) for title, about in choices[:MOST_OPTIONS]]
    rest = ", ".join(title for title, _ in choices[MOST_OPTIONS:])
    return _tool(f"{question} (also: {rest})" if rest else question, shown, header)


def _tool(question: str, options: Sequence[TreeOption], header: str = HEADER) -> dict[str, object]:
    return {
        "question": question,
        "header": header,
        "multiSelect": False,
        "options": [
            {"label": f"{one.title} [{one.code}]" if one.code else one.title, "description": one.about}
            for one in options
        ],
    }
