"""What is typed to `rekindle track` becomes an event with the fields of its type, or is refused with what would do."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.core.journal.draft import CannotDraft, draft


def drafted(type_: str, message: str | None = None, **data: Any) -> dict[str, Any]:
    return draft(type_, task=None, message=message, files=(), data=data).data


@pytest.mark.parametrize(
    "change", ["task_added", "task_removed", "dependency_changed", "wave_reordered", "agent_reassigned"]
)
def test_a_change_of_a_plan_is_tracked_by_its_kind_with_its_reason(change: str) -> None:
    assert drafted("plan.updated", "b needs a", change=change) == {"change": change, "reason": "b needs a"}


@pytest.mark.parametrize("change", ["task_deleted", "", 7, ["task_added"]])
def test_another_change_of_a_plan_is_refused_with_those_that_there_are(change: object) -> None:
    with pytest.raises(CannotDraft) as caught:
        drafted("plan.updated", "because", change=change)
    assert "task_added, task_removed, dependency_changed, wave_reordered or agent_reassigned" in caught.value.hint
