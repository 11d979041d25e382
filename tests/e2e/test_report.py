"""`rekindle report` with the real commands: a lie, a check, a cut and a merge are told apart, each with evidence."""

from __future__ import annotations

import json
import os
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.core.inbox.told import TellingBegan, subject
from rekindle.core.streams import TELLING
from rekindle.ports.store import StoreChange, commit_one
from tests.e2e.daemon import Machine, until
from tests.e2e.features import FEATURE, Shop, task
from tests.e2e.test_forged_events import forge, track
from tests.e2e.test_notify import Bell

pytestmark = pytest.mark.timeout(280)
SECRET = "sk-ant-api03-" + "AbCdEfGhIj" * 4
BOOK = """\
[agent.honest]
run = "scripted"
on_idle = { action = "gate", run = "make test" }
"""


def reported(machine: Machine, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = machine.json("report", *words)
    return found


def test_a_check_proves_what_an_agent_says_and_nothing_else_does(shop: Shop) -> None:
    machine = shop.machine
    (shop.root / "Makefile").write_text("test:\n\t@test -f good\n")
    book = machine.home / "book.toml"
    book.write_text(BOOK)
    words = ("write good yes", f"say I used {SECRET}.", "say All tests pass.")
    honest = machine.ok("run", "--runbook", str(book), "honest", "\n".join(words), "--detach").strip()
    machine.until_status(honest, "completed")
    liar = machine.begin("run echo make test", "say <script>alert(1)</script> All 25 tests pass.")
    cut = machine.begin("once k die", "say I am back", options=("--policy", "continue"))
    for session in (liar, cut):
        machine.ok("wait", session)
    machine.kill_daemon()

    found = reported(machine)
    verdicts = {one["session"]: (one["verdict"], one["why"]) for one in found["claims"]}
    assert verdicts[honest] == ("proved", "rekindle ran `make test` on this work, and it ended with 0")
    assert verdicts[liar][0] == "unproved"
    [check] = found["checks"]
    assert (check["command"], check["passed"], check["commit"]) == ("make test", True, shop.git("rev-parse", "HEAD"))
    kinds = [line["kind"] for line in found["lines"] if line["about"] == cut]
    assert (kinds.count("asked"), kinds.count("cut"), kinds.count("resumed"), kinds.count("done")) == (1, 1, 1, 1)
    assert found["totals"]["receipts"] == {"same": 1}
    assert found["totals"]["unpriced_agents"] == ["scripted"]
    assert all(line["evidence"] for line in found["lines"])

    shown = machine.ok("report", "--since", "8h")
    assert "Claimed, not proved (1)" in shown
    page = machine.home / "night.html"
    machine.ok("report", "--out", str(page))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text()
    assert "<script" not in text and "&lt;script&gt;" in text
    for form in (shown, text, machine.ok("report", "--markdown"), json.dumps(found)):
        assert SECRET not in form
    assert reported(machine, "--since", "2026-01-01", "--until", "2026-01-02")["lines"] == []


def test_only_lines_on_our_own_record_prove_what_a_feature_did(shop: Shop) -> None:
    passed: dict[str, object] = {"command": "make lies", "result": "pass", "commit": "ab" * 20, "taskId": "a"}
    lies = [track("check.ran", passed), forge(shop, ("check.ran", dict(passed)))]
    plan = shop.plan(task("a", *lies, "write a.txt a", "say All tests pass.", checks=["test -f a.txt"]))
    shop.machine.ok("run", "--plan", plan)
    found = reported(shop.machine)
    assert [(one["command"], one["passed"]) for one in found["checks"]] == [("test -f a.txt", True)]
    [claim] = found["claims"]
    assert claim["verdict"] == "unproved" and "does not check that" in claim["why"]
    merged = [line for line in found["lines"] if "is merged as commit" in line["text"]]
    assert [line["evidence"][0]["ref"] for line in merged] == [shop.git("rev-parse", f"feature/{FEATURE}")]
    commands = [line["next"] for line in found["lines"] if line["kind"] == "next"]
    assert f"git merge feature/{FEATURE}" in commands
    shop.git("stash", "-u", "-q")
    shop.git("merge", "-q", f"feature/{FEATURE}")
    assert not [line for line in reported(shop.machine)["lines"] if line["next"].startswith("git merge")]


def test_what_somebody_stopped_is_no_failure_and_needs_nobody(shop: Shop) -> None:
    machine = shop.machine
    run = shop.start("run", "--plan", shop.plan(task("a", "sleep 600")))
    until(
        lambda: any("sleep: 600" in machine.said(one["id"]) for one in machine.sessions()), "the task's agent at work"
    )
    machine.ok("stop", FEATURE)
    run.communicate(timeout=60)
    alone = machine.begin("sleep 600")
    machine.until_said(alone, "sleep: 600")
    machine.ok("stop", alone)
    job = machine.json("job", "submit", "sleep 600")["job"]["id"]
    until(lambda: machine.json("job", "show", job)["job"]["status"] == "running", "the job at work")
    machine.ok("job", "cancel", job)
    until(lambda: machine.json("job", "show", job)["job"]["status"] == "cancelled", "the end of the job")
    found = reported(machine)
    assert [one["text"] for one in found["lines"] if one["needs_you"] or one["kind"] in ("failed", "next")] == []
    stopped = {one["about"]: one["text"] for one in found["lines"] if one["kind"] == "stopped" and one["of"] != "all"}
    assert {FEATURE, alone, job} <= set(stopped)
    assert stopped[FEATURE] == "somebody stopped its run"


def test_a_failed_job_needs_you_once_and_not_with_its_session_too(machine: Machine) -> None:
    job = machine.json("job", "submit", "die", "--retries", "0")["job"]["id"]
    until(lambda: machine.json("job", "show", job)["job"]["status"] == "failed", "the end of the job")
    later = machine.json("job", "submit", "say hello", "--at", "2h")["job"]["id"]
    found = reported(machine)
    assert [(one["of"], one["about"]) for one in found["lines"] if one["kind"] == "next"] == [("job", job)]
    [waits] = [one["text"] for one in found["open"] if one["about"] == later]
    assert "it goes on in 1 h 59 min" in waits or "it goes on in 2 h" in waits


def test_programs_find_lines_what_is_open_and_what_was_spent_at_the_top(machine: Machine) -> None:
    machine.ok("wait", machine.begin("say All tests pass."))
    found = reported(machine)
    assert {"lines", "open", "spent"} <= set(found)
    for line in found["lines"]:
        assert isinstance(line["text"], str) and isinstance(line["proved"], bool)
        assert all(one["kind"] and one["id"] for one in line["evidence"]) and line["evidence"]
    [claim] = [line for line in found["lines"] if line["kind"] == "claimed"]
    assert (claim["text"], claim["proved"]) == ("All tests pass.", False)
    assert found["spent"]["tokens"] == sum(one["tokens"] for one in found["spent"]["by_session"]) > 0


def test_the_report_of_the_day_is_told_once_also_by_a_daemon_that_comes_later(machine: Machine) -> None:
    machine.ok("wait", machine.begin("say hello"))
    machine.kill_daemon()
    store = open_store(Path(machine.places.store), now=datetime.now(UTC)).store
    began = TellingBegan(at=time.time() - 3 * 86400)
    commit_one(store, StoreChange(TELLING.kind, subject(began.at), [began]))
    store.close()
    bell = Bell(machine)
    bell.install(notify_report_at=time.strftime("%H:%M"))
    machine.begin("say more")  # starts a daemon: the time of the report is over
    [told] = until(bell.messages, "the report")
    assert told["about"] == "report" and told["title"].startswith("rekindle report: ")
    found = reported(machine, *told["link"].split()[2:])
    assert round((found["until"] - found["since"]) / 3600) in (23, 24, 25)
    assert found["until"] <= told["at"]
    machine.kill_daemon()
    asked = machine.begin("ask Something?")
    until(lambda: len(bell.messages()) == 2, "another message, of the next daemon")
    assert [one["about"] for one in bell.messages()] == ["report", "question"]
    assert asked


def test_what_is_not_a_time_or_cannot_be_written_is_refused_with_the_remedy(machine: Machine) -> None:
    for words in (["--since", "soon"], ["--since", "today", "--until", "yesterday"]):
        refused = machine.run("report", *words)
        assert refused.returncode == 2 and "yesterday, today, 8h" in refused.stderr.replace("\n", " ")
    nowhere = machine.run("report", "--out", os.path.join(str(machine.home), "no", "such", "file.html"))
    assert nowhere.returncode == 1 and "--out" in nowhere.stderr
    assert "Traceback" not in nowhere.stderr
    assert "Nothing happened, and nothing is open." in machine.ok("report")
