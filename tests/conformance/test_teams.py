"""The promises of agents' teams. Nobody has a fake of them, so the files alone are held to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rekindle.adapters.machine import team
from rekindle.ports.teams import AgentTeams

PORT: AgentTeams = team


def test_a_team_is_written_once_and_then_reused(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert PORT.look(home, "shop", ["a"]) == "missing"
    assert list(tmp_path.iterdir()) == [], "a look changes nothing"
    assert PORT.ensure(home, "shop", {"a": "coder", "b": "coder"}, [{"id": "1"}]) == "written anew"
    assert PORT.ensure(home, "shop", {"a": "coder"}, []) == "reused"
    assert PORT.look(home, "shop", ["a", "b"]) == "reused"
    assert PORT.look(home, "shop", ["a", "c"]) == "lacks agents"
    assert PORT.look(home, "other", []) == "missing"


@pytest.mark.parametrize("old", [b"{", b"[]", b'{"members": 7}', b'{"members": [{"name": "z"}]}'])
def test_a_team_that_does_not_fit_is_written_anew_and_the_old_file_is_kept(tmp_path: Path, old: bytes) -> None:
    PORT.ensure(str(tmp_path), "shop", {"a": "coder"}, [])
    [file] = tmp_path.rglob("config.json")
    file.write_bytes(old)
    assert PORT.ensure(str(tmp_path), "shop", {"a": "coder"}, [{"id": "1"}]) == "written anew"
    assert [member["name"] for member in json.loads(file.read_bytes())["members"]] == ["a"]
    assert old in [one.read_bytes() for one in file.parent.iterdir() if one != file]


@pytest.mark.parametrize(
    ("old", "leader", "members"),
    [
        ({"leader": "z", "members": [{"name": "z", "agentType": "lead"}]}, "z", [("a", "coder"), ("z", "lead")]),
        ({"leader": "a", "members": [{"name": "a", "agentType": "old"}]}, "a", [("a", "coder"), ("b", "coder")]),
        ({"leader": "z", "members": [{"name": "y"}]}, None, [("a", "coder")]),
        ({"leader": ["z"], "members": [{"name": ["z"]}]}, None, [("a", "coder")]),
        ({"members": [{"name": "z"}]}, None, [("a", "coder")]),
    ],
)
def test_whoever_leads_a_team_still_does_when_it_is_written_anew(
    tmp_path: Path, old: object, leader: str | None, members: list[tuple[str, str]]
) -> None:
    PORT.ensure(str(tmp_path), "shop", {"q": "coder"}, [])
    [file] = tmp_path.rglob("config.json")
    file.write_text(json.dumps(old))
    agents = {name: kind for name, kind in members if name in ("a", "b")}
    assert PORT.ensure(str(tmp_path), "shop", agents, []) == "written anew"
    told = json.loads(file.read_bytes())
    assert told.get("leader") == leader
    assert [(one["name"], one["agentType"]) for one in told["members"]] == members
    assert PORT.ensure(str(tmp_path), "shop", agents, []) == "reused"


def test_tasks_are_written_where_claude_code_keeps_them_and_in_its_form(tmp_path: Path) -> None:
    tasks = [
        {"id": "schema", "subject": "Design it", "status": "COMPLETE", "blockedBy": []},
        {"id": "api", "subject": "Build it", "status": "IN_PROGRESS", "blockedBy": ["schema"]},
        {"id": "page", "subject": "Show it", "status": "PENDING", "blockedBy": ["schema", "api", "gone"]},
        {"id": "bad", "subject": "It failed", "status": "FAILED", "blockedBy": []},
    ]
    PORT.ensure(str(tmp_path), "shop", {"a": "coder"}, tasks)
    folder = tmp_path / ".claude" / "tasks" / "shop"
    found = {file.name: json.loads(file.read_bytes()) for file in folder.iterdir()}
    assert sorted(found) == ["1.json", "2.json", "3.json", "4.json"]
    assert found["2.json"] == {
        "id": "2",
        "subject": "api: Build it",
        "description": "",
        "status": "in_progress",
        "blocks": ["3"],
        "blockedBy": ["1"],
    }
    assert [found[name]["status"] for name in sorted(found)] == ["completed", "in_progress", "pending", "pending"]
    assert found["3.json"]["blockedBy"] == ["1", "2"], "a task that is not in the plan blocks nothing"


def test_tasks_that_were_there_before_are_kept_beside_ours(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "tasks" / "shop"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text("a person's own")
    (folder / "7.json").write_text("another one")
    PORT.ensure(str(tmp_path), "shop", {"a": "coder"}, [{"id": "x"}])
    assert json.loads((folder / "1.json").read_bytes())["subject"] == "x: "
    kept = {one.read_text() for one in folder.iterdir() if one.name != "1.json"}
    assert kept == {"a person's own", "another one"}


def test_a_team_that_is_reused_keeps_its_tasks(tmp_path: Path) -> None:
    PORT.ensure(str(tmp_path), "shop", {"a": "coder"}, [{"id": "1"}])
    task = tmp_path / ".claude" / "tasks" / "shop" / "1.json"
    task.write_text("changed by an agent")
    assert PORT.ensure(str(tmp_path), "shop", {"a": "coder"}, [{"id": "1"}]) == "reused"
    assert task.read_text() == "changed by an agent"
