"""Which run an event belongs to if it is written later than it happened: the one it happened in, while that is open.

Nothing is written into a run that has ended. What happens to a session while its feature has no open run is kept under
a type that no analysis looks at, with the session's id in place of the run's.
"""

from __future__ import annotations

from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.lineage import lineages

#: The prefix of the type of an event that belongs to no run.
OUTSIDE = "outside."


def run_for(journal: JournalState, happened_in: str | None) -> str | None:
    """The run that an event goes to: its own while that is open, else the one that resumes it; None if there is none.

    `happened_in` is None if no run was under way: then an interrupted run that is still open counts as its own.
    """
    links = lineages(journal)
    if happened_in is None:
        return links.interrupted[0] if links.interrupted else None
    return next((sid for sid in links.interrupted if happened_in in links.of(sid)), None)
