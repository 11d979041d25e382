"""A feature worked by the real Claude Code against the mock model: two tasks, everything killed, resumed, merged."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task
from tests.real.models.server import Request
from tests.real.models.steps import Hang, Reply, Use
from tests.real.stage import ClaudeStage, called
from tests.real.test_drill import check_receipt

pytestmark = pytest.mark.timeout(280)


def writing(claude: ClaudeStage, name: str, then: Reply | Hang) -> None:
    """A model that has a file written for a task, and goes on with `then` when it has the result, once."""
    path = claude.machine.work / ".worktrees" / FEATURE / name / f"{name}.txt"
    use = Use("Write", {"file_path": str(path), "content": f"{name}\n"})

    def is_about(one: Request) -> bool:
        return any(called(name) in text for text in claude.model.user_texts(one))

    def is_asked(one: Request) -> bool:
        return is_about(one) and not claude.model.tool_results(one)

    claude.model.when(is_asked, Reply("I write it.", (use,)), 1)
    claude.model.when(lambda one: is_about(one) and bool(claude.model.tool_results(one)), then, 1)


def session_of(claude: ClaudeStage, name: str) -> str:
    rows = claude.machine.json("ps", "--all")["sessions"]
    return str(next(row["id"] for row in rows if row["title"].endswith(f"Task {name}")))


def test_a_feature_whose_agent_was_killed_goes_on_in_the_same_conversation_and_is_merged(claude: ClaudeStage) -> None:
    shop = Shop(claude.machine)
    writing(claude, "cart", Reply("The cart is there."))
    writing(claude, "form", Hang("I am nearly there"))
    tasks = [task(name, called(name), agent="claude", checks=[f"test -s {name}.txt"]) for name in ("cart", "form")]
    running = shop.start("run", "--plan", shop.plan(*tasks))
    until(lambda: shop.count("task.completed") == {"cart": 1}, "the cart", 120)
    form = session_of(claude, "form")
    claude.machine.until_said(form, "I am nearly there")
    shop.kill_everything()
    running.communicate(timeout=60)
    told = claude.machine.ok("resume", FEATURE)
    assert f"session {form}, attempt 2: same (" in told
    check_receipt(claude, form, "form")
    assert len(claude.turns(form)) == 3, "asked, given the result, and asked once more"
    writes = [one for one in claude.turns(form) if isinstance(one.step, Reply) and one.step.uses]
    assert len(writes) == 1, "the file was written once"
    assert [subject for subject, _ in shop.history()] == ["Merge task cart: Task cart", "Merge task form: Task form"]
    assert shop.git("show", f"feature/{FEATURE}:form.txt") == "form"
    assert shop.count("task.started") == {"cart": 1, "form": 2}
    assert shop.count("branch.merged") == {"cart": 1, "form": 1}
    assert shop.git("status", "--porcelain") == ""
