"""A session that moves to another machine: what its archive says about itself, and what its facts become. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import join

import msgspec
from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Cut
from rekindle.core.session.machine import evolve
from rekindle.core.session.rules import BUILT_IN
from rekindle.core.session.state import Session

FORMAT = "rekindle session"
VERSION = 2
#: The names of the archive's members, besides the files of the session's folder.
MANIFEST, FACTS, TRANSCRIPT, SNAPSHOTS, FOLDER = (
    "manifest.json",
    "facts.jsonl",
    "transcript",
    "snapshots.bundle",
    "session/",
)
MOST_MEMBERS = 100_000
MOST_BYTES = 16 << 30
LARGEST_MANIFEST = 64 << 20
_LONGEST_NUMBER = 9
#: The files of a session's folder that go along wherever the session goes.
OF_A_SESSION = frozenset({"session.json", "handovers.json", "imported.jsonl"})
_OF_AN_ATTEMPT = frozenset({"err", "exit", "identity", "in", "log", "out", "progress", "seen", "spec.json"})


class Member(msgspec.Struct, frozen=True):
    """A file in the archive."""

    path: str
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The first file of an archive. `masked` counts by label; `masked_files` are files of snapshots."""

    format: str
    version: int
    session: str
    agent: str
    title: str
    cwd: str
    token: str | None
    status: str
    with_secrets: bool
    members: list[Member]
    masked: dict[str, int]
    masked_files: list[str]
    left_out: list[str]
    environment: list[str]
    counts: dict[str, int]


def why_not_member(path: str) -> str | None:
    """Why a path cannot be a member's, as the end of a sentence; None if it can. A valid path never leads elsewhere.

    Only what an export writes is accepted: an environment or a lock would count here although nobody here made it.
    """
    if path in (FACTS, TRANSCRIPT, SNAPSHOTS) or path.removeprefix(FOLDER) in OF_A_SESSION:
        return None
    if not path.startswith(FOLDER):
        return "does not belong in an archive"
    attempt, _, name = path.removeprefix(FOLDER).partition("/")
    is_attempt = attempt.isascii() and attempt.isdigit() and len(attempt) <= _LONGEST_NUMBER and attempt[0] != "0"
    return None if is_attempt and name in _OF_AN_ATTEMPT else "does not belong in an archive"


def why_not_manifest(manifest: Manifest) -> str | None:
    """What is wrong with a manifest; None if nothing is."""
    names = [member.path for member in manifest.members]
    if len(names) > MOST_MEMBERS or sum(member.size for member in manifest.members) > MOST_BYTES:
        return f"it is too large ({len(names)} files)"
    if any(member.size < 0 for member in manifest.members):
        return "a size is below 0"
    if len(set(names)) != len(names):
        return "it names a file twice"
    if not is_id(manifest.session):
        return f"{manifest.session!r} is not a valid session id"
    for name in names:
        if (problem := why_not_member(name)) is not None:
            return f"the path {name!r} {problem}"
    return None if FACTS in names else "it has no facts"


def is_id(session: str) -> bool:
    """Whether a text can be a session's id: it becomes the name of a folder and of a ref."""
    return session.isascii() and session.isalnum() and len(session) <= 40


def moved(facts: Sequence[AnyFact], *, session: str, cwd: str, folder: str) -> list[AnyFact]:
    """The same facts for another place. Nothing starts there by itself: a person says when."""
    found: list[AnyFact] = []
    for fact in facts:
        if isinstance(fact, f.Relocated | f.TakenOver | f.GateWanted | f.Escalated):
            continue  # neither a command nor the options of a question are the archive's to give
        if isinstance(fact, f.Created):
            policy = "ask" if fact.policy == "continue" else fact.policy
            fact = replace(fact, session=session, cwd=cwd, policy=policy, repository=None, worktree=None, branch=None)
            fact = replace(fact, repository_id=None, rules=None, program="")
        elif isinstance(fact, f.RulesSet):  # the archive does not decide what rekindle does by itself
            policy = "ask" if fact.rules.policy == "continue" else fact.rules.policy
            own = replace(BUILT_IN, policy=policy, limits=fact.rules.limits)
            fact = replace(fact, rules=own, source="import", digest="")
        elif isinstance(fact, f.Launched):
            fact = replace(fact, folder=join(folder, str(fact.attempt)))
        found.append(fact)
    return found


def at_rest(
    session: Session, now: float, cut: Cut, how: str = "it was left behind on another machine"
) -> list[AnyFact]:
    """What to add because the agent stayed behind: `cut` is what was going on, if a turn was running."""
    attempt = session.attempt
    if attempt is None or attempt.status == "gone":
        return []
    if attempt.status == "launching":
        return [f.LaunchFailed(at=now, attempt=attempt.number, message=how)]
    if session.turn is not None:
        return [f.Exited(at=now, attempt=attempt.number, how_ended=how, by_us=False, cut=cut)]
    return [
        f.StopAsked(at=now, by="import", to="asleep"),
        f.Exited(at=now, attempt=attempt.number, how_ended=how, by_us=True),
    ]


def folded(facts: Sequence[AnyFact]) -> Session | None:
    """The session that facts lead to; None if they are not those of a session."""
    if not facts or not isinstance(facts[0], f.Created):
        return None
    session: Session | None = None
    for fact in facts:
        session = evolve(session, fact)
    return session
