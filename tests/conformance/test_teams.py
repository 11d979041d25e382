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
