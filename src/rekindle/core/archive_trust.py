"""What an archive asks for besides its text, and how much of that counts on this machine. Pure.

An archive is data. Its permission, its agent arguments, its feature and its unsent prompts would have effects here, so
they are reset unless the person who imports it names them. The agent stays, because the conversation belongs to it;
it has to be the same one everywhere in the archive. Paths and the environment are never imported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, get_args

import msgspec
from msgspec.structs import replace

from rekindle.core.names import why_not
from rekindle.core.session import facts as f
from rekindle.core.session.choices import POLICIES
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.permission import Mode
from rekindle.core.session.state import Session

#: What `rekindle import --trust` can name.
TRUSTABLE: Final = ("permission", "arguments", "feature", "prompts")
#: What an agent may do here by itself if nobody says more: the same as in a session that begins here.
_USUAL: Final = "edits"
_LOOSER: Final = frozenset({"all"})
#: Both end up in the agent's arguments, and a token also in paths.
_TOKEN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,199}")
_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+\[\]-]{0,127}")


class Wish(msgspec.Struct, frozen=True):
    """Something that an archive asks for. If it does not count, `instead` says what does."""

    key: str
    value: str
    counts: bool
    instead: str = ""

    def __str__(self) -> str:
        return f"{self.key}: {self.value}" + ("" if self.counts else f" (reset: {self.instead})")


def why_not_facts(facts: Sequence[AnyFact], agent: str) -> str | None:
    """What is wrong with an archive's facts if they are to be `agent`'s; None if nothing is."""
    for fact in facts:
        for name, pattern in (("token", _TOKEN), ("fork_of", _TOKEN), ("fork_at", _TOKEN), ("model", _MODEL)):
            value = getattr(fact, name, None)
            if value and not pattern.fullmatch(value):
                return f"{value[:80]!r} is not a valid {name.replace('fork_of', 'token').replace('fork_at', 'token')}"
        if isinstance(fact, f.Created) and (problem := _why_not_created(fact)) is not None:
            return problem
        if isinstance(fact, f.RulesSet) and fact.rules.policy not in POLICIES:
            return f"{fact.rules.policy[:80]!r} is not a policy"
        handover = fact.handover if isinstance(fact, f.ResumeAsked) else None
        if handover is not None and handover.model is not None and not _MODEL.fullmatch(handover.model):
            return f"{handover.model[:80]!r} is not a valid model"
    last = _last_order(facts)
    if last is None or last.agent == agent:
        return None
    return f"its manifest says {agent!r} works in it, and its facts say {last.agent!r}"


def settled(facts: Sequence[AnyFact], trusted: frozenset[str]) -> list[AnyFact]:
    """The facts with everything reset that has effects and that nobody has named."""
    return [_settled(fact, trusted) for fact in facts]


def withheld(session: Session, now: float, trusted: frozenset[str]) -> list[AnyFact]:
    """What to add so that nothing starts, and nothing is said, that nobody has named."""
    found: list[AnyFact] = []
    if session.resume_asked is not None:
        found.append(f.StopAsked(at=now, by="import", to="asleep"))
    if "prompts" not in trusted:
        found += [f.CancelAsked(at=now, prompt=prompt.id) for prompt in session.queued]
    return found


def wishes(facts: Sequence[AnyFact], session: Session, trusted: frozenset[str], variables: Sequence[str]) -> list[Wish]:
    """All that an archive asks for, for display. `session` is where its own facts lead; `variables` its environment."""
    found = [Wish("agent", session.agent, counts=True)]
    if session.model:
        found.append(Wish("model", session.model, counts=True))
    loose = session.permission in _LOOSER and "permission" not in trusted
    found.append(Wish("permission", session.permission, counts=not loose, instead=_USUAL if loose else ""))
    last = _last_order(facts)
    if last is not None and last.arguments:
        found.append(Wish("arguments", " ".join(last.arguments), "arguments" in trusted, "none"))
    if session.feature is not None:
        named = f"{session.feature}, task {session.task}" if session.task else session.feature
        found.append(Wish("feature", named, "feature" in trusted, "none"))
    found += [Wish("prompt not sent yet", one.text, "prompts" in trusted, "not sent") for one in session.queued]
    turn = session.turn
    if turn is not None:
        found.append(Wish("turn that was running", turn.text, counts=True))
    if session.policy == "continue":
        found.append(Wish("policy", "continue", counts=False, instead="ask"))
    found.append(Wish("folder", session.cwd, counts=False, instead="the folder of this import, or --cwd"))
    if variables:
        found.append(Wish("environment", ", ".join(variables), counts=False, instead="yours"))
    return found


def _last_order(facts: Sequence[AnyFact]) -> f.Created | f.Handover | None:
    """Which agent works in it in the end, and with which arguments."""
    found: f.Created | f.Handover | None = None
    for fact in facts:
        if isinstance(fact, f.Created):
            found = fact
        elif isinstance(fact, f.ResumeAsked) and fact.handover is not None:
            found = fact.handover
    return found


def _why_not_created(fact: f.Created) -> str | None:
    if fact.permission not in get_args(Mode):
        return f"{fact.permission[:80]!r} is not a permission"
    if fact.policy not in POLICIES:
        return f"{fact.policy[:80]!r} is not a policy"
    for name in (fact.feature, fact.task):
        if name is not None and (problem := why_not(name)) is not None:
            return f"the name {name[:80]!r} {problem}"
    return None


def _settled(fact: AnyFact, trusted: frozenset[str]) -> AnyFact:
    match fact:
        case f.Created():
            if fact.permission in _LOOSER and "permission" not in trusted:
                fact = replace(fact, permission=_USUAL)
            if "arguments" not in trusted:
                fact = replace(fact, arguments=[])
            return fact if "feature" in trusted else replace(fact, feature=None, task=None)
        case f.ResumeAsked(handover=f.Handover()) if "arguments" not in trusted:
            assert fact.handover is not None
            return replace(fact, handover=replace(fact.handover, arguments=[]))
        case f.Opened():  # we know here how an agent shortens its conversation; the archive has no say
            return replace(fact, compact=None)
        case _:
            return fact
