"""The hook client: quick, silent, and never in the agent's way."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rekindle.hooks.install import command_of
from rekindle.hooks.observe import program_of
from tests.e2e.conftest import Scratch
from tests.e2e.daemon import BIN
from tests.journals import journal, line


def call(scratch: Scratch, payload: Any, **env: str) -> subprocess.CompletedProcess[bytes]:
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return subprocess.run(
        [str(BIN / "rekindle-hook")],
        cwd=scratch.root,
        env=scratch.environment(**env),
        input=raw,
        capture_output=True,
        timeout=30,
        check=False,
    )


def hook(scratch: Scratch, name: str, session: str = "11112222-aaaa", **fields: Any) -> None:
    done = call(scratch, {"session_id": session, "cwd": str(scratch.root), "hook_event_name": name, **fields})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def log(scratch: Scratch) -> str:
    file = scratch.home / ".local" / "state" / "rekindle" / "hook.log"
    return file.read_text() if file.exists() else ""


def test_a_pull_is_told_with_how_far_the_branch_is_from_its_upstream(scratch: Scratch, tmp_path: Path) -> None:
    hook(scratch, "SessionStart", source="startup")
    pull: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "git pull"}}
    hook(scratch, "PostToolUse", **pull)
    scratch.git("clone", "-q", "--bare", str(scratch.root), str(tmp_path / "origin.git"))
    scratch.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    scratch.git("fetch", "-q", "origin")
    scratch.git("branch", "-q", "--set-upstream-to", "origin/feature/auth")
    for number in range(2):
        scratch.git("commit", "-q", "--allow-empty", "-m", f"mine {number}")
    hook(scratch, "PostToolUse", **pull)
    scratch.git("reset", "-q", "--hard", "HEAD~2")
    scratch.git("push", "-q", "origin", "HEAD@{1}:feature/auth")
    hook(scratch, "PostToolUse", **pull)
    pulled = [event["data"] for event in scratch.lines() if event["type"] == "branch.pulled"]
    assert pulled == [
        {"branch": "feature/auth", "behind": None, "ahead": None},
        {"branch": "feature/auth", "behind": 0, "ahead": 2},
        {"branch": "feature/auth", "behind": 2, "ahead": 0},
    ]


def test_an_agent_session_becomes_a_run(scratch: Scratch) -> None:
    hook(scratch, "SessionStart", source="startup")
    path = str(scratch.root / "src" / "a.py")
    hook(scratch, "PostToolUse", tool_name="Write", tool_input={"file_path": path}, tool_response={"type": "create"})
    hook(scratch, "PostToolUse", tool_name="Edit", tool_input={"file_path": path}, tool_response={}, duration_ms=7)
    hook(scratch, "PostToolUse", tool_name="Bash", tool_input={"command": "git checkout -b work/auth/x main && ls"})
    merged = {"stdout": "CONFLICT (content)"}
    hook(scratch, "PostToolUse", tool_name="Bash", tool_input={"command": "git merge topic"}, tool_response=merged)
    hook(scratch, "Stop")
    hook(scratch, "SessionEnd", reason="other")
    events = [(event["type"], event["data"]) for event in scratch.lines()]
    assert [type_ for type_, _ in events] == [
        *("session.start", "tool.invoked", "file.created", "tool.invoked", "file.modified"),
        *("tool.invoked", "branch.created", "tool.invoked", "branch.merged", "turn.finished", "session.end"),
    ]
    assert events[2][1] == {"path": "src/a.py", "reason": "Write"}
    assert events[4][1] == {"path": "src/a.py", "reason": "Edit"}
    assert events[3][1] == {"tool": "Edit", "target": "src/a.py", "duration_ms": 7}
    assert events[6][1] == {"name": "work/auth/x", "parent": "main"}
    assert events[8][1] == {"name": "topic", "target": "feature/auth", "conflicts": True}
    assert events[-1][1]["reason"] == "completed"
    assert {event["sid"] for event in scratch.lines()} == {scratch.lines()[0]["sid"]}
    assert [event["seq"] for event in scratch.lines()] == list(range(11))
    assert log(scratch) == ""


def test_an_end_in_mid_turn_is_an_interruption_unless_the_user_wanted_it(scratch: Scratch) -> None:
    hook(scratch, "SessionStart", source="startup")
    hook(scratch, "PostToolUse", tool_name="Read", tool_input={"file_path": "x"})
    hook(scratch, "SessionEnd", reason="other")
    (scratch.journal().parent / "owner.json").unlink()
    assert scratch.json("analyze", "auth")["interrupted"]
    hook(scratch, "SessionEnd", reason="clear")
    assert scratch.lines()[-1]["data"]["reason"] == "user_cancelled"
    hook(scratch, "SessionStart", source="clear")
    assert scratch.lines()[-1]["type"] == "session.start"


def test_the_hook_keeps_the_journal_out_of_version_control(scratch: Scratch) -> None:
    hook(scratch, "SessionStart", source="startup")
    assert scratch.git("status", "--porcelain") == ""


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_link_in_the_journals_place_is_not_written_through(scratch: Scratch, link: str) -> None:
    folder = scratch.journal().parent
    if link == "file":
        folder.mkdir(parents=True)
        scratch.journal().symlink_to(scratch.home / "victim")
    else:
        folder.parent.mkdir(parents=True)
        folder.symlink_to(scratch.home)
    hook(scratch, "PostToolUse", tool_name="Read", tool_input={})
    assert not (scratch.home / "victim").exists()
    assert not (scratch.home / "events.jsonl").exists()
    assert "cannot be opened" in log(scratch)
    assert scratch.run("track", "session.start").returncode in (1, 2)


def test_the_same_session_started_again_continues_its_run(scratch: Scratch) -> None:
    hook(scratch, "SessionStart", source="startup")
    (scratch.journal().parent / "owner.json").unlink()
    hook(scratch, "SessionStart", source="resume")
    first, second = scratch.lines()
    assert (second["data"]["command"], second["data"]["resumes"]) == ("resume", first["sid"])
    hook(scratch, "SessionStart", source="compact")
    assert len(scratch.lines()) == 2


def test_a_run_whose_agent_lives_is_not_interrupted(scratch: Scratch) -> None:
    program = (
        "import subprocess,sys; subprocess.run([sys.argv[1]],input=sys.stdin.buffer.read(),check=True);"
        "print('up',flush=True); sys.stdin2=open('/dev/fd/3'); sys.stdin2.read()"
    )
    read, write = os.pipe()
    payload = {"session_id": "s", "cwd": str(scratch.root), "hook_event_name": "SessionStart", "source": "startup"}
    agent = subprocess.Popen(
        [sys.executable, "-c", program.replace("/dev/fd/3", f"/dev/fd/{read}"), str(BIN / "rekindle-hook")],
        env=scratch.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[read],
    )
    os.close(read)
    assert agent.stdin is not None
    assert agent.stdout is not None
    with agent.stdin, agent.stdout:
        agent.stdin.write(json.dumps(payload).encode())
        agent.stdin.close()
        assert agent.stdout.readline() == b"up\n"
        assert not scratch.json("analyze", "auth")["interrupted"]
        os.close(write)
        agent.wait(20)
    assert scratch.json("analyze", "auth")["interrupted"]


def test_a_supervised_agent_reports_to_the_run_of_its_supervisor(scratch: Scratch) -> None:
    scratch.put("other", journal(line("session.start", "cafe0000")))
    done = call(
        scratch,
        {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {}},
        REKINDLE_FEATURE="other",
        REKINDLE_SID="cafe0000",
        REKINDLE_AGENT="alpha",
    )
    assert done.returncode == 0
    assert (scratch.lines("other")[-1]["sid"], scratch.lines("other")[-1]["agent"]) == ("cafe0000", "alpha")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"garbage",
        b"[]",
        b"\xff\0",
        b"[" * 100_000,
        {"hook_event_name": "PostToolUse", "tool_name": 5},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": 7}},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "git 'unbalanced"}},
        {"hook_event_name": ["x"], "cwd": 5, "session_id": {}},
        {"hook_event_name": "SessionStart", "source": "startup", "cwd": "/no/such/folder"},
        {"hook_event_name": "PostToolUse", "tool_name": "x" * 2_000_000, "tool_input": {"file_path": "y" * 2_000_000}},
    ],
)
def test_whatever_comes_in_it_exits_0_and_says_nothing(scratch: Scratch, payload: Any) -> None:
    done = call(scratch, payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    if isinstance(payload, bytes):
        assert log(scratch).count("\n") == 1


def test_a_held_lock_does_not_hold_the_agent(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start")))
    with scratch.journal().open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        began = time.monotonic()
        hook(scratch, "PostToolUse", tool_name="Read", tool_input={})
        assert time.monotonic() - began < 10
    assert "lock" in log(scratch)


def test_a_journal_that_cannot_be_written_is_logged_and_forgotten(scratch: Scratch) -> None:
    (scratch.root / ".claude").write_text("in the way")
    hook(scratch, "PostToolUse", tool_name="Read", tool_input={})
    assert "cannot be opened" in log(scratch)


def test_no_feature_means_nothing_to_do(scratch: Scratch) -> None:
    scratch.git("checkout", "-q", "-b", "main")
    hook(scratch, "PostToolUse", tool_name="Read", tool_input={})
    assert not (scratch.root / ".claude").exists()
    assert log(scratch) == ""


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("pytest tests/unit -q", "pytest"),
        ("git commit -m secret", "git commit"),
        ("git hunter2", "git"),
        ("API_KEY=sk-1234 curl https://x", ""),
        ("curl -H 'Authorization: Bearer sk-1' https://x", "curl"),
        ("mysql -psecret", "mysql"),
        ("vault login hvs.CAES", "vault"),
        ("/usr/bin/sshpass -p hunter2", "sshpass"),
        ("$(cat secret)", ""),
    ],
)
def test_no_secret_of_a_command_reaches_the_journal(command: str, kept: str) -> None:
    assert program_of(command) == kept


def test_the_client_imports_nothing_but_the_standard_library(scratch: Scratch) -> None:
    program = (
        "import sys, io, json; from rekindle.hooks import client; import rekindle.hooks.observe;"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps({'hook_event_name': 'SessionStart', 'source': 'startup',"
        "'session_id': 's'}).encode())); client.note();"
        "print([n for n in sys.modules if n.split('.')[0] not in sys.stdlib_module_names | {'rekindle', '__main__'}])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; {program}"],
        cwd=scratch.root,
        env=scratch.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
    assert len(scratch.lines()) == 1


def settings_of(scratch: Scratch) -> Path:
    return scratch.root / ".claude" / "settings.json"


def test_install_and_uninstall_leave_everything_else_alone(scratch: Scratch) -> None:
    file = settings_of(scratch)
    file.parent.mkdir()
    theirs = {
        "model": "opus",
        "hooks": {
            "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "my-rekindle-hook-not"}]}],
            "Stop": [],
        },
        "größe": ["é"],
    }
    file.write_text(json.dumps(theirs, indent=4, ensure_ascii=False))
    scratch.ok("hooks", "install")
    once = file.read_text()
    assert "    " in once.splitlines()[1]
    assert json.loads(once)["hooks"]["PostToolUse"][0] == theirs["hooks"]["PostToolUse"][0]  # type: ignore[index]
    scratch.ok("hooks", "install")
    assert file.read_text() == once
    scratch.ok("hooks", "uninstall")
    left = json.loads(file.read_text())
    assert left["hooks"]["PostToolUse"] == theirs["hooks"]["PostToolUse"]  # type: ignore[index]
    assert (left["model"], left["größe"]) == ("opus", ["é"])
    assert 'rekindle-hook"' not in file.read_text()


@pytest.mark.parametrize(
    "before",
    [
        "rekindle-hook",
        "'/an old place/bin/rekindle-hook'",
        command_of("/an old place/bin/rekindle-hook"),
        command_of("/it's\nold/rekindle-hook"),
        "[ -S ~/.local/state/rekindle/hook.sock ] && LC_ALL=C exec rekindle-hook-direct; exec rekindle-hook",
    ],
    ids=["a name", "a place", "a place with two programs", "an odd place", "no trap"],
)
def test_what_an_earlier_version_installed_is_replaced(scratch: Scratch, before: str) -> None:
    file = settings_of(scratch)
    file.parent.mkdir()
    theirs = "[ -e x ] && exec other; exec rekindle-hook"
    old = [{"type": "command", "command": one} for one in (before, theirs)]
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": old}]}}))
    scratch.ok("hooks", "install")
    stop = json.loads(file.read_text())["hooks"]["Stop"]
    assert [[one["command"] for one in group["hooks"]] for group in stop] == [[command_of("rekindle-hook"), theirs]]
    scratch.ok("hooks", "uninstall")
    stop = json.loads(file.read_text())["hooks"]["Stop"]
    assert [one["command"] for one in stop[0]["hooks"]] == [theirs], "what somebody else wrote is not ours"


@pytest.mark.parametrize("content", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// comment\n{}"])
def test_settings_that_are_not_understood_are_not_touched(scratch: Scratch, content: str) -> None:
    file = settings_of(scratch)
    file.parent.mkdir()
    file.write_text(content)
    done = scratch.run("hooks", "install")
    assert done.returncode == 2
    assert "settings.json" in done.stderr
    assert file.read_text() == content
    assert list(file.parent.iterdir()) == [file]
