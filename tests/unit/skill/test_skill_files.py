"""What a skill declares is data: it is read within limits, and what cannot be used is named."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.core.skill import labels
from rekindle.core.skill.skill import BadSkill, skill_of
from tests.skills import DECLARED, skill


@pytest.mark.parametrize("label", ["0", "5", "12", "5.2", "3.A", "1.2B", "1.AB", "5.1.2", "10.11.A"])
def test_labels_of_phases_and_sub_phases(label: str) -> None:
    assert labels.is_label(label)


@pytest.mark.parametrize("label", ["", "A", "5.", ".5", "5.a", "5.A1", "5.2b", "5 ", "5\n", "٥", "5..2", "1" * 41])
def test_what_is_not_a_label(label: str) -> None:
    assert not labels.is_label(label)


def test_phases_are_texts_or_tables_with_a_proof() -> None:
    found = skill()
    assert [one.text for one in found.phases][-3:] == ["4.2: Debrief", "4.3: Pipeline", "4.4: Close"]
    assert [one.label for one in found.phases if one.proof is not None] == ["4.2"]
    assert (found.rules.log, found.rules.plan, found.rules.debrief) == ("BUILD_LOG.md", "BUILD_PLAN.md", "BUILD.md")
    assert found.next_skills == ("review", "deploy")
    assert found.rules.interrogation == "1"


def test_the_files_and_the_heartbeat_can_be_set() -> None:
    found = skill(log="notes.md", heartbeat={"warn": 3, "block": 0}, approval="person")
    assert (found.rules.log, found.rules.warn, found.rules.block, found.rules.approver) == ("notes.md", 3, 0, "person")


def deep(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        made = {"properties": {"a": made}}
    return made


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        ({"phases": "1: A"}, "phases"),
        ({"phases": ["1: A", "1: B"]}, "phases[1]"),
        ({"phases": ["A"]}, "phases[0]"),
        ({"phases": ["1"]}, "phases[0]"),
        ({"phases": [3]}, "phases[0]"),
        ({"phases": [{"label": 5.2, "name": "A"}]}, "phases[0].label"),
        ({"phases": [{"label": "1", "name": "A", "proof": "yes"}]}, "phases[0].proof"),
        ({"phases": [{"label": "1", "name": "A", "proof": {"$ref": "https://example.invalid/"}}]}, "phases[0].proof"),
        ({"phases": [{"label": "1", "name": "A", "proof": deep(30)}]}, "phases[0].proof"),
        ({"phases": [{"label": "1", "name": "A", "proof": {"enum": list(range(5000))}}]}, "phases[0].proof"),
        ({"phases": [f"{number}: A" for number in range(500)]}, "phases"),
        ({"log": "../../.bashrc"}, "log"),
        ({"plan": "/etc/passwd"}, "plan"),
        ({"next": ["../evil"]}, "next"),
        ({"approval": "nobody"}, "approval"),
        ({"heartbeat": {"warn": -1}}, "heartbeat.warn"),
        ({"heartbeat": {"block": True}}, "heartbeat.block"),
        ({"gate": "yes"}, "gate"),
        ({"interrogation": "9"}, "interrogation"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place_and_a_remedy(declared: dict[str, Any], key: str) -> None:
    with pytest.raises(BadSkill) as refused:
        skill_of("build", {**DECLARED, **declared})
    assert refused.value.key == key
    assert refused.value.hint


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 2**63, -(2**63) - 1])
def test_a_proof_holds_only_numbers_that_a_state_file_can_hold(number: float) -> None:
    with pytest.raises(BadSkill, match="number") as caught:
        skill(phases=[{"label": "1", "name": "A", "proof": {"maximum": number}}])
    assert caught.value.key == "phases[0].proof"
