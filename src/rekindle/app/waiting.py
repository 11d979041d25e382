"""Waiting for a session or a feature's run, as a script does: whether it is over, how it ended, and what to type next.

The pure functions at the end of this file decide what an end is called; `Awaiting` only looks.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rekindle.app.answering import Answering
from rekindle.app.feature_resuming import FeatureResuming
from rekindle.app.journal_care import Analysed, JournalCare
from rekindle.core.terminal_text import quoted
from rekindle.ports.daemon import Daemon, NoDaemon
from rekindle.ports.errors import NoOpenRun, UsageError

Told = dict[str, Any]
#: States of a task that change by themselves.
_MOVING = frozenset({"working", "checking", "checked", "to be mended", "in progress"})


class WaitOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the awaited session or run ended. `is_well`: it did what it was asked to do.

    `how`: finished (its turn) or completed; asking; or else what happened, such as interrupted, failed or cancelled.
    `question` is what has to be answered. `told` is the session or the run as other commands show it.
    """

    what: Literal["session", "feature"]
    name: str
    how: str
    is_well: bool
    why: str = ""
    next: str = ""
    question: Told | None = None
    told: Told = {}

    @property
    def document(self) -> Told:
        """For programs: what is shown elsewhere, and how it ended."""
        about = {"what": self.what, "how": self.how, "is_well": self.is_well, "why": self.why, "next": self.next}
        return {**self.told, **about}


class Awaiting:
    """One check at a time; the caller says how long to wait."""

    def __init__(self, daemon: Daemon, features: FeatureResuming, journals: JournalCare, answering: Answering) -> None:
        self._daemon = daemon
        self._features = features
        self._journals = journals
        self._answering = answering

    def feature_meant(self, what: str) -> str | None:
        """The feature here that WHAT names; None if a session is meant."""
        return self._features.meant(what, every=True)

    def session(self, session: str, seconds: float) -> tuple[WaitOutcome | None, Told]:
        """Wait at most this long for a session; returns how it ended, if it did, and how it is shown now."""
        told = self._daemon.ask("wait", session=session, seconds=seconds)
        return (session_outcome(told) if told["rested"] else None), told

    def feature(self, cwd: str, feature: str) -> WaitOutcome | None:
        """How a feature's newest run ended: from its daemon, else from the journal. None: it is still running."""
        told = self.run(cwd, feature)
        if told is None:
            return journal_outcome(feature, self._journals.analyse(feature))
        asked = [] if told["over"] else self.questions(told)
        return run_outcome(told, asked)

    def run(self, cwd: str, feature: str) -> Told | None:
        """A feature's run as its daemon shows it; None: no daemon knows one."""
        try:
            return self._features.state(cwd, feature)
        except NoDaemon:
            return None
        except UsageError as error:
            if error.code != NoOpenRun.code:
                raise
            return None

    def questions(self, told: Told) -> list[Told]:
        """What the agents of a run ask, oldest first."""
        if not any(task["state"] == "asking" for task in told["tasks"]):
            return []
        sessions = {task["session"] for task in told["tasks"]}
        try:
            return [one for one in self._answering.open(start=False) if one["session"] in sessions]
        except NoDaemon:
            return []


def session_outcome(told: Told) -> WaitOutcome:
    """How a session that is at rest ended its work."""
    name, status = told["id"], told["status"]
    if told["asks"] is not None:
        question = told["asks"]
        return _session(told, "asking", why=question["title"], next_=f"rekindle answer {question['id']}")
    if status in ("interrupted", "failed") or told["needs_you"]:
        how = status if status in ("interrupted", "failed") else "stopped short"
        return _session(told, how, why=told["why"], next_=told["next"] or f"rekindle resume {name}")
    if status == "cancelled":
        return _session(told, status, why=told["message"], next_=f"rekindle resume {name}")
    how = "completed" if status == "completed" else "finished"
    return _session(told, how, why="", next_=f"rekindle logs {name}")


def run_outcome(told: Told, asked: list[Told]) -> WaitOutcome | None:
    """The state of a run that a daemon drives or drove. One that is stuck until a question is answered is asking."""
    name = told["feature"]
    if told["over"]:
        well = told["reason"] == "completed"
        next_ = f"git merge {quoted(told['branch'])}" if well else f"rekindle resume {quoted(name)}"
        return _feature(name, told["reason"], is_well=well, why=told["message"], next_=next_, told=told)
    if asked and not any(task["state"] in _MOVING for task in told["tasks"]):
        question = asked[0]
        return WaitOutcome(
            what="feature",
            name=name,
            how="asking",
            is_well=False,
            why=question["title"],
            next=f"rekindle answer {question['id']}",
            question=question,
            told=told,
        )
    return None


def journal_outcome(feature: str, found: Analysed) -> WaitOutcome | None:
    """How the newest run ended according to its journal: no daemon remembers it. None: a live process holds it."""
    analysis = found.analysis
    run = analysis.run
    if run is None:
        raise NoOpenRun(f"{feature} has no run to wait for", "start one: rekindle run --plan FILE")
    told = {"feature": feature, "sid": run.sid, "reason": run.end_reason}
    resume = f"rekindle resume {quoted(feature)}"
    if analysis.is_interrupted:
        return _feature(feature, "interrupted", why=f"run {run.sid} was cut", next_=resume, told=told)
    if run.ended:
        reason = run.end_reason or "ended"
        well = reason == "completed"
        next_ = f"rekindle analyze {quoted(feature)}" if well else resume
        return _feature(feature, reason, is_well=well, next_=next_, told=told)
    if found.owner is None:
        return _feature(
            feature, "open", why="nobody works on it", next_=f"rekindle analyze {quoted(feature)}", told=told
        )
    return None


def _session(told: Told, how: str, *, why: str, next_: str) -> WaitOutcome:
    return WaitOutcome(
        what="session",
        name=told["id"],
        how=how,
        is_well=how in ("completed", "finished"),
        why=why,
        next=next_,
        question=told["asks"],
        told=told,
    )


def _feature(name: str, how: str, *, next_: str, told: Told, is_well: bool = False, why: str = "") -> WaitOutcome:
    return WaitOutcome(what="feature", name=name, how=how, is_well=is_well, why=why, next=next_, told=told)
