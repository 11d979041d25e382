"""What an agent lacks of a conversation that it has just loaded, as far as this can be seen. Pure.

An agent may open a conversation and have lost a part of it: then it continues without it and does not know. We know
from elsewhere what was said to it and what it said, so we compare what it shows with that. A loss is stated only if
nothing else explains what is seen: agents reformat text, and leave out a turn that failed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence

from rekindle.core.session.history import Turn
from rekindle.core.session.prompt_marks import mark, marks
from rekindle.core.session.state import Prompt, Session, conversation_begun, prompts_in


def lost_prompts(session: Session, known: Sequence[str], shown: Sequence[Turn], *, verbatim: bool = False) -> str:
    """Which prompts are lost, in words; empty: none. `known` are those that the agent has, `shown` is its past.

    `verbatim`: the agent shows every prompt exactly as it was given, so different text is a different prompt.
    """
    prompts = _answered(session)
    there = prompts_in(session, known)
    missing = sum(one.id not in there for one in prompts)
    messages = sum(one.role == "user" for one in shown)
    if not missing or (not verbatim and min(len(known), messages) >= len(prompts)):
        return ""
    return f"the agent's record lacks {missing} of {len(prompts)} earlier prompts"


def misplaced_prompts(session: Session, read: Sequence[str]) -> str:
    """Which prompts are out of order, in words; empty: none. `read` are those in the agent's own record."""
    wanted = [mark(one.text) for one in sorted(_answered(session), key=_order)]
    there = [one for one in marks(read) if one in set(wanted)]
    rest = iter(there)
    found = sum(one in rest for one in wanted)
    return (
        "" if found == len(wanted) or len(there) < len(wanted) else "the agent's record has prompts out of their order"
    )


def foreign_prompts(session: Session, foreign: int, unconfirmed: Sequence[str]) -> str:
    """Which prompts belong to another conversation, in words; empty: none. `foreign` of them say so themselves.

    `unconfirmed` is what the model gets in the user's name although the record does not say that anybody said it. It
    may be a prompt of this session: the agent was killed before it confirmed it.
    """
    strangers = foreign + sum(not prompts_in(session, [one]) for one in unconfirmed)
    return f"the agent's record has {strangers} prompts of another conversation" if strangers else ""


def lost_answers(session: Session, shown: Sequence[Turn], heard: Sequence[Turn], *, verbatim: bool = False) -> str:
    """Which answers are lost, in words; empty: none. `shown` is the past as the agent has it, `heard` as we have it.

    `verbatim`: the agent shows every answer exactly as it gave it, so different text is a loss too.
    """
    prompts = _answered(session)
    if verbatim and (changed := _torn(prompts, shown, heard, _differs)):
        return f"the agent's record has {changed} of {len(prompts)} earlier answers not as they were"
    torn = _torn(prompts, shown, heard, _is_part)
    return f"the agent's record lacks {torn} of {len(prompts)} earlier answers, or a part of them" if torn else ""


def _order(prompt: Prompt) -> tuple[int, int, float]:
    """The order in which prompts were sent, whatever the clock said then."""
    return prompt.attempt, prompt.message, prompt.sent_at


def _answered(session: Session) -> list[Prompt]:
    """The prompts whose turns ended well in this conversation, as far as the agent has to have them.

    One of the agent's own commands may leave anything. None if the agent was told to shorten the conversation.
    """
    begun = conversation_begun(session, session.attempts[-1])
    earlier = [one for one in session.prompts if begun <= one.attempt < session.attempts[-1].number]
    if any(one.text.strip() == session.compact for one in earlier):
        return []
    return [one for one in earlier if one.state == "done" and not one.text.startswith("/")]


def _torn(
    prompts: Sequence[Prompt], shown: Sequence[Turn], heard: Sequence[Turn], is_torn: Callable[[str, str], bool]
) -> int:
    """How many prompts are shown with a different answer from the one we heard.

    An agent that has summarised its conversation may show a prompt twice, so the answers to the same text are joined.
    """
    ours = {mark(one.text) for one in heard if one.role == "user"}
    before, now = _answers(heard, ours), _answers(shown, ours)
    asked = Counter(mark(one.text) for one in prompts)
    return sum(
        is_torn(_joined(now[text]), _joined(before[text][-number:])) for text, number in asked.items() if text in now
    )


def _answers(turns: Sequence[Turn], ours: Collection[str]) -> defaultdict[str, list[list[str]]]:
    """The pieces of what was said to each prompt, by its mark, each time that it was given.

    Only `ours` are prompts: what an agent says to itself in the user's name belongs to the turn in which it does so.
    """
    found: defaultdict[str, list[list[str]]] = defaultdict(list)
    pieces: list[str] = []
    for one in turns:
        if one.role == "user" and mark(one.text) in ours:
            pieces = []
            found[mark(one.text)].append(pieces)
        elif one.role == "assistant":
            pieces.append(one.text)
    return found


def _joined(answers: Sequence[Sequence[str]]) -> str:
    """All of it without spaces: agents trim them."""
    return "".join("".join(piece.split()) for pieces in answers for piece in pieces)


def _differs(shown: str, heard: str) -> bool:
    return shown != heard


def _is_part(less: str, more: str) -> bool:
    """Whether a text is another one with something left out."""
    rest = iter(more)
    return len(less) < len(more) and all(letter in rest for letter in less)
