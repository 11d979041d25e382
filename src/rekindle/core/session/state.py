"""A session as its facts have made it, and questions that it alone can answer. Pure data.

What changes a session is in `machine` and `booking`; the small functions at the end only put a changed part back in its
place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from rekindle.core.runbook.triggers import Trigger
from rekindle.core.session import facts as f
from rekindle.core.session.facts import Cut, Limits, Receipt, Usage
from rekindle.core.session.prompt_marks import mark
from rekindle.core.session.rules import BUILT_IN, BudgetName, Rules
from rekindle.core.session.values import ContextGauge, HostChange


class State(StrEnum):
    """The states of the task session."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    WAITING_FOR_INPUT = "WAITING_FOR_INPUT"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class TaskState(StrEnum):
    """The state of the task that a session works on."""

    TODO = "TODO"
    IN_PROGRESS = "IN_PROGRESS"
    REVIEW = "REVIEW"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


ACTIVE = frozenset({State.STARTING, State.RUNNING, State.WAITING_FOR_INPUT})
TERMINAL = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})
#: How many notices are kept.
_NOTICES: Final = 20

_TASK = {
    State.STARTING: TaskState.IN_PROGRESS,
    State.RUNNING: TaskState.IN_PROGRESS,
    State.WAITING_FOR_INPUT: TaskState.REVIEW,
    State.COMPLETED: TaskState.COMPLETED,
    State.FAILED: TaskState.FAILED,
    State.CANCELLED: TaskState.CANCELLED,
}


class Prompt(msgspec.Struct, frozen=True):
    """A prompt on its way. State `cut`: its turn was running when the agent ended, and nobody has settled that yet.

    `cut` says what happened to such a turn: `open` while nobody knows whether the agent has the prompt, `known` when
    its record has it, `lost` when it does not. `of` is the prompt that one of rekindle's own continues.
    `after`: it is not sent before this time, which is the end of the limit named `limit`. `hurried`: a person wants it
    sent at once.
    """

    id: str
    text: str
    at: float
    state: Literal["queued", "sent", "began", "done", "failed", "cut", "cancelled"] = "queued"
    attempt: int = 0
    message: int = 0
    by: str = "user"
    of: str = ""
    outcome: str = ""
    cut: Literal["no", "open", "known", "lost"] = "no"
    after: float | None = None
    sent_at: float = 0.0
    usage: Usage | None = None
    limit: str = ""
    hurried: bool = False


class Attempt(msgspec.Struct, frozen=True):
    """One process life of the agent. launching -> up -> ready -> gone.

    `opened`: its conversation was open once, since `opened_at` (or, if nobody knows, until it ended). `lacks` is what
    the agent had lost of it, if it was abandoned for that. `named` is the agent's own name for the conversation.
    `proof` is what shows that the conversation is the same. `compared`: its record was checked after it came back;
    `overdue`: we waited for that in vain. `known`, `changed`, `history` and `said` stay until they have been used: a
    session is written as a whole, so nothing stays in it that only an earlier attempt needed.
    `truncated`: how many bytes of its output may be lost.
    `compactions`: how often the agent has shortened its conversation in this attempt, and `compacted_before` before it.
    `refused`: how it would not open the conversation, and why not.
    `blocked`: it could not be started because something is missing. `asked_by`: who asked for it; empty: nobody did, it
    was started automatically. `unseen`: its keeper ended with it, so that nobody saw why. `given`, `behind`: what a new
    conversation was told instead of the whole history, and what was left behind, in words. `measured`: how often its
    agent has told how full its context is. `account`: whose limits it uses up; empty: those of the usual account.
    """

    number: int
    how: f.How
    status: Literal["launching", "up", "ready", "gone"] = "launching"
    token: str | None = None
    folder: str = ""
    pid: int = 0
    how_ended: str = ""
    by_us: bool = False
    cut: Cut | None = None
    truncated: int = 0
    receipt: Receipt | None = None
    opened: bool = False
    opened_at: float = 0.0
    named: str | None = None
    proof: Literal["replay", "transcript"] = "replay"
    compared: bool = False
    overdue: bool = False
    given_up: str = ""
    given_for: str = ""
    known: list[str] | None = None
    changed: list[str] = []
    history: str = ""
    said: list[str] = []
    notes: list[str] = []
    why: str = ""
    usage: Usage = Usage()
    agent: str = ""
    lacks: str = ""
    compactions: int = 0
    compacted_before: int = 0
    refused: str = ""
    blocked: bool = False
    asked_by: str = ""
    unseen: bool = False
    given: str = ""
    behind: str = ""
    measured: int = 0
    account: str = ""


