"""What can be sent to the HTTP door. Unknown fields are refused, so that a misspelt one is not silently ignored."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

#: The longest text that is taken: a prompt, an answer, a runbook.
LONGEST_TEXT = 400_000
Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
Word = Annotated[str, msgspec.Meta(max_length=200)]
Path = Annotated[str, msgspec.Meta(max_length=4000)]


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request must be complete, and have no unknown fields."""


class PairBody(Body, frozen=True, kw_only=True):
    """The code of a link."""

    code: Word


class PromptBody(Body, frozen=True, kw_only=True):
    """Something to tell an agent. With an id of your own, asking again is harmless."""

    text: Text
    prompt_id: Word | None = None


class PromptText(Body, frozen=True, kw_only=True):
    """The new text of a prompt that is not sent yet."""

    text: Text


class QueueBody(Body, frozen=True, kw_only=True):
    """The ids of prompts that are not sent yet, in the order in which they are to be sent. Others stay behind them."""

    prompts: Annotated[list[Word], msgspec.Meta(max_length=1000)]


class AnswerBody(Body, frozen=True, kw_only=True):
    """An answer: an option's id, or `allow` or `deny`. `client` tells one tab from another."""

    option: Word
    text: Text = ""
    client: Word = ""


class ResumeBody(Body, frozen=True, kw_only=True):
    """How to bring an agent back. `wait`: answer when it is back, not at once."""

    kill: bool = False
    wait: bool = False


class StopBody(Body, frozen=True, kw_only=True):
    """How to end a session's agent: it can be resumed (asleep), or not (cancelled, completed)."""

    to: Literal["asleep", "cancelled", "completed"] = "asleep"


class AgentResumeBody(Body, frozen=True, kw_only=True):
    """Which agents to bring back: one (an id, or its beginning), or with `all` every one that died."""

    id: Word = ""
    all: bool = False
    kill: bool = False


class RestoreBody(Body, frozen=True, kw_only=True):
    """The snapshot to put back (its id's beginning, or ~N; by default the last), and a new folder to put it in."""

    at: Word | None = None
    to: Path | None = None


class ForkBody(Body, frozen=True, kw_only=True):
    """The answer (its number or id) after which a copy of the session goes on, and what the copy is told."""

    at: Word
    prompt: Text


class SessionBody(Body, frozen=True, kw_only=True):
    """A new session: which agent works where, and on what."""

    agent: Word
    cwd: Path
    prompt: Text
    title: Word = ""
    policy: Literal["continue", "ask", "never"] = "ask"
    permission: Word = "edits"
    model: Word | None = None
    worktree: Word | None = None


class JobBody(Body, frozen=True, kw_only=True):
    """A job: an unattended drive of one task to its end, with retries. `at` and `every` as on the command line.

    `timeout` and `max_age` are seconds. A higher `priority` starts first; normal is 0.
    """

    prompt: Text
    agent: Word
    cwd: Path
    title: Word = ""
    model: Word | None = None
    permission: Word | None = None
    policy: Word = "continue"
    resume: bool = True
    retries: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 3
    timeout: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    max_cost: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    max_age: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    max_resumes: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] | None = None
    priority: Annotated[int, msgspec.Meta(ge=-100, le=100)] | None = None
    at: Word | None = None
    every: Word | None = None
    zone: Word = ""
    worktree: Word | None = None


class RunbookBody(Body, frozen=True, kw_only=True):
    """The text of a runbook, and the name that mistakes are reported with."""

    text: Text
    name: Word = "runbook.toml"


class FeatureResumeBody(Body, frozen=True, kw_only=True):
    """A feature to resume, with the answer to its question. `seen` is the run that the answer is about."""

    repository: Path
    choice: Literal["A", "B", "C"] | None = None
    instructions: Text = ""
    seen: Word | None = None


class RepositoryBody(Body, frozen=True, kw_only=True):
    """The repository of a feature."""

    repository: Path
