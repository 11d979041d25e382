"""The worked example of the resume protocol in a real repository with its branches and worktrees, to its end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.features import Shop
from tests.e2e.foretold import Before
from tests.journals import interrupted_in_wave_two, line
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(280)
FEATURE, RUN = "auth-system", "f4e3d2c1"
SCHEMA, API = "work/auth-system/schema-design", "work/auth-system/api-service"


def interrupted(shop: Shop, *, schema_is_there: bool) -> Path:
    """The repository as the interrupted run left it: task 1 merged, task 2 with one commit, in its worktree."""
    api = shop.root / ".worktrees" / FEATURE / "api-service"
    shop.git("branch", f"feature/{FEATURE}", "main")
    schema = shop.machine.home / "schema"
    shop.git("worktree", "add", "-q", "-b", SCHEMA, str(schema), f"feature/{FEATURE}")
    (schema / "schema.ts").write_text("the schema\n")
    shop.git("add", "-A", cwd=schema)
    shop.git("commit", "-q", "-m", "schema", cwd=schema)
    shop.git("switch", "-q", f"feature/{FEATURE}", cwd=schema)
    shop.git("merge", "-q", "--no-ff", "-m", "merge the schema", SCHEMA, cwd=schema)
    shop.git("worktree", "remove", str(schema))
    if not schema_is_there:
        shop.git("branch", "-D", SCHEMA)
    shop.git("worktree", "add", "-q", "-b", API, str(api), f"feature/{FEATURE}")
    (api / "service.ts").write_text("half a service\n")
    shop.git("add", "-A", cwd=api)
    shop.git("commit", "-q", "-m", "half a service", cwd=api)
    told = [json.loads(line) | {"feature": FEATURE} for line in interrupted_in_wave_two(RUN)]
    shop.put_journal(*(json.dumps(event).encode() for event in told))
    return api


@pytest.mark.parametrize("schema_is_there", [True, False])
def test_the_worked_example_is_resumed_to_its_end_agent_by_agent(shop: Shop, schema_is_there: bool) -> None:
    shop = replace(shop, feature=FEATURE)
    api = interrupted(shop, schema_is_there=schema_is_there)
    half, users = shop.git("rev-parse", API), shop.checkout()
    before = Before(shop)
    assert (before.told["case"], before.told["next_step"], before.told["issues"]) == ("A", "wave-2-start", [])
    assert before.told["active_agents"] == [f"service-eng (task 2, branch {API})"]
    assert before.rows("branches") == {SCHEMA: "delete" if schema_is_there else "nothing", API: "go on"}
    assert before.rows("worktrees") == {str(api): "go on"}
    shop.machine.ok("resume", FEATURE, *shop.yes())
    assert before.compare() == []
    assert shop.checkout() == users

    resumed = [event for event in shop.events() if event["sid"] != RUN]
    assert resumed[0]["type"] == "session.start" and resumed[0]["seq"] == 0
    start = {"command": "resume", "feature": FEATURE, "branch": f"feature/{FEATURE}", "mode": "strict", "resumes": RUN}
    assert start.items() <= resumed[0]["data"].items()
    assert len({event["sid"] for event in resumed}) == 1
    assert [event["seq"] for event in resumed] == list(range(len(resumed)))
    [spawned] = [event["data"] for event in resumed if event["type"] == "agent.spawned"]
    assert (spawned["task"], spawned["branch"]) == ("2", API)
    assert [event["data"]["taskId"] for event in resumed if event["type"] == "task.started"] == ["2"]
    assert not [event for event in resumed if event["type"] in ("branch.created", "worktree.created")]

    [session] = shop.machine.json("ps", "--all")["sessions"]
    assert (session["title"], session["cwd"], session["branch"]) == ("work: Build API", str(api), API)
    asked = json.dumps(shop.machine.show(session["id"]))
    assert "Build API" in asked and "half a service" in asked, "the agent is told what its branch holds"

    assert shop.count("task.completed") == {"1": 1, "2": 1}
    assert shop.git("merge-base", "--is-ancestor", half, f"feature/{FEATURE}") == ""
    assert shop.git("show", f"feature/{FEATURE}:service.ts") == "half a service"
    assert shop.git("branch", "--list", "work/*") == "" and not api.exists()
    assert shop.events("session.end")[-1]["data"]["reason"] == "completed"
    analysed = shop.machine.json("analyze", FEATURE)
    assert (analysed["decision"]["case"], analysed["tasks"]) == ("none", {"1": "COMPLETE", "2": "COMPLETE"})
    assert analysed["active_agents"] == []
    assert shop.machine.run("resume", FEATURE).returncode == 2, "nothing is left to resume"


def test_the_team_of_the_interrupted_run_is_made_again_with_what_is_done_and_what_is_not(shop: Shop) -> None:
    shop = replace(shop, feature=FEATURE)
    interrupted(shop, schema_is_there=True)
    shop.machine.ok("resume", FEATURE, *shop.yes())
    team = json.loads((shop.machine.home / ".claude" / "teams" / FEATURE / "config.json").read_text())
    assert [(one["id"], one["status"]) for one in team["tasks"]] == [("1", "COMPLETE"), ("2", "IN_PROGRESS")]
    assert team["tasks"][1]["blockedBy"] == ["1"]


@pytest.mark.parametrize(
    ("started", "marked", "branch"),
    [
        (f"hotfix/{FEATURE}", None, f"hotfix/{FEATURE}"),
        (f"feature/{FEATURE}", f"refactor/{FEATURE}", f"refactor/{FEATURE}"),
        *only_in_soak(("release/next", None, "release/next")),
    ],
)
def test_the_branch_that_the_journal_names_is_the_one_that_is_worked_on(
    shop: Shop, started: str, marked: str | None, branch: str
) -> None:
    shop = replace(shop, feature=FEATURE)
    shop.git("branch", branch, "main")
    plan = {"tasks": [{"id": "1", "summary": "One", "prompt": "write one.txt one"}], "waves": [], "dependencies": []}
    shop.put_journal(
        line("session.start", RUN, 0, command="fix", branch=started, mode="fast", team="the-firm"),
        line("plan.created", RUN, 1, **plan),
        line("checkpoint", RUN, 2, label="plan-ready", branch=marked or started, plan_step="wave-1-start"),
        line("task.started", RUN, 3, taskId="1"),
    )
    team = shop.machine.home / ".claude" / "teams" / "the-firm" / "config.json"
    told = shop.machine.json("resume", FEATURE, "--explain")
    assert (told["branch"], told["team"]) == (branch, "missing")
    shop.machine.ok("resume", FEATURE, *shop.yes())
    start = shop.events("session.start")[-1]["data"]
    assert (start["command"], start["feature"], start["branch"], start["mode"]) == ("resume", FEATURE, branch, "fast")
    assert shop.git("show", f"{branch}:one.txt") == "one"
    assert {event["data"]["target"] for event in shop.events("branch.merged")} == {branch}
    assert shop.git("branch", "--list", "feature/*") == "", "no other branch is made"
    assert team.exists(), "the team has the name that the run gave it"
    assert json.loads((shop.machine.home / ".claude" / "tasks" / "the-firm" / "1.json").read_text())["id"] == "1"
