"""What a skill declares: its phases with their proofs, its files, its rules. Pure.

A skill comes with a repository or from a home folder: what it says is data. It is read into these values within limits
and does nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from rekindle.core.names import why_not
from rekindle.core.skill import labels, plain_json
from rekindle.core.skill.heartbeat import BLOCK, WARN

#: More phases than any workflow has.
MOST_PHASES: Final = 200
MOST_NEXT: Final = 50
LONGEST_NAME: Final = 120
#: How deep a proof's schema may be nested, and how many values it may hold.
DEEPEST: Final = 20
LARGEST: Final = 2_000
_FILES: Final = {"log": "{}_LOG.md", "plan": "{}_PLAN.md", "debrief": "{}.md"}
#: Who may approve a move that is not free: the agent's word counts, or a person has to answer.
Approver = Literal["agent", "person"]


class BadSkill(ValueError):
    """What a skill declares cannot be used. `key` names the place in it, `hint` says what it takes."""

    def __init__(self, key: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.key, self.message, self.hint = key, message, hint


class SkillPhase(msgspec.Struct, frozen=True, omit_defaults=True):
    """One declared phase. `proof`: the JSON Schema of what has to be shown when it is left. `gate`: see SkillRules."""

    label: str
    name: str
    proof: dict[str, Any] | None = None
    gate: bool = False

    @property
    def text(self) -> str:
        """As it is stored in `currentPhase`."""
        return labels.joined(self.label, self.name)


class SkillRules(msgspec.Struct, frozen=True, rename="camel"):
    """How a skill wants to be worked. `gate`: a phase is left only after its gate was answered with "proceed".

    `warn` and `block` are numbers of tool calls without a log entry; 0 means never. `interrogation` is the label of
    the phase that new input goes to.
    """

    approver: Approver = "agent"
    warn: int = WARN
    block: int = BLOCK
    log: str = ""
    plan: str = ""
    debrief: str = ""
    interrogation: str | None = None


class Skill(msgspec.Struct, frozen=True):
    """A skill as far as sessions are concerned. `file` is where an agent reads its instructions."""

    name: str
    description: str
    phases: tuple[SkillPhase, ...]
    rules: SkillRules
    next_skills: tuple[str, ...] = ()
    file: str = ""


def skill_of(name: str, declared: Mapping[str, Any], file: str = "") -> Skill:
    """A skill from the front matter of its SKILL.md, or from a TOML table. Raises BadSkill. Ignores unknown keys."""
    gate = _flag(declared, "gate")
    phases = phases_of(declared.get("phases"), gate=gate)
    return Skill(
        name=name,
        description=_words(declared.get("description")),
        phases=phases,
        rules=_rules(name, declared, phases),
        next_skills=_names(declared, "next"),
        file=file,
    )


def phases_of(declared: object, *, gate: bool = False) -> tuple[SkillPhase, ...]:
    """The declared phases, in their order. Raises BadSkill."""
    if declared is None:
        return ()
    if not isinstance(declared, list):
        raise BadSkill(
            "phases", "phases is not a list", f'it takes items such as "1: Setup" (labels: {labels.EXAMPLES})'
        )
    if len(declared) > MOST_PHASES:
        raise BadSkill("phases", f"phases has {len(declared)} items", f"at most {MOST_PHASES} are allowed")
    found = tuple(_phase(one, f"phases[{number}]", gate=gate) for number, one in enumerate(declared))
    seen: set[str] = set()
    for number, one in enumerate(found):
        if one.label in seen:
            raise BadSkill(f"phases[{number}]", f"the label {one.label} is declared twice", "give each phase its own")
        seen.add(one.label)
    return found


def _phase(declared: object, key: str, *, gate: bool) -> SkillPhase:
    takes = 'it takes "LABEL: Name" or {label, name, proof}'
    if isinstance(declared, str):
        label, name = labels.split(declared)
        proof = None
    elif isinstance(declared, Mapping) and len(declared) == 1 and "label" not in declared:
        # YAML reads an unquoted `- 1: Setup` as a table.
        label, name = next((str(key), value) for key, value in declared.items())
        proof = None
    elif isinstance(declared, Mapping):
        # YAML reads a bare 5 or 5.2 as a number: 5.20 would become 5.2, so only whole numbers are taken back.
        given = declared.get("label")
        if isinstance(given, float):
            raise BadSkill(f"{key}.label", f"the label {given} is a number", f'put it between quotes: label: "{given}"')
        label = str(given) if isinstance(given, int | str) and not isinstance(given, bool) else ""
        name, proof = declared.get("name") or "", declared.get("proof")
        gate = _flag(declared, "gate", default=gate, place=f"{key}.")
    else:
        raise BadSkill(key, "a phase is neither a text nor a table", takes)
    if not isinstance(label, str) or not labels.is_label(label):
        raise BadSkill(key, f"{label!r} is not the label of a phase", f"labels look like {labels.EXAMPLES}")
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadSkill(key, f"the phase {label} has no usable name", f"{takes}, the name in one line")
    if proof is not None:
        _check_proof(proof, f"{key}.proof")
    return SkillPhase(label, name, dict(proof) if proof is not None else None, gate)


def _check_proof(proof: object, key: str) -> None:
    """A schema has to be plain data of a sensible size. Whether it is a valid schema is checked where it is used."""
    if not isinstance(proof, Mapping):
        raise BadSkill(
            key, "the proof is not a JSON Schema", "it takes an object with `type`, `properties`, `required`"
        )
    budget = [LARGEST]

    def look(value: object, depth: int) -> None:
        budget[0] -= 1
        if depth > DEEPEST or budget[0] < 0:
            raise BadSkill(
                key, "the proof's schema is too large", f"{DEEPEST} levels and {LARGEST} values are the limit"
            )
        if isinstance(value, Mapping):
            for name, below in value.items():
                if not isinstance(name, str):
                    raise BadSkill(key, f"the proof's schema has the key {name!r}", "put keys between quotes")
                if name == "$ref" and not (isinstance(below, str) and below.startswith("#")):
                    raise BadSkill(
                        key, f"the proof's schema refers to {below!r}", "only references inside it are allowed"
                    )
                look(below, depth + 1)
        elif isinstance(value, list):
            for below in value:
                look(below, depth + 1)
        elif not plain_json.is_writable(value):
            raise BadSkill(key, "the proof's schema holds a number that nobody can write down", "use a smaller number")
        elif not isinstance(value, str | int | float | bool | None):
            raise BadSkill(key, f"the proof's schema holds a {type(value).__name__}", "use texts, numbers, true, false")

    look(proof, 0)


def _rules(name: str, declared: Mapping[str, Any], phases: tuple[SkillPhase, ...]) -> SkillRules:
    approver = declared.get("approval", "agent")
    if approver not in ("agent", "person"):
        raise BadSkill("approval", f"approval is {approver!r}", 'it takes "agent" or "person"')
    beat = declared.get("heartbeat")
    if beat is not None and not isinstance(beat, Mapping):
        raise BadSkill("heartbeat", "heartbeat is not a table", "it takes {warn, block}, numbers of tool calls")
    beat = beat or {}
    interrogation = declared.get("interrogation")
    if interrogation is not None and str(interrogation) not in {one.label for one in phases}:
        raise BadSkill("interrogation", f"interrogation names {interrogation!r}, which is not declared", "name a phase")
    if interrogation is None:
        interrogation = next((one.label for one in phases if "interrogat" in one.name.casefold()), None)
    given = {key: _file_name(declared, key, shape.format(upper(name))) for key, shape in _FILES.items()}
    return SkillRules(
        approver="person" if approver == "person" else "agent",
        warn=_number(beat, "warn", WARN),
        block=_number(beat, "block", BLOCK),
        interrogation=None if interrogation is None else str(interrogation),
        **given,
    )


def upper(skill: str) -> str:
    """`[SKILL_UPPER]`: the skill's name as its files begin."""
    return "".join(char if char.isalnum() else "_" for char in skill.upper())


