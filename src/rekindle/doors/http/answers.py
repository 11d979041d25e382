"""The answers of the HTTP door that no use case has a type for. OpenAPI is made from these and the use cases' own."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.app.agent_overview import AgentRow
from rekindle.app.conversing import AttemptStart, ShownEntry
from rekindle.app.doctor import Finding
from rekindle.app.feature_view import RunView
from rekindle.app.forking import Point
from rekindle.app.governance import GovernorView
from rekindle.app.searching import FoundHit
from rekindle.app.session_view import SessionView
from rekindle.core.inbox.question import Question
from rekindle.core.session.facts import Receipt


class ProblemReport(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong (RFC 9457). `code`, `hint` and `exit` are those of the command line."""

    title: str
    status: int
    detail: str
    code: str
    hint: str = ""
    exit: int = 1
    type: str = "about:blank"
    details: dict[str, Any] = {}


class Paired(msgspec.Struct, frozen=True):
    """The secret that a code stood for. `read_only`: it never resumes, answers, types or restores."""

    secret: str
    read_only: bool


class Me(msgspec.Struct, frozen=True):
    """Who asks, and who answers."""

    read_only: bool
    host: str
    version: str
    pid: int


class Sessions(msgspec.Struct, frozen=True):
    """All sessions. `seq` is the place in the feed that this answer includes, `now` the server's clock.

    `host` is the name of this host in its fleet, whose sessions are here too. Empty: there is no fleet.
    """

    seq: int
    now: float
    sessions: list[SessionView]
    governor: GovernorView
    host: str


class TaskRow(msgspec.Struct, frozen=True):
    """A unit of work: alone, or in a feature. It is worked in one session."""

    task: str
    title: str
    state: str
    session: str
    feature: str | None
    repository: str | None


class TaskList(msgspec.Struct, frozen=True):
    """All tasks, oldest first."""

    tasks: list[TaskRow]


class InboxQuestion(Question, frozen=True, kw_only=True):
    """A question. `host` is there in a fleet only: the host that asks."""

    host: str | msgspec.UnsetType = msgspec.UNSET


class Inbox(msgspec.Struct, frozen=True):
    """Everything that waits for a person: questions, and sessions that stopped without asking one."""

    seq: int
    now: float
    questions: list[InboxQuestion]
    parked: list[SessionView]


class Facts(msgspec.Struct, frozen=True):
    """Facts in order, each with its `seq`, its `session` and its own fields. `last` is the place of the last one."""

    facts: list[dict[str, Any]]
    last: int


class ConversationPage(msgspec.Struct, frozen=True, rename={"start": "from"}):
    """Entries of a conversation from number `from` on. `total`: how many there are now.

    `source`: whose copy this is, and how old, if another host has the session; empty: this is the conversation itself.
    """

    session: str
    total: int
    start: int
    entries: list[ShownEntry]
    attempts: list[AttemptStart]
    source: str


class AttemptReceipt(msgspec.Struct, frozen=True):
    """What one attempt proved when it came back."""

    attempt: int
    receipt: Receipt


class ReceiptList(msgspec.Struct, frozen=True):
    """The receipts of a session, oldest first."""

    session: str
    receipts: list[AttemptReceipt]


class ForkPoints(msgspec.Struct, frozen=True):
    """The answers after which a copy of a session can go on."""

    session: str
    points: list[Point]


class Difference(msgspec.Struct, frozen=True):
    """What changed, as a unified diff. `truncated`: there is more than is shown."""

    session: str
    a: str | None
    b: str | None
    diff: str
    truncated: bool


class KnownFeature(msgspec.Struct, frozen=True):
    """A feature of a repository in which somebody has had a session."""

    repository: str
    feature: str
    state: str
    sid: str | None
    last_ts: str | None
    end_reason: str | None


class KnownFeatures(msgspec.Struct, frozen=True):
    """All features. `problems`: repositories that cannot be read."""

    features: list[KnownFeature]
    problems: list[str]


class FeatureDetail(msgspec.Struct, frozen=True):
    """A feature: its run if one is under way, and the object of `rekindle analyze --json`."""

    repository: str
    feature: str
    run: RunView | None
    analysis: dict[str, Any]


class ResumedRun(msgspec.Struct, frozen=True):
    """The run `sid` goes on with the run `resumes`."""

    feature: str
    sid: str
    resumes: str | None


class SkillSession(msgspec.Struct, frozen=True):
    """A skill session: its folder, and the fields of its state file with the moves that are open."""

    folder: str
    state: dict[str, Any]


class SkillSessionList(msgspec.Struct, frozen=True):
    """The skill sessions of a repository."""

    repository: str
    sessions: list[SkillSession]


class SearchHits(msgspec.Struct, frozen=True):
    """Where it was said on this host, the best first. `not_searched` says how many sessions other hosts have."""

    query: str
    hits: list[FoundHit]
    not_searched: str


class MachineView(msgspec.Struct, frozen=True):
    """The machine and its daemon. `disk` is in bytes."""

    host: str
    version: str
    pid: int
    started_at: float
    state_dir: str
    disk_free: int
    disk_total: int
    url: str
    sessions: int
    live: int


class Findings(msgspec.Struct, frozen=True):
    """What `rekindle doctor` found."""

    findings: list[Finding]


class AgentRows(msgspec.Struct, frozen=True):
    """The agents that rekindle knows, as `rekindle agent list` shows them."""

    agents: list[AgentRow]


class CheckedRunbook(msgspec.Struct, frozen=True):
    """A runbook without mistakes: its agents and steps by name."""

    agents: list[str]
    steps: list[str]


class JournalLines(msgspec.Struct, frozen=True):
    """Lines of a feature's journal, each as it was written. `next`: the line to go on with; None: the end."""

    repository: str
    feature: str
    lines: list[dict[str, Any]]
    next: int | None
