"""Things that are not what they should be: every command says so, none hangs, and the rest of the repository works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Scratch
from tests.e2e.daemon import BIN
from tests.journals import journal, line

READERS = [["--json"], ["features", "--json"], ["history", "--json"], ["doctor", "--json"]]


def make_bad(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path)


@pytest.mark.parametrize("kind", ["fifo", "folder", "loop"])
def test_one_bad_journal_does_not_take_the_others_down(scratch: Scratch, kind: str) -> None:
    scratch.put("good", journal(line("session.start")))
    make_bad(scratch.journal("bad"), kind)
    for words in READERS:
        done = scratch.run(*words)
        assert "Traceback" not in done.stderr
        assert '"good"' in done.stdout or words[0] == "doctor"
        json.loads(done.stdout)
    assert scratch.json("features")["features"][1]["feature"] == "good"
    for words in (["analyze", "bad"], ["track", "warning", "x", "--feature", "bad"], ["journal", "verify", "bad"]):
        assert scratch.run(*words).returncode in (1, 2)


@pytest.mark.parametrize("name", ["owner.json", "owner.lock", "events.head"])
@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_lies_beside_a_journal_cannot_hang_anybody(scratch: Scratch, name: str, kind: str) -> None:
    scratch.put("auth", journal(line("session.start")))
    make_bad(scratch.journal().parent / name, kind)
    assert scratch.json("analyze", "auth")["interrupted"]
    scratch.ok("track", "warning", "x")


@pytest.mark.parametrize("content", ['{"sid":"aaaa0001","pid":"x"}', '{"sid":1}', "[" * 5000, "garbage", ""])
def test_garbage_is_no_owner(scratch: Scratch, content: str) -> None:
    scratch.put("auth", journal(line("session.start")))
    (scratch.journal().parent / "owner.json").write_text(content)
    assert scratch.json("analyze", "auth")["interrupted"]


def test_an_owner_on_another_host_is_unknown_and_gives_way_only_by_force(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start")))
    elsewhere = {"sid": "aaaa0001", "pid": 5, "machine": "another", "boot": "b", "pidns": "p", "started": 1}
    (scratch.journal().parent / "owner.json").write_text(json.dumps(elsewhere))
    assert not scratch.json("analyze", "auth")["interrupted"]
    assert scratch.run("abandon", "auth").returncode == 4
    scratch.ok("abandon", "auth", "--force")
    assert scratch.lines()[-1]["data"]["reason"] == "user_cancelled"


def test_a_folder_with_a_name_that_is_none_is_left_out(scratch: Scratch) -> None:
    scratch.put("good", journal(line("session.start")))
    for name in ("-dash", ".hidden", "new\nline"):
        (scratch.root / ".claude" / "progress" / name).mkdir()
    (scratch.root / ".claude" / "progress" / "loop").symlink_to("loop")
    for words in READERS:
        assert scratch.run(*words).returncode == 0
    assert [row["feature"] for row in scratch.json("features")["features"]] == ["good"]


def test_a_cache_that_cannot_be_kept_costs_time_only(scratch: Scratch) -> None:
    scratch.put("auth", journal(*[line("tool.invoked", seq=number, note="x" * 300) for number in range(500)]))
    for words in (["features"], ["analyze", "auth"], []):
        scratch.ok(*words, env={"XDG_CACHE_HOME": "/dev/null"})


@pytest.mark.parametrize("words", [["--version"], ["features", "--json"], ["track", "nonsense", "--json"], []])
def test_a_full_standard_output_is_no_traceback(scratch: Scratch, words: list[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [str(BIN / "rekindle"), *words],
            cwd=scratch.root,
            env=scratch.environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_a_closed_standard_output_does_not_turn_success_into_failure(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start")))
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" track warning x >&- <&-', str(BIN / "rekindle")],
        cwd=scratch.root,
        env=scratch.environment(),
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_for_the_agent_does_not_trouble_the_hook(scratch: Scratch, sig: signal.Signals) -> None:
    hook = subprocess.Popen(
        [str(BIN / "rekindle-hook")],
        cwd=scratch.root,
        env=scratch.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not _ignores(hook.pid, sig):
        assert hook.poll() is None
    hook.send_signal(sig)
    out, err = hook.communicate(b'{"hook_event_name":"PostToolUse","tool_name":"Read"}', timeout=30)
    assert (hook.returncode, out, err) == (0, b"", b"")
    assert scratch.lines()[-1]["type"] == "tool.invoked"


def _ignores(pid: int, sig: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next((row.split()[1] for row in status.splitlines() if row.startswith("SigIgn:")), "0")
    return bool(int(mask, 16) >> (sig - 1) & 1)


def test_a_run_that_has_ended_or_never_was_takes_no_event(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start"), line("session.end", seq=1)))
    for sid in ("aaaa0001", "00000000"):
        assert scratch.run("track", "warning", "x", "--run", sid).returncode == 2
    assert len(scratch.lines()) == 2


def test_a_retried_end_of_a_run_is_recognised(scratch: Scratch) -> None:
    scratch.ok("track", "session.start")
    for written in (True, False):
        assert scratch.json("track", "session.end", "--event-id", "e")["written"] is written


def test_a_repository_cannot_send_the_journals_elsewhere(scratch: Scratch) -> None:
    for place in ("/tmp/elsewhere", "../elsewhere"):
        (scratch.root / ".rekindle.toml").write_text(f'progress_dir = "{place}"\n')
        done = scratch.run("track", "session.start")
        assert done.returncode == 2
        assert "progress_dir" in done.stderr


def test_json_in_front_of_a_command_is_not_silently_ignored(scratch: Scratch) -> None:
    assert scratch.run("--json", "features").returncode == 2
