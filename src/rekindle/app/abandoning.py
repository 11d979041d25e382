"""Ends interrupted runs for good. Branches, worktrees and files stay as they are."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rekindle.core.journal import event as ev
from rekindle.core.terminal_text import quoted
from rekindle.ports.errors import NoOpenRun, OwnedError
from rekindle.ports.journal import NewEvent, Sync
from rekindle.ports.workspace import Workspace


class AbandonRequest(msgspec.Struct, frozen=True):
    """`every`: also the older runs that never ended. `force`: also one whose owner on another host cannot be asked."""

    feature: str
    every: bool = False
    force: bool = False


class Abandoned(msgspec.Struct, frozen=True):
    """The runs that were ended, and those that are still open."""

    feature: str
    ended: tuple[str, ...]
    left: tuple[str, ...]


class Abandoning:
    """Ends runs that nobody is working on."""

    def __init__(self, open_here: Callable[[], Workspace]) -> None:
        self._open_here = open_here

    def abandon(self, asked: AbandonRequest) -> Abandoned:
        """End the interrupted run of a feature. Raises OwnedError while somebody may be working on it."""
        here, feature = self._open_here(), asked.feature
        analysis, holder = here.analysis(feature)
        if holder is not None and holder.verdict == "alive":
            raise OwnedError(
                f"run {holder.sid} of {feature} is held by pid {holder.pid}",
                f"stop it first: rekindle stop {quoted(feature)} (or end that process, if it is not rekindle's daemon)",
            )
        if holder is not None and not asked.force:
            raise OwnedError(
                f"run {holder.sid} of {feature} was started on another host, where it may still be running",
                f"if you know that it is gone: rekindle abandon --force {quoted(feature)}",
            )
        if holder is not None:
            here.disown(feature, holder.sid)
            analysis, _ = here.analysis(feature)
        if not analysis.interrupted:
            raise NoOpenRun(f"{feature} has no interrupted run", "`rekindle` shows what is interrupted")
        ended = analysis.interrupted if asked.every else analysis.interrupted[:1]
        journal = here.writable(feature, Sync.ALWAYS)
        try:
            for sid in ended:
                event = NewEvent(ev.SESSION_END, {"reason": "user_cancelled"}, event_id=f"abandon-{sid}")
                journal.append(event, sid=sid)
                here.disown(feature, sid)
        finally:
            journal.close()
        return Abandoned(feature, tuple(ended), tuple(analysis.interrupted[len(ended) :]))