def _file_name(declared: Mapping[str, Any], key: str, default: str) -> str:
    name = declared.get(key, default)
    problem = why_not(name) if isinstance(name, str) else "is not a text"
    if problem is not None:
        raise BadSkill(key, f"the file name {name!r} {problem}", "name a file in the session's folder")
    return str(name)


def _number(table: Mapping[str, Any], key: str, default: int) -> int:
    value = table.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 1_000_000:
        raise BadSkill(f"heartbeat.{key}", f"{key} is {value!r}", "it takes a number of tool calls; 0 means never")
    return value


def _flag(table: Mapping[str, Any], key: str, *, default: bool = False, place: str = "") -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise BadSkill(f"{place}{key}", f"{key} is {value!r}", "it takes true or false")
    return value


def _names(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    takes = 'it takes a list of skill names such as ["review", "deploy"]'
    if not isinstance(value, list) or len(value) > MOST_NEXT:
        raise BadSkill(key, f"{key} is not a list of at most {MOST_NEXT} names", takes)
    for one in value:
        problem = why_not(one) if isinstance(one, str) else "is not a text"
        if problem is not None:
            raise BadSkill(key, f"the skill name {one!r} {problem}", takes)
    return tuple(value)


def _words(value: object) -> str:
    return " ".join(value.split())[:500] if isinstance(value, str) else ""
