"""What an agent that stayed behind on another machine was doing, as far as its spools tell."""

from __future__ import annotations

from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.session_folder.spools import read_account
from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.core.session.facts import Cut
from rekindle.core.session.state import Session


def cut_of(folder: str, session: Session) -> Cut:
    """What was going on in the agent that was left behind, if a turn was."""
    turn, attempt = session.turn, session.attempt
    if turn is None or attempt is None:
        return Cut()
    kind = AGENTS.get(session.agent, AGENTS[DEFAULT])
    talk = read_account(SessionFolder(folder).attempt(attempt.number), attempt.number, kind, session.changed_at)
    if talk.turn is None:
        return Cut(delivered="yes")
    return Cut(said=talk.turn.said, tools=talk.turn.tools, delivered="yes", worked=talk.turn.began)
