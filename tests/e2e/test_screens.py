"""What a person looks at first: `rekindle`, `ps` and `features` on a real terminal, by the real commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine
from tests.e2e.features import FEATURE, Shop, task
from tests.e2e.terminal import shown_on_terminal

pytestmark = pytest.mark.timeout(240)


def test_nobody_who_wants_no_colours_gets_any(machine: Machine) -> None:
    session = machine.begin("say hello\nask May I?")
    machine.until_status(session, "asking")
    for words in ((), ("ps", "--all"), ("logs", session)):
        coloured, plain = (shown_on_terminal(machine, *words, NO_COLOR=value) for value in ("", "1"))
        assert "\x1b[" in coloured, words
        assert "\x1b" not in plain, words
        assert "\x1b" not in shown_on_terminal(machine, *words, TERM="dumb"), words


def test_resuming_all_does_not_tell_of_what_is_finished(machine: Machine) -> None:
    done, cut = machine.begin("say hello"), machine.begin("say begun\nsleep 600")
    machine.until_said(done, "finished")
    machine.ok("stop", "--completed", done)
    machine.until_said(cut, "begun")
    machine.kill(machine.pids(cut)["agent"])
    machine.until_status(cut, "interrupted")
    told = machine.ok("resume", "--all")
    assert cut in told and done not in told
    assert done in [one["id"] for one in machine.json("resume", "--all")["skipped"]]


def test_without_a_daemon_a_list_tells_what_the_daemon_tells(machine: Machine) -> None:
    """Where a session works, what it has used and what was proved: other programs rely on these."""
    session = machine.begin("say hello", "sleep 600")
    machine.until_said(session, "sleep: 600")
    keys = ("repository", "branch", "task", "turn_since", "usage", "receipt", "cwd", "status", "why", "next")
    [online] = machine.json("ps", "--all")["sessions"]
    machine.kill_daemon()
    [offline] = machine.json("ps", "--all")["sessions"]
    assert {key: offline[key] for key in keys} == {key: online[key] for key in keys}
    assert offline["usage"]["tokens"] >= 0 and offline["turn_since"] > 0
    shown = shown_on_terminal(machine, "ps", NO_COLOR="1")
    assert "turn " in shown and shown.splitlines()[0].split() == ["SESSION", "STATUS", "AGENT", "AGE", "TITLE"]


def test_ps_can_be_asked_for_what_is_here_and_for_what_needs_somebody(machine: Machine, tmp_path: Path) -> None:
    works, asks = machine.begin("say begun", "sleep 600"), machine.begin("ask May I list files?")
    machine.until_said(works, "begun")
    machine.until_status(asks, "asking")
    elsewhere = replace(machine, work=tmp_path / "elsewhere")
    elsewhere.work.mkdir()
    assert [row["id"] for row in machine.json("ps", "--needs-you")["sessions"]] == [asks]
    assert {row["id"] for row in machine.json("ps", "--here")["sessions"]} == {works, asks}
    assert elsewhere.json("ps", "--here")["sessions"] == []
    assert "No sessions here" in elsewhere.ok("ps", "--here")
    assert "Nothing needs you here" in elsewhere.ok("ps", "--here", "--needs-you")
    for words in ((), ("ps",)):
        told = machine.ok(*words)
        assert "it asks: " in told and "May I list files?" in told and f"next: rekindle answer {asks}" in told
        assert told.strip() == told.rstrip("\n")
        assert told.index("Needs you (1)") < told.index(asks) < told.index("Working (1)") < told.index(works)


def test_a_failed_feature_is_named_with_its_reason_and_its_sessions_come_back_with_it(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", "write b.txt b", checks=["false"]))
    assert shop.machine.run("run", "--plan", plan).returncode == 1
    told = shop.machine.ok()
    assert told.index("Failed:") < told.index(f"next: rekindle resume {FEATURE}")
    assert "1 of 2 tasks done, 1 failed" in told and "task b: " in told
    assert "No feature is interrupted" not in told
    assert [line.split()[:2] for line in shop.machine.ok("features").splitlines()[1:]] == [[FEATURE, "failed"]]
    for row in shop.machine.json("ps", "--all")["sessions"]:
        assert row["next"] in ("", f"rekindle resume {FEATURE}")
