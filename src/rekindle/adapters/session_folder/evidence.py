"""What the folders of a session's attempts have, before anything is made of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.session_folder.session_file import kind_of
from rekindle.adapters.session_folder.spools import read_account
from rekindle.agents.base.account import Account
from rekindle.agents.base.kind import AgentKind
from rekindle.core.session.state import Session
from rekindle.keeper.errors import KeeperError
from rekindle.keeper.identity import Identity, read_identity
from rekindle.keeper.launch import is_alive
from rekindle.keeper.outcome import ExitRecord, read_exit
from rekindle.keeper.spec import Layout, Spec, read_spec


@dataclass
class AttemptEvidence:
    """What one incarnation folder has. `spec` None: only inferred from the attempt behind it."""

    number: int
    kind: AgentKind
    folder: str
    spec: Spec | None
    identity: Identity | None
    exit: ExitRecord | None
    talk: Account
    at: float


def lives(folder: Path, number: int) -> bool:
    """Whether an attempt's keeper runs, as far as its files can be read."""
    try:
        return is_alive(SessionFolder(folder).attempt(number))
    except (OSError, ValueError, AttributeError, RecursionError, KeeperError):
        return False


def read_attempts(folder: Path, report: list[str]) -> list[AttemptEvidence]:
    """All attempts whose files can be read; the others are reported."""
    found = []
    for number in SessionFolder(folder).attempts():
        place = SessionFolder(folder).attempt(number)
        kind = kind_of(str(folder), number)
        try:
            spec = read_spec(place)
            at = os.stat(Layout(place).spec).st_mtime
            identity, record = read_identity(place), read_exit(place)
        except (OSError, ValueError, AttributeError, RecursionError, KeeperError) as error:
            report.append(f"Session {folder.name}, attempt {number} is left out: its files cannot be read ({error}).")
            continue
        at = identity.started_at if identity is not None else at
        talk = read_account(place, number, kind, at) if identity is not None else Account()
        report += [f"Session {folder.name}, attempt {number}: {problem}." for problem in talk.problems]
        found.append(AttemptEvidence(number, kind, place, spec, identity, record, talk, at))
    return found


def read_orders(session: Session, attempts: list[AttemptEvidence], report: list[str]) -> None:
    """Where we name the conversation, the command line tells which one it is before a word was said."""
    tokens = [one.token for one in session.attempts if one.token is not None]
    for one in attempts:
        mint, talk = one.kind.mint, one.talk
        if mint is not None and one.spec is not None and talk.asked is None:
            own, earlier = mint(session.id, one.number), [mint(session.id, number) for number in range(1, one.number)]
            loaded = next((token for token in [*tokens, *earlier] if token in one.spec.argv), None)
            talk.asked = own if own in one.spec.argv else loaded
            talk.how = "load" if talk.asked is not None and talk.asked != own else "new"
        if problem := talk.settle():
            report.append(f"Session {session.id}, attempt {one.number}: {problem}.")
        tokens += [token for token in (talk.asked, talk.token) if token is not None]


def infer_tokens(session: Session, attempts: list[AttemptEvidence], report: list[str]) -> None:
    """A token that was asked to be loaded had been opened before, even if the folder that showed it is gone."""
    opened = {one.token for one in session.attempts}
    newest = session.attempt.number if session.attempt is not None else 0
    for one in list(attempts):
        asked = one.talk.asked if one.talk.how == "load" else None
        if asked is not None and asked not in opened:
            index = attempts.index(one)
            before = attempts[index - 1] if index else None
            if before is not None and before.identity is not None and _may_have_opened(before.talk):
                before.talk.token = asked
            elif one.number > (before.number if before is not None else newest) + 1:
                talk = Account(token=asked)
                attempts.insert(index, AttemptEvidence(one.number - 1, one.kind, "", None, None, None, talk, one.at))
            else:
                report.append(f"Session {session.id}: who opened the conversation {asked} cannot be told.")
        opened |= {one.talk.token, asked}


def _may_have_opened(talk: Account) -> bool:
    return talk.token is None and talk.refused is None
