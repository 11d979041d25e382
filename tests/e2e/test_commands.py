"""The commands as a user types them."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from rekindle import __version__
from tests.e2e.conftest import Scratch
from tests.e2e.daemon import BIN
from tests.journals import interrupted_in_wave_two, journal, line


def test_the_bare_command_tells_what_is_interrupted_and_what_to_type_next(scratch: Scratch) -> None:
    scratch.put("auth-system", journal(*interrupted_in_wave_two()))
    first, again = scratch.ok(), scratch.ok()
    assert first == again, "what is kept in the cache must read the same"
    assert "On branch feature/auth (feature auth)" in first
    assert "wave-2-start" in first
    assert "next: rekindle resume auth-system" in first
    assert json.loads(scratch.ok("--json"))["features"]["auth-system"]["case"] == "A"


def test_a_journal_without_a_plan_promises_no_resume(scratch: Scratch) -> None:
    """One that is kept by hand: there is nothing that rekindle could work."""
    for words in (("session.start",), ("started", "--task", "1"), ("done", "--task", "1")):
        scratch.ok("track", *words)
    scratch.ok("checkpoint", "wave-1", "--next", "wave-2-start")
    told = scratch.ok()
    assert "next step: wave-2-start" in told and "no plan" in told
    assert "no input needed" not in told and "rekindle resume" not in told
    [typed] = re.findall(r"next: rekindle (.+)", told)
    assert scratch.run(*shlex.split(typed)).returncode == 0, "what it says to type works"
    told = scratch.ok("analyze", "auth")
    assert "The journal has no plan" in told and "rekindle resume" not in told


def test_the_bare_command_notices_that_a_journal_grew(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start")))
    assert "Interrupted" in scratch.ok()
    scratch.put("auth", journal(line("session.start"), line("session.end", seq=1, reason="completed")))
    assert "No feature is interrupted" in scratch.ok()


def test_the_bare_command_names_what_ended_with_an_error_because_that_can_be_resumed(scratch: Scratch) -> None:
    for name, reason in (("good", "completed"), ("bad", "error")):
        scratch.put(name, journal(line("session.start"), line("session.end", seq=1, reason=reason)))
    told = scratch.ok()
    assert "nothing to resume" not in told
    assert "next: rekindle resume bad" in told and "rekindle resume good" not in told
    assert "rekindle resume bad" in scratch.ok("analyze", "bad")
    assert "rekindle resume" not in scratch.ok("analyze", "good")


def test_the_bare_command_in_a_repository_without_journals(scratch: Scratch) -> None:
    assert "No feature has a journal yet" in scratch.ok()


def test_outside_of_a_repository_it_says_so(scratch: Scratch) -> None:
    done = scratch.run(cwd=scratch.home)
    assert done.returncode == 2
    assert "not in a git repository" in done.stderr


def test_version(scratch: Scratch) -> None:
    assert scratch.ok("--version") == f"rekindle {__version__}\n" == scratch.ok("-V")


def test_a_run_from_start_to_end(scratch: Scratch) -> None:
    scratch.ok("track", "session.start", "--data", '{"mode": "strict"}')
    scratch.ok("track", "plan.created", "--data", '{"tasks": [{"id": "1", "summary": "s"}, {"id": 2}]}')
    scratch.ok("track", "started", "--task", "1", "--agent", "alpha", "--file", "a.py", "Write it")
    scratch.ok("track", "done", "--task", "1", "--file", "a.py")
    scratch.ok("track", "qa-passed", "--task", "1")
    scratch.ok("checkpoint", "wave-1", "--next", "wave-2-start")
    scratch.ok("track", "failed", "--task", "2", "no luck")
    scratch.ok("track", "error", "boom", "--data", '{"resolved": true}')
    scratch.ok("track", "blocker", "--task", "2", "stuck")
    scratch.ok("track", "warning", "careful")
    found = scratch.json("analyze", "auth")
    assert found["decision"] == {"case": "B", "next_step": "wave-2-start", "restart_tasks": ["2"]}
    assert found["tasks"] == {"1": "COMPLETE", "2": "FAILED"}
    assert [issue["message"] for issue in found["issues"]] == ["no luck", "stuck"]
    assert [event["seq"] for event in scratch.lines()] == list(range(10))
    assert {event["v"] for event in scratch.lines()} == {1}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["ts"]) for event in scratch.lines())
    scratch.ok("track", "session.end")
    end = scratch.lines()[-1]["data"]
    assert (end["reason"], end["tasks_completed"]) == ("completed", 1)
    assert scratch.json("analyze", "auth")["decision"]["case"] == "none"


def test_what_is_tracked_is_written_with_the_whole_envelope_and_all_of_its_data(scratch: Scratch) -> None:
    plan = {
        "tasks": [{"id": "1", "summary": "s", "agent": "alpha"}, {"id": "2"}],
        "waves": [{"wave": 1, "task_ids": ["1"]}],
        "dependencies": [{"task_id": "2", "blocked_by": "1"}],
    }
    error = {"file": "a.py", "line": 4, "attempts": 2, "resolved": True}
    for words in (
        ("session.start", "--data", '{"mode": "strict", "command": "fix"}'),
        ("plan.created", "--data", json.dumps(plan)),
        ("started", "--task", "1", "--agent", "alpha", "--file", "a.py", "Write it"),
        ("done", "--task", "1", "--file", "a.py", "--file", "b.py", "Wrote it"),
        ("failed", "--task", "2", "no luck", "--data", '{"attempts": 3}'),
        ("error", "boom", "--data", json.dumps(error)),
        ("blocker", "--task", "2", "--agent", "alpha", "stuck"),
        ("warning", "careful", "--data", '{"context": "lint"}'),
    ):
        scratch.ok("track", *words)
    scratch.ok("checkpoint", "wave-1", "--next", "wave-2-start")
    pending = scratch.json("analyze", "auth")["tasks"]
    scratch.ok("track", "session.end")
    events = scratch.lines()
    envelope = {"v", "ts", "sid", "seq", "type", "feature", "agent", "pane_id", "data"}
    assert all(envelope <= set(event) for event in events)
    assert {(event["v"], event["feature"], event["pane_id"]) for event in events} == {(1, "auth", None)}
    [sid] = {event["sid"] for event in events}
    assert re.fullmatch("[0-9a-f]{8}", sid)
    assert [event["seq"] for event in events] == list(range(len(events)))
    told = {event["type"]: event["data"] for event in events}
    start = {"command": "fix", "feature": "auth", "branch": "feature/auth", "mode": "strict"}
    assert told["session.start"].items() >= start.items()
    assert told["plan.created"] == plan
    assert told["task.started"] == {"taskId": "1", "summary": "Write it", "agent": "alpha", "files": ["a.py"]}
    completed = {"taskId": "1", "summary": "Wrote it", "files_changed": ["a.py", "b.py"]}
    assert told["task.completed"].items() >= completed.items()
    assert told["task.failed"] == {"taskId": "2", "error": "no luck", "attempts": 3}
    assert told["error.encountered"] == {**error, "error": "boom"}
    assert told["blocker.reported"] == {"description": "stuck", "agent": "alpha", "task": "2"}
    assert told["warning.logged"] == {"message": "careful", "context": "lint"}
    mark = {"label": "wave-1", "branch": "feature/auth", "plan_step": "wave-2-start", "resumable": True}
    assert told["checkpoint"] == mark
    assert told["session.end"].keys() == {"reason", "duration_s", "tasks_completed"}
    assert told["session.end"]["tasks_completed"] == 1 and told["session.end"]["duration_s"] >= 0
    assert pending == {"1": "COMPLETE", "2": "FAILED"}


@pytest.mark.parametrize("variable", ["TMUX_PANE", "ZELLIJ_PANE_ID"])
def test_the_pane_of_a_terminal_multiplexer_is_in_the_event(scratch: Scratch, variable: str) -> None:
    scratch.ok("track", "session.start", env={variable: "%7"})
    scratch.ok("track", "warning", "x")
    assert [event["pane_id"] for event in scratch.lines()] == ["%7", None]


def test_every_worktree_shares_the_journal(scratch: Scratch) -> None:
    scratch.ok("track", "session.start")
    tree = scratch.root.parent / "tree"
    scratch.git("worktree", "add", "-q", "-b", "work/auth/api", str(tree))
    (tree / "deep").mkdir()
    scratch.ok("track", "started", "--task", "1", cwd=tree / "deep")
    assert [event["type"] for event in scratch.lines()] == ["session.start", "task.started"]
    assert "Interrupted" in scratch.ok(cwd=tree)


def test_the_progress_folder_is_excluded_once_and_git_sees_nothing(scratch: Scratch) -> None:
    scratch.ok("track", "session.start")
    scratch.ok("track", "started", "--task", "1")
    exclude = (scratch.root / ".git" / "info" / "exclude").read_text().splitlines()
    assert exclude.count("/.claude/progress/") == 1
    assert scratch.git("status", "--porcelain") == ""


def test_a_tracked_journal_is_refused_with_the_remedy(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start")))
    scratch.git("add", "-f", ".claude/progress")
    before = scratch.journal().read_bytes()
    done = scratch.run("track", "started", "--task", "1")
    assert done.returncode == 2
    assert "git rm -r --cached .claude/progress" in done.stderr
    assert scratch.journal().read_bytes() == before


def test_a_bare_repository_keeps_its_journals_in_the_git_folder(scratch: Scratch) -> None:
    bare = scratch.root.parent / "bare.git"
    scratch.git("clone", "-q", "--bare", str(scratch.root), str(bare))
    scratch.ok("track", "session.start", "--feature", "auth", cwd=bare)
    assert (bare / ".claude" / "progress" / "auth" / "events.jsonl").exists()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a\nb", "\x1b[2J", "x" * 300, "", ".", "a/b"])
@pytest.mark.parametrize("option", ["--feature", "--task", "--agent"])
def test_names_that_could_do_harm_get_exit_status_2_and_a_sentence(scratch: Scratch, option: str, name: str) -> None:
    done = scratch.run("track", "warning", "x", f"{option}={name}")
    assert done.returncode == 2
    assert "name" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (scratch.root / ".claude").exists()


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["analyze", "nope"], 2, "no_such_feature"),
        (["analyze", "no/such.jsonl"], 2, "no_such_feature"),
        (["analyze", "auth", "--nonsense"], 2, "usage"),
        (["track", "started"], 2, "bad_event"),
        (["track", "startd"], 2, "bad_event"),
        (["track", "warning", "--data", "{"], 2, "bad_event"),
        (["track", "warning", "--data", "[]"], 2, "bad_event"),
        (["track", "warning", "--data", '{"x": NaN}'], 2, "bad_event"),
        (["track", "warning", "hi"], 2, "no_open_run"),
        (["abandon", "nope"], 2, "no_such_feature"),
        (["nonsense"], 2, "usage"),
        (["run", "hi", "--max-cost", "nan"], 2, "usage"),
        (["run", "hi", "--max-cost", "1e400"], 2, "usage"),
    ],
)
def test_errors_are_one_line_or_one_object(scratch: Scratch, words: list[str], status: int, code: str) -> None:
    plain = scratch.run(*words)
    assert (plain.returncode, plain.stdout) == (status, "")
    assert plain.stderr.startswith("rekindle: ")
    assert plain.stderr.count("\n") == 1
    told = scratch.run(*words, "--json")
    assert (told.returncode, told.stderr) == (status, "")
    error = json.loads(told.stdout)["error"]
    assert error["code"] == code
    assert error["message"]
    assert set(error) == {"code", "message", "hint"}


def test_analyze_takes_a_path_and_asks_for_no_repository(scratch: Scratch) -> None:
    file = scratch.home / "events.jsonl"
    file.write_bytes(b"")
    done = scratch.run("analyze", str(file), "--json", cwd=scratch.home)
    assert json.loads(done.stdout)["sid"] is None
    assert list(scratch.home.glob("*.jsonl")) == [file], "analyze reads only"


def test_analyze_prints_a_screen_without_control_characters(scratch: Scratch) -> None:
    scratch.put(
        "auth", journal(line("session.start"), line("error.encountered", seq=1, error="\x1b[31mred\x07"), b"garbage")
    )
    out = scratch.ok("analyze", "auth")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "unreadable lines: 3" in out
    assert "B. Restart with a new plan" in out
    assert "Restart with the plan" not in out, "there is none: its writer was killed before it was recorded"


def test_analyze_shows_the_worked_example_as_a_person_reads_it(scratch: Scratch) -> None:
    lines = (Path(__file__).parents[1] / "golden" / "journal" / "interrupted.jsonl").read_bytes()
    scratch.put("auth-system", lines)
    out = scratch.ok("analyze", "auth-system")
    for sentence in (
        'Resume analysis for feature "auth-system"',
        "Run f4e3d2c1 (implement) never ended: interrupted after 11 events.",
        'Last checkpoint: "wave-1-complete" (seq 7)',
        "Events after it:",
        "  seq 8: agent.spawned (service-eng, task #2)",
        "  seq 9: task.started (service-eng, task #2)",
        "  seq 10: error.encountered (resolved: true)",
        "  #1 COMPLETE     Design schema; agent schema-designer",
        "  #2 IN_PROGRESS  Build API; agent service-eng",
        "  - service-eng",
        "a resume continues at wave-2-start.",
        "It continues with task 2.",
    ):
        assert sentence in out, sentence
    assert "About the journal itself" not in out, "no gap, no unreadable line"


def test_analyze_without_a_checkpoint_says_so_and_shows_every_task_with_its_state(scratch: Scratch) -> None:
    tasks = [{"id": "1", "summary": "One"}, {"id": "2", "summary": "Two"}]
    scratch.put(
        "auth",
        journal(
            line("session.start", command="implement"),
            line("plan.created", seq=1, tasks=tasks, waves=[], dependencies=[]),
            line("task.started", seq=2, taskId="1"),
            line("error.encountered", seq=3, error="x", file="a.py", line=7),
        ),
    )
    out = scratch.ok("analyze", "auth")
    assert "No checkpoint: the run was interrupted early." in out
    assert "#1 IN_PROGRESS  One" in out and "#2 PENDING      Two" in out
    assert "1. [error.encountered] a.py:7: x" in out
    assert "The next planned step is tasks 1 and 2." in out
    for option in ("A. Restart with the plan", "B. Restart with a new plan", "C. Own instructions"):
        assert option in out


def test_features_lists_every_folder(scratch: Scratch) -> None:
    scratch.put("one", journal(line("session.start")))
    scratch.put("two", journal(line("session.start"), line("session.end", seq=1)))
    (scratch.root / ".claude" / "progress" / "three").mkdir()
    for _ in range(2):
        rows = {row["feature"]: row["state"] for row in scratch.json("features")["features"]}
        assert rows == {"one": "open", "two": "ended", "three": "empty"}


def test_features_never_calls_a_run_that_failed_fine(scratch: Scratch) -> None:
    failed = line("task.failed", seq=1, taskId="cart", error="its checks failed")
    for name, reason in (("good", "completed"), ("bad", "error"), ("worse", "completed"), ("left", "user_cancelled")):
        some = [failed] if name == "worse" else [line("task.completed", seq=1, taskId="cart")]
        scratch.put(name, journal(line("session.start"), *some, line("session.end", seq=2, reason=reason)))
    told = {words[0]: words[1:5] for words in map(str.split, scratch.ok("features").splitlines()[1:])}
    assert told == {
        "bad": ["failed", "1", "of", "1"],
        "good": ["completed", "1", "of", "1"],
        "left": ["stopped", "1", "of", "1"],
        "worse": ["failed", "0", "of", "1"],
    }
    rows = {row["feature"]: row["end_reason"] for row in scratch.json("features")["features"]}
    assert rows == {"bad": "error", "good": "completed", "left": "user_cancelled", "worse": "completed"}
    bare = scratch.ok()
    assert "task cart: its checks failed" in bare and "next: rekindle resume worse" in bare
    assert "2 features at rest: 1 completed, 1 stopped" in bare


def test_history_by_date_as_text_and_markdown(scratch: Scratch) -> None:
    scratch.put("auth-system", journal(*interrupted_in_wave_two()))
    text, markdown = scratch.ok("history"), scratch.ok("history", "--markdown")
    assert "2026-03-01" in text
    assert "done #1 Design schema" in text
    assert "## 2026-03-01" in markdown
    assert "- 08:00–08:00 auth-system: implement f4e3d2c1, 11 events, interrupted" in markdown
    assert scratch.json("history")["dates"]["2026-03-01"][0]["outcome"] == "interrupted"


def test_follow_shows_old_and_new_events_until_the_end(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start"), line("task.started", seq=1, taskId="1", summary="first")))
    following = subprocess.Popen(
        [str(BIN / "rekindle"), "follow", "auth", "--until-end"],
        cwd=scratch.root,
        env=scratch.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    with following.stdout:
        assert "session.start" in following.stdout.readline()
        assert "#1 first" in following.stdout.readline()
        scratch.ok("track", "done", "--task", "1")
        assert "task.completed" in following.stdout.readline()
        scratch.ok("track", "session.end")
        assert "session.end" in following.stdout.readline()
    assert following.wait(20) == 0


def test_interrupting_follow_is_exit_status_130(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start")))
    following = subprocess.Popen(
        [str(BIN / "rekindle"), "follow", "auth"],
        cwd=scratch.root,
        env=scratch.environment(),
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
    )
    assert following.stdout is not None
    with following.stdout:
        following.stdout.readline()
        following.send_signal(signal.SIGINT)
        assert following.wait(20) == 130


def test_abandon_ends_an_interrupted_run_for_good(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start", "a"), line("session.start", "b")))
    assert scratch.json("abandon", "auth") == {"feature": "auth", "abandoned": ["b"], "left": ["a"]}
    assert scratch.json("abandon", "auth", "--all")["abandoned"] == ["a"]
    assert scratch.lines()[-1]["data"]["reason"] == "user_cancelled"
    assert scratch.run("abandon", "auth").returncode == 2


def test_a_run_that_a_process_holds_is_not_interrupted_and_not_abandoned(scratch: Scratch) -> None:
    from rekindle.adapters.journal_file import run_owner

    scratch.put("auth", journal(line("session.start", "a")))
    held = run_owner.hold(str(scratch.journal().parent), "a")
    assert held is not None
    held.claim()
    assert run_owner.hold(str(scratch.journal().parent), "a") is None
    try:
        assert not scratch.json("analyze", "auth")["interrupted"]
        assert "is still running. Nothing is interrupted." in scratch.ok("analyze", "auth")
        assert f"held by pid {os.getpid()}" in scratch.ok()
        done = scratch.run("abandon", "auth")
        assert done.returncode == 4
        assert str(os.getpid()) in done.stderr
        assert scratch.run("track", "session.start").returncode == 4
    finally:
        held.release()
    assert scratch.json("analyze", "auth")["interrupted"]


def test_verify_and_repair(scratch: Scratch) -> None:
    scratch.put("auth", journal(line("session.start"), b"gar\0bage") + b'{"torn')
    done = scratch.run("journal", "verify", "auth")
    assert done.returncode == 1
    assert "events.jsonl:2:" in done.stdout
    found = scratch.json("journal", "repair", "auth")
    assert Path(found["original"]).read_bytes().endswith(b'{"torn')
    assert scratch.json("journal", "verify", "auth")["whole"]


def test_doctor_is_content_with_a_sound_repository(scratch: Scratch) -> None:
    scratch.ok("track", "session.start")
    states = {finding["state"] for finding in scratch.json("doctor")["findings"]}
    assert "bad" not in states
    scratch.git("add", "-f", ".claude/progress")
    assert scratch.run("doctor").returncode == 1


def test_settings_move_the_progress_folder_and_bad_ones_are_named(scratch: Scratch) -> None:
    (scratch.root / ".rekindle.toml").write_text('progress_dir = "notes/progress"\n')
    scratch.ok("track", "session.start")
    assert (scratch.root / "notes" / "progress" / "auth" / "events.jsonl").exists()
    (scratch.root / ".rekindle.toml").write_text('progres_dir = "x"\n')
    done = scratch.run()
    assert done.returncode == 2
    assert "progres_dir" in done.stderr
    assert ".rekindle.toml" in done.stderr


def test_completion_scripts_and_feature_names(scratch: Scratch) -> None:
    scratch.put("auth-system", journal(line("session.start")))
    for shell in ("bash", "zsh", "fish"):
        assert "_REKINDLE_COMPLETE" in scratch.ok("completion", shell)
    words = {"_REKINDLE_COMPLETE": "zsh_complete", "COMP_WORDS": "rekindle analyze au", "COMP_CWORD": "2"}
    assert "auth-system" in scratch.ok(env=words)


def test_an_event_with_an_id_is_written_once(scratch: Scratch) -> None:
    scratch.ok("track", "session.start")
    for written in (True, False):
        assert scratch.json("track", "warning", "x", "--event-id", "e1")["written"] is written
    assert len(scratch.lines()) == 2


def test_help_of_every_command(scratch: Scratch) -> None:
    listed = re.findall(r"^  (\w+)  ", scratch.ok("--help"), re.MULTILINE)
    assert len(listed) >= 12
    for command in listed:
        assert "Usage:" in scratch.ok(command, "--help")
