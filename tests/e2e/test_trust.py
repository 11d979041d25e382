"""`rekindle trust filters` with the real commands: what is shown, asked, remembered, and said elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Scratch
from tests.e2e.features import Shop, task


@pytest.fixture
def filtered(scratch: Scratch) -> Scratch:
    scratch.git("config", "filter.crypt.clean", "tr a-z A-Z")
    scratch.git("config", "filter.crypt.smudge", "tr A-Z a-z")
    (scratch.root / ".gitattributes").write_text("*.key filter=crypt\n")
    return scratch


def test_without_a_terminal_nobody_says_yes(filtered: Scratch) -> None:
    done = filtered.run("trust", "filters")
    assert done.returncode == 3
    assert "tr a-z A-Z" in done.stdout
    assert "rekindle trust filters --yes" in done.stderr
    assert not filtered.json("trust", "filters")["filters"][0]["approved"]


def test_a_yes_is_remembered_until_it_is_taken_back_or_the_definition_changes(filtered: Scratch) -> None:
    assert "filter crypt (approved)" in filtered.ok("trust", "filters", "--yes")
    assert filtered.json("trust", "filters")["filters"] == [
        {
            "kind": "filter",
            "name": "crypt",
            "commands": {"clean": "tr a-z A-Z", "smudge": "tr A-Z a-z"},
            "approved": True,
            "fingerprint": filtered.json("trust", "filters")["filters"][0]["fingerprint"],
        }
    ]
    filtered.git("config", "filter.crypt.clean", "tr a-z B-ZA")
    assert not filtered.json("trust", "filters")["filters"][0]["approved"]
    filtered.git("config", "filter.crypt.clean", "tr a-z A-Z")
    assert filtered.json("trust", "filters")["filters"][0]["approved"]
    assert "not approved" in filtered.ok("trust", "filters", "--forget")
    assert filtered.run("trust", "filters", "--yes", "--forget").returncode == 2


def test_an_agent_cannot_say_yes(filtered: Scratch) -> None:
    done = filtered.run("trust", "filters", "--yes", env={"REKINDLE_STAMP": "x"})
    assert done.returncode == 4
    assert not filtered.json("trust", "filters")["filters"][0]["approved"]


def test_doctor_names_it(filtered: Scratch) -> None:
    told = filtered.json("doctor")["findings"]
    assert [one["remedy"] for one in told if "'crypt'" in one["what"]] == ["rekindle trust filters"]
    filtered.ok("trust", "filters", "--yes")
    assert not [one for one in filtered.json("doctor")["findings"] if "'crypt'" in one["what"]]


def test_a_repository_without_filters_has_nothing_to_approve(scratch: Scratch) -> None:
    assert "no filters and no merge drivers" in scratch.ok("trust", "filters")


def test_a_plan_leaves_such_files_alone_and_its_journal_says_so(shop: Shop) -> None:
    shop.git("config", "filter.crypt.clean", "tr a-z A-Z")
    (shop.root / ".gitattributes").write_text("*.key filter=crypt\n")
    shop.git("add", ".gitattributes")
    shop.git("commit", "-q", "-m", "attributes")
    plan = shop.plan(task("one", "write one.txt one", "write one.key open"))
    shop.machine.run("run", "--plan", plan)
    journal = shop.root / ".claude" / "progress" / shop.feature / "events.jsonl"
    warned = [
        event["data"]["message"]
        for event in map(json.loads, journal.read_text().splitlines())
        if event["type"] == "warning.logged"
    ]
    assert any("one.key is not committed" in message for message in warned), warned
    assert any("neither committed nor snapshotted" in message for message in warned)
    listed = shop.git("ls-tree", "-r", "--name-only", "feature/shop").split()
    assert "one.txt" in listed
    assert "one.key" not in listed
    (kept,) = Path(shop.root, ".worktrees").rglob("one.key")
    assert kept.read_text().strip() == "open"
