"""The state file of a skill session, `.state.json`, as a value. Pure.

The file is shared with skills and hooks that are not ours: fields that nobody here knows survive every rewrite, in
their place. A file that is damaged, or that a newer version wrote, is never written over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import msgspec
from msgspec.structs import replace

from rekindle.core.names import why_not
from rekindle.core.skill import labels, plain_json
from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.core.skill.skill import BadSkill, SkillPhase, SkillRules, phases_of

NAME: Final = ".state.json"
#: The format that this version writes. A file without a version has this one.
VERSION: Final = 1
LARGEST: Final = 4 << 20
Lifecycle = Literal["active", "dehydrating", "restarting", "resuming", "idle", "completed"]
LIFECYCLES: Final[tuple[str, ...]] = get_args(Lifecycle)
#: Kept of long lists of our own, newest last.
KEPT: Final = 200


class BadState(ValueError):
    """A state file that cannot be used. `is_newer`: a newer version wrote it."""

    def __init__(self, message: str, hint: str, *, is_newer: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.is_newer = message, hint, is_newer


class PhaseMove(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One entry into a phase. `approved_by`: `person`, or `agent` for what an agent claims. `proof`: what was shown."""

    phase: str
    at: str
    kind: str = "next"
    reason: str = ""
    approved_by: str = ""
    proof: Any = None


class SkillQuestion(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What waits for a person. `about` is the phase that it concerns. With `option` it is answered."""

    id: str
    kind: Literal["resume", "gate", "approval", "skill"]
    title: str
    options: list[tuple[str, str, str]]
    asked_at: float
    about: str = ""
    detail: str = ""
    option: str = ""
    text: str = ""
    by: str = ""


class SkillResume(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A resume that happened, with its proof object."""

    at: str
    method: str
    proof: dict[str, str]
    by: str = ""


class EarlierSkill(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A skill that was worked in this folder before another one took it over."""

    skill: str
    phase: str
    lifecycle: str
    at: str
    phase_history: list[Any] = []


class SkillState(msgspec.Struct, frozen=True, rename="camel"):
    """All fields that mean something here; `others` are kept as they are.

    The first group is what skills and hooks agree on. The second is ours: `owner` tells the process from a later one
    with the same pid, `rules` and `phases` are the skill's as they were when it was activated.
    """

    pid: int | None = None
    last_known_pid: int | None = None
    session_id: str | None = None
    pane_id: str | None = None
    skill: str = ""
    lifecycle: str = "active"
    loading: bool = False
    overflowed: bool = False
    context_usage: float = 0.0
    dehydrated_context: DehydratedContext | None = None
    current_phase: str = ""
    phases: list[SkillPhase] = []
    phase_history: list[Any] = []
    completed_skills: list[str] = []
    next_skills: list[str] = []
    started_at: str | int | float | None = None
    last_heartbeat: str | int | float | None = None
    tool_calls_since_last_log: int = 0

    version: int = VERSION
    owner: dict[str, Any] | None = None
    rules: SkillRules = SkillRules()
    skill_file: str = ""
    parameters: dict[str, Any] = {}
    phase_moves: list[PhaseMove] = []
    gate_passed: str = ""
    question: SkillQuestion | None = None
    resumes: list[SkillResume] = []
    earlier_skills: list[EarlierSkill] = []
    turns_since_resume: int = 0
    abandoned: str = ""
    #: the id of the session that rekindle supervises the holder in
    conversation: str | None = None
    others: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """The label of the phase that the session stands at."""
        return labels.split(self.current_phase)[0]

    @property
    def history(self) -> list[str]:
        """The phases that were entered, oldest first, whatever wrote them."""
        return [text for one in self.phase_history if (text := _phase_text(one))]

    @property
    def last_completed(self) -> str | None:
        """The last completed phase: the last item of the history is the phase entered, the one before it this one."""
        return self.history[-2] if len(self.history) > 1 else None


_FIELDS: Final = {field.encode_name: field.name for field in msgspec.structs.fields(SkillState)}
_OTHERS: Final = "others"


def parse(content: bytes, place: str) -> SkillState:
    """The state in a file. Raises BadState that names the place."""
    keep = "repair it, or move it away and run `rekindle session activate DIR SKILL`: log and plan stay"
    try:
        found = plain_json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadState(f"{place} is damaged: {_why(error)}", keep) from error
    if not isinstance(found, dict):
        raise BadState(f"{place} is damaged: it is not a JSON object", keep)
    return decode(found, place)


def decode(found: Mapping[str, Any], place: str) -> SkillState:
    """The state in a JSON object. Raises BadState."""
    version = found.get("version", VERSION)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadState(f"{place}: version is {version!r}", "it takes a whole number")
    if version > VERSION:
        raise BadState(
            f"{place} was written by a newer version (format {version}, this one knows {VERSION})",
            "upgrade rekindle; nothing was changed",
            is_newer=True,
        )
    known = {key: value for key, value in found.items() if key in _FIELDS and key != _OTHERS and value is not None}
    lifecycle = known.get("lifecycle", "active")
    if lifecycle not in LIFECYCLES:
        raise BadState(f"{place}: the lifecycle {lifecycle!r} is unknown", f"it is one of: {', '.join(LIFECYCLES)}")
    try:
        if "phases" in known:
            known["phases"] = msgspec.to_builtins(list(phases_of(known["phases"])))
        state = msgspec.convert(known, SkillState)
    except BadSkill as error:
        raise BadState(f"{place}: {error.key}: {error.message}", error.hint) from error
    except (msgspec.ValidationError, ValueError) as error:
        raise BadState(f"{place}: a field has the wrong type: {error}", "repair it; nothing was changed") from error
    for key in ("log", "plan", "debrief"):
        name = getattr(state.rules, key)
        problem = why_not(name) if name else None
        if problem is not None:  # it is read and written to, and the file may come from anywhere
            hint = "it takes the name of a file in the session's folder; nothing was changed"
            raise BadState(f"{place}: rules.{key}: the file name {name[:200]!r} {problem}", hint)
    if not 0 <= state.context_usage <= 1:
        raise BadState(f"{place}: contextUsage is {state.context_usage}", "it takes a number from 0 to 1")
    return replace(state, others={key: value for key, value in found.items() if key not in _FIELDS or key == _OTHERS})


def document(state: SkillState) -> dict[str, Any]:
    """The JSON object of a state, unknown fields last."""
    found: dict[str, Any] = msgspec.to_builtins(state)
    del found[_OTHERS]
    return {**found, **state.others}


def encode(state: SkillState) -> bytes:
    """The content of a state file. Raises ValueError for a number that could not be read again."""
    found = document(state)
    try:
        return plain_json.dumps(found).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can write
        return plain_json.dumps(found, is_ascii=True).encode() + b"\n"


def _phase_text(item: object) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, Mapping):
        if isinstance(item.get("phase"), str):
            return str(item["phase"])
        if isinstance(item.get("label"), str):
            return labels.joined(item["label"], str(item.get("name") or ""))
    return ""


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON at line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return str(error) or "nested too deeply"
