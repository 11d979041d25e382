"""Plans as a person runs them: what is refused before anything begins, and in whose name the work is done."""

from __future__ import annotations

import pytest

from tests.e2e.features import FEATURE, Shop, task


@pytest.mark.parametrize(
    ("wrong", "head", "named", "remedy"),
    [
        (
            {"agent": "claude"},
            "",
            "task 'b' wants Claude Code, and there is no program 'claude'",
            "npm install --global",
        ),
        ({"reviewer": "gemini"}, "", "there is no program 'gemini'", "npm install --global @google/gemini-cli"),
        ({"agent": "nobody"}, "", "task 'b' wants an agent 'nobody'", "there are: "),
        ({}, 'base = "nowhere"', "there is no commit 'nowhere'", "`base`"),
        ({"checks": ["true && true"]}, "", "has '&&'", '["sh", "-c", "true && true"]'),
    ],
)
def test_a_plan_that_cannot_be_worked_is_refused_before_anything_is_written(
    shop: Shop, wrong: dict[str, str], head: str, named: str, remedy: str
) -> None:
    plan = shop.plan(task("a"), task("b", **wrong), head=head)
    refused = shop.machine.run("run", "--plan", plan, PATH=shop.path_without_agents())
    assert refused.returncode == 2
    assert named in refused.stderr and remedy in refused.stderr
    assert not shop.journal.parent.exists()
    assert shop.machine.json("features")["features"] == []
    assert shop.machine.json("ps", "--all")["sessions"] == []
    assert shop.git("branch", "--list", f"*{FEATURE}*") == ""
