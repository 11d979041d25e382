"""What a hook makes of the git commands that an agent ran: the events of branches, with every field of the table."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.hooks.observe import _branch_events


@pytest.mark.parametrize(
    ("command", "output", "events"),
    [
        ("git checkout -b work/f/x main", "", [("branch.created", {"name": "work/f/x", "parent": "main"})]),
        ("git switch -c work/f/x", "", [("branch.created", {"name": "work/f/x", "parent": None})]),
        ("git pull", "", [("branch.pulled", {"branch": "feature/f", "behind": None, "ahead": None})]),
        ("git rebase main", "", [("branch.rebased", {"branch": "feature/f", "onto": "main", "conflicts": False})]),
        (
            "git fetch && git rebase main",
            "CONFLICT (content)",
            [("branch.rebased", {"branch": "feature/f", "onto": "main", "conflicts": True})],
        ),
        ("git rebase --continue", "", []),
        ("git merge x", "", [("branch.merged", {"name": "x", "target": "feature/f", "conflicts": False})]),
        ("git merge --abort", "", []),
        ("git status", "", []),
    ],
)
def test_branches_that_an_agent_makes_pulls_rebases_and_merges_are_told(
    command: str, output: str, events: list[tuple[str, dict[str, Any]]]
) -> None:
    assert _branch_events(command, output, "feature/f") == events
