"""Sessions through the command line: real daemon, real keepers, the real scripted agent, real SIGKILL."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rekindle.adapters.daemon_socket.client import DaemonClient
from rekindle.ports.errors import RekindleError
from tests.e2e.daemon import BIN, Machine, is_running, until
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(240)
#: What whoever begins a session names it and its prompt.
IDS = {"session": "0123456789", "prompt_id": "p1"}


def count(machine: Machine, name: str) -> int:
    file = machine.work / name
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_a_prompt_is_answered_and_the_session_sleeps(machine: Machine) -> None:
    done = machine.run("run", "say hello\nwrite a.txt hi")
    assert done.returncode == 0, done.stderr
    assert "hello" in done.stdout
    assert (machine.work / "a.txt").read_text() == "hi"
    [row] = machine.json("ps")["sessions"]
    assert (row["status"], row["state"]) == ("asleep", "WAITING_FOR_INPUT")
    assert machine.stamped() == []


def test_a_prompt_wakes_a_sleeping_session_in_the_same_conversation(machine: Machine) -> None:
    machine.ok("run", "say first")
    session = machine.json("ps")["sessions"][0]["id"]
    machine.ok("send", session[:4], "what have you seen?", "--follow")
    assert '["say first", "what have you seen?"]' in machine.said(session)
    assert machine.show(session)["receipt"]["kind"] == "same"


def test_an_agent_killed_in_mid_stream_goes_on_and_is_told_what_it_had_said(machine: Machine) -> None:
    session = machine.begin("say the beginning", "stream 400 0.05 word", "say the end")
    machine.until_said(session, "word3")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    assert "Decision: start attempt 2 and load the conversation" in machine.ok("resume", session, "--explain")
    assert "the same conversation" in machine.ok("resume", session)
    machine.until_said(session, "was started, its outcome is unknown")
    assert "What you had said before you were cut off was: " in machine.said(session)
    assert "word3" in machine.said(session).split("cut off was:")[1]


def test_a_command_that_ran_when_the_agent_was_killed_is_ended_and_not_repeated(machine: Machine) -> None:
    """S2 of the drill."""
    script = "import os,time; open('ran.txt','a').write(str(os.getpid())+'\\n'); time.sleep(600)"
    (machine.work / "tool.py").write_text(script)
    session = machine.begin("run python3 tool.py", "say after")
    until(lambda: count(machine, "ran.txt"), "the tool")
    tool = int((machine.work / "ran.txt").read_text())
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    assert not is_running(tool)
    told = json.loads(machine.ok("resume", session, "--json"))
    assert told["receipt"]["kind"] == "same"
    assert told["receipt"]["unknown"] == ["was started, outcome unknown: run: python3 tool.py"]
    machine.until_said(session, "after")
    assert "its outcome is unknown (it was stopped with you): run: python3 tool.py" in machine.said(session)
    assert count(machine, "ran.txt") == 1


@pytest.mark.parametrize("attempt", [0, *only_in_soak(*range(1, 6))])
def test_an_agent_killed_right_at_its_start_still_gets_its_prompt_once(machine: Machine, attempt: int) -> None:
    """S3 of the drill."""
    session = machine.begin("once mark write mark.txt x", f"say hello {attempt}")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted", "waiting")
    machine.ok("resume", session)
    machine.until_status(session, "waiting")
    assert (machine.work / "mark.txt").exists()
    assert machine.said(session).count(f"\nhello {attempt}\n") == 1


def test_the_daemon_dies_and_the_agent_does_not_notice(machine: Machine) -> None:
    """S4 of the drill."""
    session = machine.begin("stream 60 0.05 word", "say the end")
    machine.until_said(session, "word2")
    before = machine.pids(session)
    machine.kill_daemon()
    assert machine.status(session) == "working"
    assert is_running(before["agent"])
    machine.ok("show", session)
    assert machine.run("resume", session).returncode == 4, "a second writer is refused"
    machine.until_status(session, "waiting")
    assert machine.pids(session) == before
    said = machine.said(session)
    assert [f"word{number}" in said for number in range(1, 61)] == [True] * 60
    assert "the end" in said


def test_two_resumes_at_once_have_one_winner(machine: Machine) -> None:
    """S5 of the drill."""
    session = machine.begin("sleep 600")
    machine.until_status(session, "working")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: machine.run("resume", session), range(3)))
    assert sorted(one.returncode for one in done) == [0, 4, 4]
    assert all("attempt 2" in one.stderr for one in done if one.returncode == 4)
    assert machine.show(session)["attempt"] == 2


def test_resume_all_takes_the_dead_and_skips_the_living_unless_they_are_to_be_ended(machine: Machine) -> None:
    living, dead = machine.begin("sleep 600"), machine.begin("sleep 600")
    for session in (living, dead):
        machine.until_status(session, "working")
    before = machine.pids(living)["agent"]
    machine.kill(machine.pids(dead)["agent"])
    machine.until_status(dead, "interrupted")
    told = json.loads(machine.ok("resume", "--all", "--json"))
    assert (told["resumed"], [one["id"] for one in told["skipped"]]) == ([dead], [living])
    assert all(one["reason"] for one in told["skipped"])
    assert machine.pids(living)["agent"] == before, "it was left alone"
    forced = json.loads(machine.ok("resume", "--all", "--kill", "--json"))
    assert (sorted(forced["resumed"]), forced["skipped"]) == (sorted([living, dead]), [])
    assert not is_running(before)
    assert [machine.show(session)["attempt"] for session in (living, dead)] == [2, 3]


def test_prompts_that_arrive_while_a_session_is_dead_are_delivered_once_in_order(machine: Machine) -> None:
    session = machine.begin("say first")
    machine.until_status(session, "waiting")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "dead")
    with ThreadPoolExecutor(5) as pool:
        done = list(pool.map(lambda number: machine.run("send", session, f"say number {number}"), range(4)))
        late = machine.run("resume", session)
    assert [one.returncode for one in done] == [0, 0, 0, 0]
    assert late.returncode in (0, 4)
    machine.until_status(session, "waiting")
    until(lambda: all(prompt["state"] == "done" for prompt in machine.show(session)["session"]["prompts"]))
    said = machine.said(session)
    assert [said.count(f"\nnumber {number}\n") for number in range(4)] == [1, 1, 1, 1]
    assert machine.show(session)["attempt"] == 2


def test_everything_is_killed_and_one_command_brings_all_back(machine: Machine) -> None:
    """S10 of the drill."""
    sessions = [machine.begin(f"say begin {number}", "sleep 600", f"say end {number}") for number in range(3)]
    idle = machine.begin("say idle")
    for session in sessions:
        machine.until_said(session, "sleep: 600")
    machine.until_status(idle, "waiting")
    everybody = [pid for session in [*sessions, idle] for pid in machine.pids(session).values()]
    for pid in [machine.daemon(), *everybody]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(is_running(pid) for pid in everybody))
    rows = {row["id"]: row["status"] for row in machine.json("ps")["sessions"]}
    assert rows == {**dict.fromkeys(sessions, "interrupted"), idle: "dead"}
    subprocess.run(["git", "init", "-q", str(machine.work)], check=True)
    shown = machine.ok()
    assert all(session in shown for session in sessions)
    assert "rekindle resume --all" in shown
    told = json.loads(machine.ok("resume", "--all", "--json"))
    assert sorted(told["resumed"]) == sorted([*sessions, idle])
    for number, session in enumerate(sessions):
        machine.until_said(session, f"end {number}")


@pytest.mark.parametrize(
    "victims", [["guard"], ["guard", "keeper"], ["daemon", "keeper"], *only_in_soak(["keeper"], ["agent", "guard"])]
)
def test_whoever_is_killed_there_is_one_tree_at_most_and_the_right_state(machine: Machine, victims: list[str]) -> None:
    session = machine.begin("say begin", "sleep 600", "say end")
    machine.until_said(session, "sleep: 600")
    pids = {**machine.pids(session), "daemon": machine.daemon()}
    for victim in victims:
        machine.kill(pids[victim])
    if victims == ["guard"]:
        assert machine.until_status(session, "working")
        assert is_running(pids["agent"])
        return
    machine.until_status(session, "interrupted")
    until(lambda: not is_running(pids["agent"]))
    machine.ok("resume", session)
    machine.until_said(session, "end")
    assert len(launch_trees(machine, session)) == 1


def launch_trees(machine: Machine, session: str) -> list[int]:
    attempts = [int(name) for name in os.listdir(Path(machine.places.sessions, session)) if name.isdigit()]
    return [number for number in attempts if is_running(machine.pids(session, number)["agent"])]


@pytest.mark.parametrize("rounds", [2, *only_in_soak(10)])
def test_a_daemon_killed_during_a_resume_does_not_start_a_second_agent(machine: Machine, rounds: int) -> None:
    for round_ in range(rounds):
        session = machine.begin("say begin", "sleep 600", "say end")
        machine.until_said(session, "sleep: 600")
        machine.kill(machine.pids(session)["agent"])
        machine.until_status(session, "interrupted")
        resume = subprocess.Popen(
            [str(BIN / "rekindle"), "resume", session],
            cwd=machine.work,
            env=machine.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        folder = Path(machine.folder(session, 2))
        until((folder / "identity").exists if round_ % 2 else folder.exists)
        machine.kill_daemon()
        resume.wait()
        machine.run("resume", session)
        machine.until_said(session, "end")
        assert len(launch_trees(machine, session)) == 1


def test_a_second_daemon_is_refused_with_the_pid_of_the_first(machine: Machine) -> None:
    machine.ok("run", "say x")
    done = machine.run("serve")
    assert done.returncode == 4
    assert str(machine.daemon()) in done.stderr


def test_an_agent_that_cannot_load_starts_fresh_and_it_is_said(machine: Machine) -> None:
    session = machine.begin("say begin", "sleep 600", arguments=("--no-load",))
    machine.until_said(session, "sleep: 600")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    told = json.loads(machine.ok("resume", session, "--json"))
    assert told["receipt"]["kind"] == "rebuilt"
    machine.until_status(session, "waiting")
    machine.ok("send", session, "what have you seen?", "--follow")
    assert 'I have seen: ["RESUME CONTEXT' in machine.said(session)


def test_a_conversation_that_the_agent_has_lost_is_never_passed_off_as_the_same(machine: Machine) -> None:
    session = machine.begin("say begin", "sleep 600")
    machine.until_said(session, "sleep: 600")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    machine.ok("serve", "--stop")
    shutil.rmtree(machine.home / ".local" / "state" / "rekindle" / "scripted")
    shutil.rmtree(Path(machine.places.sessions, session, "vault"))
    told = json.loads(machine.run("resume", session, "--json").stdout)
    assert told["receipt"] is None
    assert told["state"] == "WAITING_FOR_INPUT"
    assert "not found" in told["message"]
    machine.ok("send", session, "hello again", "--follow")
    assert machine.show(session)["receipt"]["kind"] == "rebuilt"


def test_a_question_without_a_terminal_is_exit_status_3_and_can_be_answered(machine: Machine) -> None:
    done = machine.run("run", "ask May I?\nsay thank you")
    assert done.returncode == 3
    assert "May I?" in done.stderr
    session = machine.json("ps")["sessions"][0]["id"]
    assert machine.status(session) == "asking"
    machine.kill_daemon()
    [question] = machine.json("inbox")["questions"]
    assert question["id"] in done.stderr
    assert machine.run("answer", question["id"], "nonsense").returncode == 2
    machine.ok("answer", question["id"], "allow")
    machine.until_said(session, "thank you")


def test_a_turn_can_be_cancelled_and_the_agent_stays(machine: Machine) -> None:
    session = machine.begin("sleep 600")
    machine.until_said(session, "sleep")
    machine.ok("cancel", session)
    machine.until_status(session, "waiting")
    assert machine.show(session)["session"]["prompts"][0]["outcome"] == "cancelled"
    machine.ok("send", session, "say still here", "--follow")
    assert "still here" in machine.said(session)


def test_a_stop_ends_the_whole_tree_and_a_resume_brings_it_back(machine: Machine) -> None:
    session = machine.begin("spawn 600", "sleep 600")
    machine.until_said(session, "sleep")
    machine.ok("stop", session)
    assert machine.stamped() == []
    assert machine.status(session) == "cancelled"
    assert machine.run("send", session, "hello").returncode == 2
    machine.ok("resume", session)
    machine.until_status(session, "waiting")


def test_an_error_of_the_agent_is_told(machine: Machine) -> None:
    done = machine.run("run", "fail unauthorized")
    assert done.returncode == 1
    assert "unauthorized" in done.stderr


def test_an_agent_that_does_not_exist_is_exit_status_2(machine: Machine) -> None:
    assert machine.run("run", "hello", "--agent", "nobody").returncode == 2
    assert machine.run("run", "   ").returncode == 2
    assert machine.run("show", "zzz").returncode == 2


def test_a_policy_of_continue_brings_the_agent_back_by_itself_within_its_budget(machine: Machine) -> None:
    session = machine.begin("say begin", "sleep 600", "say end", options=("--policy", "continue"))
    machine.until_said(session, "sleep: 600")
    machine.kill(machine.pids(session)["agent"])
    until(lambda: machine.show(session)["attempt"] == 2, "a second attempt")


def test_output_that_a_tool_has_cut_away_is_noticed_and_said(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("the spool is read-only for anybody but root, so that a tool cannot shorten it")
    session = machine.begin("stream 40 0.05 word", "sleep 1", "truncate", "sleep 4", "say end")
    machine.until_status(session, "waiting")
    assert "truncated" in machine.show(session)["notices"][0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small tmpfs")
def test_a_full_disk_refuses_new_turns_and_loses_nothing(machine: Machine) -> None:
    sessions = Path(machine.places.sessions)
    sessions.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", str(sessions)], check=True)
    try:
        session = machine.begin("say first")
        machine.until_status(session, "waiting")
        ballast = sessions / "ballast"
        fill(ballast)
        machine.ok("send", session, "big 12000000", "--follow")
        sending = subprocess.Popen(
            [str(BIN / "rekindle"), "send", session, "say second"],
            cwd=machine.work,
            env=machine.environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        until(lambda: "no room" in "".join(machine.show(session)["notices"]), "the refusal")
        ballast.unlink()
        assert sending.communicate(timeout=60)[0].endswith("delivered.\n")
        machine.until_said(session, "second")
    finally:
        if (sessions / "ballast").exists():
            (sessions / "ballast").unlink()
        machine.clean_up()
        subprocess.run(["umount", "-l", str(sessions)], check=True)


def fill(ballast: Path) -> None:
    """Leave no room."""
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [15, *only_in_soak(50)])
def test_many_agents_stream_while_the_daemon_is_killed(machine: Machine, number: int) -> None:
    words = 40
    sessions = [machine.begin(f"stream {words} 0.1 w", "say end") for _ in range(number)]
    before = {session: machine.pids(session) for session in sessions}
    machine.kill_daemon()
    assert sum(is_running(pids["agent"]) for pids in before.values()) >= number * 0.9
    machine.ok("ps")
    machine.json("show", sessions[0])
    # All in one list: a command for each of them takes minutes on a machine that has other work.
    rested = [("waiting", 1)] * number

    def all_rest() -> bool:
        return [(row["status"], row["attempt"]) for row in machine.sessions()] == rested

    until(all_rest, "a rest of all", seconds=240.0)
    for session in sessions:
        said = machine.said(session)
        assert all(f"w{word}" in said for word in range(1, words + 1))
        assert machine.pids(session) == before[session]


def test_the_same_words_twice_are_two_prompts(machine: Machine) -> None:
    (machine.work / "tool.py").write_text("open('ran.txt','a').write('x\\n')")
    session = machine.begin("run python3 tool.py")
    machine.until_status(session, "waiting")
    agent = machine.pids(session)["agent"]
    os.kill(agent, signal.SIGSTOP)
    machine.ok("send", session, "run python3 tool.py")
    machine.kill(agent)
    machine.until_status(session, "interrupted")
    machine.ok("resume", session)
    until(lambda: count(machine, "ran.txt") == 2, "the second run")
    machine.until_status(session, "waiting")


def test_a_question_ends_with_its_turn(machine: Machine) -> None:
    session = machine.begin("ask May I?", "say after", options=("--permission", "ask"))
    machine.until_status(session, "asking")
    machine.ok("cancel", session)
    machine.until_status(session, "waiting")
    assert machine.run("answer", session, "allow").returncode == 2


def test_a_store_that_is_gone_is_rebuilt_from_the_sessions_folders(machine: Machine) -> None:
    session = machine.begin("say hello", "sleep 600")
    machine.until_said(session, "sleep: 600")
    machine.ok("serve", "--stop")
    until(lambda: not os.path.exists(machine.places.socket))
    for file in Path(machine.places.state).glob("store.db*"):
        file.unlink()
    told = machine.show(session)
    assert (told["status"], told["is_running"]) == ("working", True)
    machine.ok("stop", session)


@pytest.mark.parametrize("lost", ["store.db*", "store.db", *only_in_soak("store.db-wal")])
def test_prompts_acknowledged_after_the_store_was_deleted_survive_the_daemon(machine: Machine, lost: str) -> None:
    session = machine.begin("say first", "sleep 600")
    machine.until_said(session, "sleep: 600")
    machine.ok("send", session, "say earlier")
    for path in Path(machine.places.state).glob(lost):
        path.unlink()
    machine.ok("send", session, "say second")
    machine.ok("send", session, "say third")
    machine.kill_daemon()
    found = machine.show(session)
    assert [one["text"] for one in found["session"]["prompts"]][1:] == ["say earlier", "say second", "say third"]
    assert found["status"] == "working", "the same agent, which nobody disturbed"


def test_a_daemon_whose_socket_was_removed_can_be_reached_again(machine: Machine) -> None:
    machine.ok("run", "say x")
    daemon = machine.daemon()
    os.unlink(machine.places.socket)
    until(lambda: os.path.exists(machine.places.socket))
    machine.ok("ps")
    assert machine.daemon() == daemon


WRONG: list[object] = [
    {"op": "stop_all", "to": "cancelled", "by": 5},
    {"op": "stop_all", "to": "bogus", "by": "me"},
    {"op": "resume", "session": ["x"], "by": "me"},
    {"op": "run", **IDS, "agent": "scripted", "cwd": "/", "prompt": "x", "env": {"A": 1}},
    {"op": "run", **IDS, "agent": "scripted", "cwd": "/", "prompt": "x", "env": {}, "arguments": [5]},
    {"op": "run", **IDS, "agent": "nobody", "cwd": "/", "prompt": "x", "env": {}},
    {"op": "run", "agent": "scripted", "cwd": "/", "prompt": "x", "env": {}},
    {"op": "run", **IDS, "session": "../up", "agent": "scripted", "cwd": "/", "prompt": "x", "env": {}},
    {"op": "run", **IDS, "prompt_id": "", "agent": "scripted", "cwd": "/", "prompt": "x", "env": {}},
    {"op": "send", "session": "", "text": "x"},
    {"op": "list", "more": 1},
    {"op": "no such"},
    {"op": None},
    [],
    "x",
]


def test_wrong_types_on_the_socket_are_refused_and_harm_nobody(machine: Machine) -> None:
    machine.ok("run", "say x")
    for request in WRONG:
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as answers:
            connection.connect(machine.places.socket)
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(answers.readline())
        assert (answer["ok"], answer["error"]["exit"]) == (False, 2), request
    machine.kill_daemon()
    assert len(machine.json("ps")["sessions"]) == 1
    machine.ok("send", machine.json("ps")["sessions"][0]["id"], "say y", "--follow")


def test_a_sender_whose_daemon_dies_is_heard_once(machine: Machine) -> None:
    session = machine.begin("stream 120 0.05 word")
    machine.until_said(session, "word2")
    sending = subprocess.Popen(
        [str(BIN / "rekindle"), "send", session, "say only once"],
        cwd=machine.work,
        env=machine.environment(),
        stdout=subprocess.DEVNULL,
    )
    until(lambda: machine.show(session)["queued"], "the prompt")
    machine.kill_daemon()
    assert sending.wait(60) == 0
    assert machine.show(session)["id"] == session, "any question brings a daemon back, and it goes on"
    machine.until_said(session, "\nonly once\n")
    machine.until_status(session, "waiting")
    assert machine.said(session).count("\nonly once\n") == 1


def test_an_id_that_another_prompt_has_is_refused(machine: Machine) -> None:
    """Sending the same one again is harmless; another text under its id would be acknowledged and never said."""
    session = machine.begin("say one")
    machine.until_status(session, "waiting")
    with closing(DaemonClient(machine.places)) as client:
        for _ in range(2):
            assert client.ask("send", session=session, text="say two", prompt_id="mine")["delivered"]
        with pytest.raises(RekindleError, match="another prompt"):
            client.ask("send", session=session, text="say three", prompt_id="mine")
    machine.until_said(session, "two")
    assert machine.said(session).count("say two") == 1


def test_nobody_speaks_or_stops_in_the_name_of_a_feature_s_run(machine: Machine) -> None:
    session = machine.begin("say one")
    machine.until_status(session, "waiting")
    with closing(DaemonClient(machine.places)) as client:
        for taken in ("round/1", "merge/0123456789ab", "p+r0"):
            with pytest.raises(RekindleError, match="is not a valid prompt id"):
                client.ask("send", session=session, text="say two", prompt_id=taken)
        with pytest.raises(RekindleError, match="signs"):
            client.ask("stop", session=session, to="cancelled", by="feature shop")
    assert machine.status(session) == "waiting"


def test_a_copy_of_a_store_leaves_the_live_agents_of_the_original_alone(machine: Machine, tmp_path: Path) -> None:
    session = machine.begin("stream 2000 0.05 word", options=("--policy", "continue"))
    machine.until_said(session, "word3")
    before = machine.pids(session)
    shutil.copytree(machine.home, tmp_path / "home", symlinks=True, ignore=shutil.ignore_patterns("*.sock"))
    copy = replace(machine, home=tmp_path / "home")
    try:
        copy.run("resume", session)
        until(lambda: copy.show(session)["attempt"] == 2, "the agent of the copy")
        copy.until_status(session, "waiting")
        assert all(is_running(pid) for pid in before.values())
        assert machine.status(session) == "working"
        machine.ok("cancel", session)
        machine.until_status(session, "waiting")
        assert machine.pids(session) == before
    finally:
        copy.clean_up()
