"""Who works a plan that names no agent, and what its sessions may do: set once, said, recorded, kept by a resume."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task
from tests.e2e.typist import Typist

SLOW = "run sh -c 'test -e ../../../go || sleep 60'"


@pytest.fixture
def shop_with_codex(shop: Shop, tmp_path: Path) -> Shop:
    """Codex is installed: the scripted agent under its name, for both speak ACP."""
    program = tmp_path / "bin" / "codex-acp"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m rekindle.scripted\n")
    program.chmod(0o755)
    variables = {**shop.machine.variables, "PATH": str(program.parent)}
    return replace(shop, machine=replace(shop.machine, variables=variables))


def plan_without_agent(shop: Shop, *tasks: str) -> str:
    path = shop.machine.home / f"{shop.feature}.toml"
    path.write_text(f'feature = "{shop.feature}"\n' + "\n".join(tasks))
    return str(path)


def agents(shop: Shop) -> dict[str, str]:
    """The agent of each session, by its task."""
    return {row["title"]: row["agent"] for row in shop.machine.json("ps", "--all")["sessions"]}


def start_of(shop: Shop) -> dict[str, Any]:
    return dict(shop.events("session.start")[-1]["data"])


def rules(shop: Shop, session: str) -> tuple[str, int | None, float | None]:
    """Permission, tokens and cost that a session was given."""
    found = shop.machine.json("show", session)["session"]
    limits = found["rules"]["limits"]
    return found["permission"], limits["tokens"], limits["cost"]


def test_a_plan_without_an_agent_uses_the_one_that_is_set_says_so_first_and_records_it(shop_with_codex: Shop) -> None:
    shop = shop_with_codex
    shop.machine.ok("config", "set", "agent", "codex")
    shop.machine.ok("config", "set", "permission", "all")
    shop.machine.ok("config", "set", "max_tokens", "70000")
    plan = plan_without_agent(shop, task("a"), task("b", agent="scripted"))
    done = shop.machine.run("run", "--plan", plan)
    assert done.returncode == 0, done.stderr
    first = done.stderr.splitlines()[0]
    assert first == (
        "codex works on the task that names no agent (a), as your settings say; permission all, limits: tokens 70000."
    )
    assert agents(shop) == {"work: Task a": "codex", "work: Task b": "scripted"}
    [planned] = shop.events("plan.created")
    assert [one["agent"] for one in planned["data"]["tasks"]] == ["codex", "scripted"]
    begun = start_of(shop)
    assert (begun["agent"], begun["permission"], begun["limits"]) == ("codex", "all", {"tokens": 70000})
    for row in shop.machine.json("ps", "--all")["sessions"]:
        assert rules(shop, row["id"]) == ("all", 70000, None)


def test_an_option_wins_over_the_settings(shop_with_codex: Shop) -> None:
    shop = shop_with_codex
    shop.machine.ok("config", "set", "agent", "codex")
    shop.machine.ok("run", "--plan", plan_without_agent(shop, task("a")), "--agent", "scripted", "--permission", "deny")
    assert agents(shop) == {"work: Task a": "scripted"}
    assert (start_of(shop)["agent"], start_of(shop)["permission"]) == ("scripted", "deny")


def test_without_any_setting_the_practice_agent_says_what_it_is_before_it_begins(shop: Shop) -> None:
    plan = plan_without_agent(shop, task("a"))
    done = shop.machine.run("run", "--plan", plan)
    assert done.returncode == 0 and "the built-in practice agent does this" in done.stderr
    assert "scripted works on the task that names no agent (a)" in done.stderr
    named = shop.machine.run("run", "--plan", shop.plan(task("c")))
    assert "practice agent" not in named.stderr, "the plan names it"


def test_in_a_terminal_the_installed_agents_are_offered_for_a_plan_too(shop_with_codex: Shop) -> None:
    shop = shop_with_codex
    plan = plan_without_agent(shop, task("a"))
    with Typist(shop.machine, "run", "-d", "--plan", plan) as person:
        person.until_shown("1  codex")
        person.type("1")
        person.until_shown("Always use codex")
        person.type("n")
        assert person.leave() == 0
    until(lambda: shop.events("session.end"), "the end")
    assert agents(shop) == {"work: Task a": "codex"}


def test_a_resume_keeps_what_is_recorded_whatever_is_set_by_then(shop_with_codex: Shop) -> None:
    shop = shop_with_codex
    shop.machine.ok("config", "set", "agent", "codex")
    plan = plan_without_agent(shop, task("a", "write a.txt a", SLOW), task("b", needs=["a"]))
    running = shop.start("run", "--plan", plan, "--permission", "all", "--max-tokens", "70000")
    until((shop.root / ".worktrees" / FEATURE / "a" / "a.txt").exists, "work")
    shop.kill_everything()
    running.communicate(timeout=60)
    shop.machine.ok("config", "set", "agent", "scripted")
    shop.machine.ok("config", "set", "permission", "deny")
    shop.machine.ok("config", "set", "max_cost", "3")
    told = shop.machine.json("resume", FEATURE, "--explain")
    assert told["terms"] == {"agent": "codex", "permission": "all", "limits": {"tokens": 70000}}
    assert told["agent_from"] == "record"
    assert "permission all, limits: tokens 70000" in shop.machine.ok("resume", FEATURE, "--explain")
    (shop.root / "go").write_text("")
    shop.machine.ok("resume", FEATURE)
    assert set(agents(shop).values()) == {"codex"}
    begun = start_of(shop)
    assert (begun["command"], begun["agent"], begun["permission"]) == ("resume", "codex", "all")
    sessions = [row["id"] for row in shop.machine.json("ps", "--all")["sessions"]]
    assert [rules(shop, name) for name in sessions] == [("all", 70000, None)] * 2


def test_a_journal_of_roles_is_worked_by_the_agent_that_is_set_and_explain_says_so(shop_with_codex: Shop) -> None:
    shop = shop_with_codex
    shop.machine.ok("run", "--plan", shop.plan(task("a", checks=["false"])), "--detach")
    until(lambda: shop.events("session.end"), "the end")
    before = shop.journal.read_text().replace('"agent":"scripted"', '"agent":"service-eng"')
    shop.machine.ok("stop", "--all")
    shop.kill_everything()
    shop.put_journal(*before.encode().splitlines())
    said = shop.machine.ok("resume", FEATURE, "--explain")
    assert "tasks that name no agent (a): scripted, the practice agent, because no agent is set" in said
    shop.machine.ok("config", "set", "agent", "codex")
    said = shop.machine.ok("resume", FEATURE, "--explain")
    assert "tasks that name no agent (a): codex, as your settings say" in said and "task a, agent codex" in said
