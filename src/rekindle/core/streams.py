"""The kinds of streams in the store. A stream is the sequence of facts about one subject; folding it gives its state.

A new kind is one line here: the store appends, reads and reports its facts like those of any other. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from rekindle.core.daemon_lives import DaemonFact, DaemonLives, booked
from rekindle.core.fact import Fact
from rekindle.core.governor import machine as governing
from rekindle.core.governor.facts import GovernorFact
from rekindle.core.governor.state import Governor
from rekindle.core.inbox.features import FeatureFact, WatchedFeature
from rekindle.core.inbox.features import booked as feature_booked
from rekindle.core.inbox.told import TellingFact, Tellings
from rekindle.core.inbox.told import booked as told_booked
from rekindle.core.job.facts import JobFact
from rekindle.core.job.machine import evolve as evolve_job
from rekindle.core.job.state import Job
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.machine import evolve
from rekindle.core.session.state import Session

StreamKind = Literal["session", "machine", "telling", "job", "governor", "feature"]
State = TypeVar("State")
Said = TypeVar("Said", bound=Fact)


@dataclass(frozen=True)
class Stream(Generic[State, Said]):
    """A kind of stream: the types of its facts, and how one fact leads from one state to the next."""

    kind: StreamKind
    facts: Any
    evolve: Callable[[State | None, Said], State]

    def folded(self, facts: Iterable[Said]) -> State | None:
        """The state that these facts lead to; None if there are none."""
        state: State | None = None
        for fact in facts:
            state = self.evolve(state, fact)
        return state


#: One conversation with one agent. The subject is the session's id.
SESSION: Stream[Session, AnyFact] = Stream("session", AnyFact, evolve)
#: What happens to the machine's daemons. The subject says what it is about.
MACHINE: Stream[DaemonLives, DaemonFact] = Stream("machine", DaemonFact, booked)
#: What people were told outside the terminal. The subject is a month.
TELLING: Stream[Tellings, TellingFact] = Stream("telling", TellingFact, told_booked)
#: An unattended drive of tasks to an end. The subject is the job's id.
JOB: Stream[Job, JobFact] = Stream("job", JobFact, evolve_job)
#: What spans sessions: the breaker, spending, and the queue for a limit. There is one subject.
GOVERNOR: Stream[Governor, GovernorFact] = Stream("governor", GovernorFact, governing.evolve)
#: What was asked about a feature, and answered. The subject is its repository and name, see `core.inbox.features`.
FEATURE: Stream[WatchedFeature, FeatureFact] = Stream("feature", FeatureFact, feature_booked)
STREAMS: dict[StreamKind, Stream[Any, Any]] = {
    "session": SESSION,
    "machine": MACHINE,
    "telling": TELLING,
    "job": JOB,
    "governor": GOVERNOR,
    "feature": FEATURE,
}


def kind_of(fact: Fact) -> str:
    """The fact's own name in the store."""
    tag = type(fact).__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def as_data(fact: Fact) -> dict[str, Any]:
    """A fact as plain data, with its name."""
    found: dict[str, Any] = msgspec.to_builtins(fact)
    return found