class Permission(msgspec.Struct, frozen=True):
    """An agent's question. `option` is None until it is answered. `id` is what people and programs call it."""

    request: str
    attempt: int
    title: str
    kind: str
    options: list[tuple[str, str, str]]
    answered: bool = False
    option: str | None = None
    prompt: str = ""
    id: str = ""
    detail: str = ""
    at: float = 0.0


class Escalation(msgspec.Struct, frozen=True):
    """One of rekindle's own questions: a person decides how the session continues. See `facts.Escalated`."""

    id: str
    trigger: Trigger
    title: str
    detail: str
    options: list[tuple[str, str, str]]
    recommended: str
    otherwise: str
    at: float
    kind: str = "escalation"


class Gate(msgspec.Struct, frozen=True):
    """A command that is to decide whether the task is finished."""

    id: str
    trigger: Trigger
    run: list[str]
    why: str


class Settled(msgspec.Struct, frozen=True):
    """A question that is over: somebody answered it, or nobody did before its turn ended. `kind` is the option's."""

    id: str
    title: str
    how: Literal["answered", "expired"]
    at: float
    option: str | None = None
    by: str = ""
    kind: str = ""


class Session(msgspec.Struct, frozen=True):
    """A session as its facts have made it."""

    id: str
    agent: str
    cwd: str
    created_at: float
    title: str = ""
    rules: Rules = BUILT_IN
    rules_source: str = ""
    rules_digest: str = ""
    permission: str = "edits"
    feature: str | None = None
    task: str | None = None
    arguments: list[str] = []
    program: str = ""
    of_run: bool = False
    job: str = ""
    model: str | None = None
    one_shot: bool = False
    fork_of: str | None = None
    fork_at: str | None = None
    repository: str | None = None
    worktree: str | None = None
    branch: str | None = None
    repository_id: str | None = None
    terminal: bool = False
    state: State = State.STARTING
    generation: int = 0
    token: str | None = None
    can_load: bool = True
    attempts: list[Attempt] = []
    prompts: list[Prompt] = []
    permissions: list[Permission] = []
    settled: list[Settled] = []
    escalation: Escalation | None = None
    gate: Gate | None = None
    resume_asked: str | None = None
    stop_asked: str | None = None
    cancel_asked: str | None = None
    stopped_by: str = ""
    retry_at: float | None = None
    load_at: float | None = None
    held: bool = False
    #: who wants that nothing is done automatically; empty: nobody
    on_hold: str = ""
    #: how much of each budget was spent since the last progress, and what is due when
    spent: dict[str, int] = {}
    timers: dict[str, float] = {}
    lost: list[str] = []
    #: the newest snapshot that shows changed files
    changed_snapshot: str = ""
    #: the next conversation is told nothing about the one before
    untold: bool = False
    #: why the last conversation was abandoned, until the next one begins
    left_why: str = ""
    #: the next conversation is told a summary of the one before
    dehydrated: bool = False
    #: how full the context window is; None: the agent has not told since the conversation was opened or shortened
    context: ContextGauge | None = None
    #: the folder of the skill session that its agent worked in when somebody last looked; empty: none
    skill: str = ""
    compact: str | None = None
    usage: Usage = Usage()
    over: str = ""
    message: str = ""
    notices: list[str] = []
    changed_at: float = 0.0
    native: bool = True
    #: what its archive asked for, and whether nobody here has asked for it to continue yet
    imported: list[str] = []
    is_foreign: bool = False
    #: how often the machine's clock was set under it; when that was noticed last, and by how many seconds it was set
    clock_sets: int = 0
    clock_set: tuple[float, float] | None = None
    #: which host of a fleet has taken it over last; None: it is where it was begun
    host_change: HostChange | None = None

    @property
    def policy(self) -> str:
        """What happens when the agent dies."""
        return self.rules.policy

    @property
    def limits(self) -> Limits:
        """What the session may use."""
        return self.rules.limits

    @property
    def is_left_to_job(self) -> bool:
        """Whether its job decides what happens after its agent has died: nobody is asked about that."""
        return bool(self.job) and self.policy == "never"

    def left(self, budget: BudgetName) -> int:
        """How often something may still be done automatically before there is progress."""
        return max(0, self.rules.budget(budget).times - self.spent.get(budget, 0))

    @property
    def attempt(self) -> Attempt | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def is_loadable(self) -> bool:
        """Whether the agent itself can resume its conversation, and is trusted to."""
        return bool(self.token) and self.can_load and self.native

    @property
    def is_up(self) -> bool:
        """Whether an attempt is starting or alive, as far as the facts show."""
        return bool(self.attempts) and self.attempts[-1].status != "gone"

    @property
    def turn(self) -> Prompt | None:
        """The prompt whose turn is running, or was when the agent ended."""
        return next((prompt for prompt in self.prompts if prompt.state in ("sent", "began", "cut")), None)

    @property
    def task_state(self) -> TaskState:
        """The task's state, which follows from the session's."""
        return _TASK[self.state]

    @property
    def queued(self) -> list[Prompt]:
        """Prompts that nobody has sent yet, in order."""
        return [prompt for prompt in self.prompts if prompt.state == "queued"]

    @property
    def sendable(self) -> list[Prompt]:
        """Those of them that may be sent: while it is on hold, only what a person says."""
        return [prompt for prompt in self.queued if prompt.by != OURS] if self.on_hold else self.queued


