"""Gathers what a report is made from: facts in the store, what agents said, snapshots, journals. Reads only."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.governor import facts as g
from rekindle.core.inbox.features import FeatureBegan
from rekindle.core.job.facts import JobFact
from rekindle.core.journal import event as ev
from rekindle.core.journal.event import Event
from rekindle.core.report.sources import (
    FeatureSource,
    JobSource,
    JournalFact,
    KeptState,
    SaidTool,
    SessionSource,
    Sources,
    TurnSaid,
    Window,
)
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.listing import listing
from rekindle.core.session.state import TERMINAL, Session
from rekindle.core.streams import kind_of
from rekindle.ports.conversations import Conversations
from rekindle.ports.errors import RekindleError
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.snapshots import KeptTrees
from rekindle.ports.workspace import Workspace

_ASKED = tuple(str(one.__struct_config__.tag) for one in (g.GovernorAsked, g.GovernorAnswered, g.GovernorClosed))
_BEGAN = (str(FeatureBegan.__struct_config__.tag),)
#: Facts that show that an attempt said something.
_SPEAKING = (f.PromptSent, f.TurnFinished, f.TurnFailed, f.Exited)


@dataclass(frozen=True)
class ReportPorts:
    """`is_merged` tells whether a branch of a repository is part of what is checked out there; None: not known."""

    kept: KeptSessions
    conversations: Conversations
    trees: KeptTrees
    open_here: Callable[[str], Workspace]
    is_merged: Callable[[str, str], bool | None]


class ReportReader:
    """Gathers the sources of one report. What cannot be read becomes a problem that the report names."""

    def __init__(self, ports: ReportPorts, window: Window, now: float) -> None:
        self._ports = ports
        self._window = window
        self._now = now
        self._problems: list[str] = []

    def sources(self) -> Sources:
        """Everything that the report may need."""
        sessions = [one for one in self._ports.kept.sessions() if self._concerns(one)]
        return Sources(
            tuple(self._session(one) for one in sessions),
            tuple(self._jobs()),
            tuple(self._features()),
            cast("tuple[tuple[int, g.GovernorFact], ...]", self._placed("governor", kinds=_ASKED)),
            tuple(self._problems),
        )

    def _concerns(self, session: Session) -> bool:
        """Whether something happened to it since, or it is not finished."""
        if session.changed_at >= self._window.since:
            return session.created_at < self._window.until
        if session.state in TERMINAL:
            return False
        alive = self._ports.kept.is_alive(session.id)
        found = listing(session, self._now, alive=alive)
        return found.needs_you or found.status not in ("asleep", "waiting", "dead")

    def _placed(
        self, stream: str, subject: str | None = None, kinds: Collection[str] = ()
    ) -> tuple[tuple[int, object], ...]:
        return tuple((seq, fact) for seq, _, fact in self._ports.kept.placed(stream, subject, kinds))  # type: ignore[arg-type]

    def _session(self, session: Session) -> SessionSource:
        facts = cast("tuple[tuple[int, AnyFact], ...]", self._placed("session", session.id))
        alive = self._ports.kept.is_alive(session.id) if self._window.until >= self._now else None
        attempts = {fact.attempt for _, fact in facts if isinstance(fact, _SPEAKING) and self._window.has(fact.at)}
        return SessionSource(session.id, facts, self._said(session.id, attempts), self._states(session), alive)

    def _said(self, session: str, attempts: Collection[int]) -> tuple[TurnSaid, ...]:
        if not attempts:
            return ()
        try:
            return tuple(turns_said(self._ports.conversations.read(session, attempts)))
        except (RekindleError, OSError, ValueError, KeyError) as error:
            self._problems.append(f"what was said in session {session} cannot be read: {_why(error)}")
            return ()

    def _states(self, session: Session) -> tuple[KeptState, ...]:
        """Its snapshots, from its folder or, if that is gone, from its repository."""
        places = [place for place in (session.cwd, session.repository) if place and os.path.isdir(place)]
        if not places or session.changed_at < self._window.since:
            return ()
        try:
            found = self._ports.trees.listing(places[0], session.id)
        except (RekindleError, OSError):
            return ()  # not in a repository
        return tuple(KeptState(one.id, one.reason, one.tree, one.head or "") for one in found)

    def _jobs(self) -> Iterable[JobSource]:
        by_job: dict[str, list[tuple[int, JobFact]]] = {}
        for seq, subject, fact in self._ports.kept.placed("job"):
            by_job.setdefault(subject, []).append((seq, cast(JobFact, fact)))
        for name, facts in by_job.items():
            is_over = kind_of(facts[-1][1]) == "job_over"
            if not is_over or any(self._window.has(fact.at) for _, fact in facts):
                yield JobSource(name, tuple(facts))

    def _features(self) -> Iterable[FeatureSource]:
        """The features that a daemon of this store has driven, as far as their repositories are still there."""
        begun = [fact for _, fact in self._placed("feature", kinds=_BEGAN) if isinstance(fact, FeatureBegan)]
        for repository, feature in dict.fromkeys((one.repository, one.feature) for one in begun):
            if not os.path.isdir(repository):
                continue
            try:
                found = self._feature(repository, feature)
            except (RekindleError, OSError) as error:
                self._problems.append(f"the journal of {feature} cannot be read: {_why(error)}")
                continue
            if found is not None:
                yield found

    def _feature(self, repository: str, feature: str) -> FeatureSource | None:
        here = self._ports.open_here(repository)
        journal = here.journal(feature)
        try:
            own = journal.own()
        finally:
            journal.close()
        events = tuple(_journal_fact(one) for one in own)
        if not events or (events[-1].at < self._window.since and _has_ended(own)):
            return None
        named = [one.data.get("branch") for one in own if one.type in (ev.SESSION_START, ev.CHECKPOINT)]
        branch = next((name for name in reversed(named) if isinstance(name, str) and name), f"feature/{feature}")
        is_running = here.owner(feature) is not None
        merged = self._ports.is_merged(repository, branch)
        return FeatureSource(repository, feature, branch, events, is_running=is_running, is_merged=merged)


def turns_said(entries: Sequence[ConversationEntry]) -> Iterable[TurnSaid]:
    """What was said and done in each turn."""
    numbers: dict[int, int] = {}
    found: list[TurnSaid] = []
    words: list[str] = []
    tools: dict[str, SaidTool] = {}

    def close() -> None:
        if found:
            last = found[-1]
            found[-1] = TurnSaid(last.attempt, last.number, "".join(words), tuple(tools.values()))
        words.clear()
        tools.clear()

    for entry in entries:
        match entry.kind:
            case "prompt" | "told":
                close()
                numbers[entry.attempt] = numbers.get(entry.attempt, 0) + 1
                found.append(TurnSaid(entry.attempt, numbers[entry.attempt], ""))
            case "said":
                words.append(entry.text)
            case "tool":
                words.append("\n\n")  # what is said before a tool and after it are two paragraphs
                tools[entry.call or str(len(tools))] = SaidTool(entry.text)
            case "tool_done" if entry.call in tools:
                status = entry.text.partition(":")[0]
                tools[entry.call] = SaidTool(tools[entry.call].title, status)
            case _:
                continue
    close()
    return found


def _has_ended(events: Sequence[Event]) -> bool:
    last = [one.type for one in events if one.type in (ev.SESSION_START, ev.SESSION_END)]
    return last[-1:] == [ev.SESSION_END]


def _journal_fact(event: Event) -> JournalFact:
    return JournalFact(_seconds(event.ts), event.sid or "", event.seq or 0, event.type, event.data)


def _seconds(ts: str | None) -> float:
    try:
        return datetime.fromisoformat(ts or "").timestamp()
    except ValueError:
        return 0.0


def _why(error: Exception) -> str:
    return error.message if isinstance(error, RekindleError) else str(error) or type(error).__name__
