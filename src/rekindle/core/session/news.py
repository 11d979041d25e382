"""What a session gives people to be told of: its questions, that it failed, or that it needs somebody. Pure.

Sessions of a feature's run are left to the run, except for what their agents ask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from rekindle.core.inbox.news import News, one_line
from rekindle.core.session.asking import all_open, as_question
from rekindle.core.session.listing import awaits_go, listing
from rekindle.core.session.state import Session, State

#: How much of a session's title stands before what it is about.
_TITLE = 60


def news_of(session: Session, now: float) -> Iterator[News]:
    """Everything about this session that people may be told of."""
    asked = [as_question(session, one) for one in all_open(session)]
    for one in asked:
        offered = [f"{option.id}: {option.label}" for option in one.options]
        lines = [one.detail, *offered, f"Until you answer: {one.otherwise}."]
        yield News(
            one.id,
            "question",
            f"{_named(session)}: {one.title}",
            f"rekindle answer {one.id}",
            one.asked_at,
            "\n".join(line for line in lines if line),
            session.id,
        )
    if asked or session.of_run or awaits_go(session):  # who has opened it knows
        return
    found = listing(session, now, alive=session.is_up)
    if not found.needs_you:
        return
    number = session.attempt.number if session.attempt is not None else 0
    failed = session.state is State.FAILED
    word = hashlib.sha256(found.why.encode()).hexdigest()[:8]
    yield News(
        f"failed-{session.id}-{number}" if failed else f"needs-{session.id}-{number}-{word}",
        "failed" if failed else "needs_you",
        f"{_named(session)}: {found.why}",
        found.next or f"rekindle show {session.id}",
        session.changed_at,
        session=session.id,
    )


def _named(session: Session) -> str:
    title = one_line(session.title)
    return title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…"