OURS: Final = "rekindle"
#: Who brings an agent back for a prompt that somebody has sent.
PROMPT_SENDER: Final = "a prompt"
#: Who asked for something before the store was lost: that is in no other place.
UNKNOWN: Final = "unknown"


def task_of(session: Session, prompt: Prompt) -> Prompt:
    """What a person asked for: the prompt itself, or the one that a prompt of rekindle's own continues."""
    return next((one for one in session.prompts if one.id == prompt.of), prompt)


def cut_of(session: Session, turn: Prompt) -> Cut:
    """What was going on when this turn was cut off."""
    before = next((one for one in reversed(session.attempts) if one.number == turn.attempt), None)
    return before.cut if before is not None and before.cut is not None else Cut()


def prompts_in(session: Session, known: Iterable[str]) -> set[str]:
    """The prompts (their ids) that an agent's record has. If the same text was sent twice, it has to be there twice.

    The record is that of the current conversation: the same text in one that was left before counts after it.
    """
    left = Counter(mark(text) for text in known)
    begun = conversation_begun(session, session.attempts[-1]) if session.attempts else 0
    found: set[str] = set()
    for one in sorted(session.prompts, key=lambda one: one.attempt < begun):
        if one.attempt and left[mark(one.text)] > 0:
            left[mark(one.text)] -= 1
            found.add(one.id)
    return found


def conversation_begun(session: Session, attempt: Attempt) -> int:
    """The attempt that began this one's conversation: what came before was told to it, not said in it."""
    begun = (one.number for one in session.attempts if one.how == "new" and one.token == attempt.token)
    return max((number for number in begun if number < attempt.number), default=0)


def nothing_ever_ran(session: Session) -> bool:
    """Whether no turn has ever begun, so that a new conversation loses nothing."""
    if any(prompt.state in ("began", "done") for prompt in session.prompts):
        return False
    return all(one.cut is None or not one.cut.had_begun for one in session.attempts)


def with_attempt(session: Session, change: Callable[[Attempt], Attempt]) -> Session:
    return replace(session, attempts=[*session.attempts[:-1], change(session.attempts[-1])])


def with_prompt(session: Session, prompt: str, **changes: object) -> Session:
    return replace(session, prompts=[replace(one, **changes) if one.id == prompt else one for one in session.prompts])


def queued_first(session: Session, prompt: Prompt) -> Session:
    if any(one.id == prompt.id for one in session.prompts):
        return session
    at = next((index for index, one in enumerate(session.prompts) if one.state == "queued"), len(session.prompts))
    return replace(session, prompts=[*session.prompts[:at], prompt, *session.prompts[at:]])


def reordered(session: Session, wanted: list[str]) -> Session:
    """With the queued prompts among these in this order, in the places that they had before."""
    mine = {one.id: one for one in session.queued if one.by != OURS}
    order = [mine[name] for name in dict.fromkeys(wanted) if name in mine]
    named, new = {one.id for one in order}, iter(order)
    return replace(session, prompts=[next(new) if one.id in named else one for one in session.prompts])


def noted(session: Session, told: str) -> Session:
    """With a sentence for anybody who looks; the same one twice in a row counts once, and old ones are dropped."""
    return session if session.notices[-1:] == [told] else replace(session, notices=[*session.notices, told][-_NOTICES:])
