"""Sessions rebuilt from the folders of real keepers. The agent is `cat`: what is sent to it is what it says."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.session_folder.rebuild import Rebuilt, put_back, rebuild
from rekindle.adapters.session_folder.session_file import write_session_file
from rekindle.adapters.sql_store.open import open_store, rebuild_done
from rekindle.core.session import facts as f
from rekindle.core.session.plan import plan
from rekindle.core.session.state import Session as Rekindled
from rekindle.core.session.state import State
from tests.keeper.keeper_bench import Bench, Session, bench_in, kill, until
from tests.sessions import booked, created

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def bench() -> Iterator[Bench]:
    # Not tmp_path: its names are long, and socket paths may have 99 bytes only.
    with tempfile.TemporaryDirectory(prefix="rk-") as folder, bench_in(Path(folder)) as made:
        yield made


class Talk:
    """One attempt of session s: requests of ours, and the agent's answers, which `cat` repeats for us."""

    def __init__(self, bench: Bench, number: int, session: str = "s", generation: int = 1) -> None:
        folder = bench.root / "sessions" / session / str(number)
        self.number = number
        self.keeper: Session = bench.start(("cat",), session, attempt=number, generation=generation, folder=str(folder))
        self._sent = 0

    def _send(self, name: str, line: dict[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n"
        with self.keeper.client() as client:
            client.send(name, text)
        until(lambda: self.keeper.out().endswith(text), "echo")

    def ask(self, method: str, params: dict[str, Any], name: str | None = None) -> str:
        self._sent += 1
        key = name or f"{self.number}-ask-{self._sent}"
        self._send(key, {"id": key, "method": method, "params": params})
        return key

    def answer(self, key: str, result: object) -> None:
        self._send(f"{self.number}-answer-{key}", {"id": key, "result": result})

    def update(self, kind: str, **fields: object) -> None:
        self._sent += 1
        update = {"sessionUpdate": kind, **fields}
        line = {"method": "session/update", "params": {"sessionId": "T", "update": update}}
        self._send(f"{self.number}-update-{self._sent}", line)

    def say(self, prompt: str, text: str) -> str:
        params = {"sessionId": "T", "prompt": [{"type": "text", "text": text}]}
        return self.ask("session/prompt", params, name=f"{self.number}-prompt-{prompt}")

    def open_new(self, token: str = "T") -> None:
        self.answer(self.ask("session/new", {"cwd": "/work"}), {"sessionId": token})

    def stop(self, reason: str = "asleep") -> None:
        with self.keeper.client() as client:
            client.stop(reason, grace=0.0)
        self.keeper.ended()


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def begin(bench: Bench, session: str = "s") -> Path:
    sessions = bench.root / "sessions"
    write_session_file(sessions / session, created(session, title="caf\udce9", policy="continue"))
    return sessions


def only(rebuilt: Rebuilt) -> Rekindled:
    (one,) = rebuilt.sessions
    assert one.session == booked(one.facts)
    return one.session


def states(session: Rekindled) -> dict[str, str]:
    return {prompt.id: prompt.state for prompt in session.prompts}


def test_a_session_whose_agent_lives_is_rebuilt_as_running(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench, 1, generation=4)
    talk.open_new()
    talk.answer(talk.say("p1", "first"), {"stopReason": "end_turn"})
    talk.say("p2", "second é")
    talk.update("agent_message_chunk", content=text("I am"))
    rebuilt = rebuild(sessions)
    session = only(rebuilt)
    assert (session.title, session.policy, session.state) == ("caf\udce9", "continue", State.RUNNING)
    assert (session.token, session.generation) == ("T", 4)
    assert states(session) == {"p1": "done", "p2": "began"}
    assert session.prompts[1].text == "second é"
    attempt = session.attempt
    assert attempt is not None
    assert (attempt.status, attempt.pid, attempt.folder) == ("ready", talk.keeper.agent.pid, talk.keeper.spec.folder)
    assert plan(session, 0.0) == [], "nothing is started or sent beside the agent that lives"
    assert len(rebuilt.report) == 1
    assert "queued and not sent" in rebuilt.report[0]


def test_a_session_that_was_stopped_is_what_it_was_stopped_to(bench: Bench) -> None:
    for name, reason in (("s", "asleep"), ("c", "cancelled")):
        begin(bench, name)
        talk = Talk(bench, 1, name)
        talk.open_new()
        talk.answer(talk.say("p1", "first"), {"stopReason": "end_turn"})
        talk.stop(reason)
    found = {one.session.id: one.session for one in rebuild(bench.root / "sessions").sessions}
    assert {name: one.state for name, one in found.items()} == {"s": State.WAITING_FOR_INPUT, "c": State.CANCELLED}
    assert all(one.token == "T" and not one.is_up and one.attempts[0].by_us for one in found.values())


def test_a_turn_that_was_cut_is_known_with_what_was_going_on(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench, 1)
    talk.open_new()
    talk.say("p1", "first")
    talk.update("agent_message_chunk", content=text("I will "))
    talk.update("agent_message_chunk", content=text("build"))
    talk.update("tool_call", toolCallId="t1", title="ls", status="pending")
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.update("tool_call", toolCallId="t2", title="make", status="pending")
    kill(talk.keeper.agent)
    talk.keeper.ended()
    session = only(rebuild(sessions))
    assert states(session) == {"p1": "cut"}
    assert session.attempts[0].how_ended.startswith("signal SIGKILL")
    cut = session.attempts[0].cut
    assert cut is not None
    assert (cut.said, cut.tools, cut.delivered) == ("I will build", ["make"], "yes")


def test_the_history_over_two_attempts_is_told_in_order_and_nothing_is_sent_again(bench: Bench) -> None:
    sessions = begin(bench)
    one = Talk(bench, 1)
    one.open_new()
    one.say("p1", "first")
    one.update("agent_message_chunk", content=text("hm"))
    kill(one.keeper.agent)
    one.keeper.ended()
    two = Talk(bench, 2, generation=2)
    key = two.ask("session/load", {"sessionId": "T", "cwd": "/work"})
    two.update("user_message_chunk", content=text("fir"))
    two.update("user_message_chunk", content=text("st"))
    two.update("agent_message_chunk", content=text("hm"))
    two.answer(key, None)
    two.say("p1+2", "go on")
    session = only(rebuild(sessions))
    assert [(attempt.number, attempt.how, attempt.status) for attempt in session.attempts] == [
        (1, "new", "gone"),
        (2, "load", "ready"),
    ]
    assert states(session) == {"p1": "failed", "p1+2": "sent"}
    assert session.prompts[1].by == "rekindle"
    assert (session.token, session.generation) == ("T", 2)
    two.stop()


def test_that_the_agent_was_told_to_go_on_proves_that_it_knew_the_prompt(bench: Bench) -> None:
    sessions = begin(bench)
    one = Talk(bench, 1)
    one.open_new()
    one.say("p1", "first")
    kill(one.keeper.agent)
    one.keeper.ended()
    two = Talk(bench, 2)
    two.answer(two.ask("session/load", {"sessionId": "T"}), {})  # a replay that nobody kept
    two.answer(two.say("p1+2", "go on"), {"stopReason": "end_turn"})
    session = only(rebuild(sessions))
    assert states(session) == {"p1": "failed", "p1+2": "done"}
    assert session.queued == []


def test_a_token_is_known_from_the_request_to_load_it_when_the_folder_that_showed_it_is_gone(bench: Bench) -> None:
    sessions = begin(bench)
    one = Talk(bench, 1)
    one.open_new()
    one.stop()
    two = Talk(bench, 2)
    two.ask("session/load", {"sessionId": "T"})
    shutil.rmtree(sessions / "s" / "1")
    session = only(rebuild(sessions))
    assert session.token == "T"
    assert session.attempt is not None
    assert session.attempt.status == "up", "the load was not answered: it is not passed off as open"
    two.stop()
    assert only(rebuild(sessions)).token == "T"


def test_what_was_given_back_of_the_output_is_made_up_for_by_what_was_asked(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench, 1)
    talk.open_new()
    key = talk.say("p1", "first")
    talk.update("agent_message_chunk", content=text("x" * 10_000))
    talk.answer(key, {"stopReason": "end_turn"})
    talk.say("p2", "second")
    with talk.keeper.client() as client:
        client.punch(8192)
    rebuilt = rebuild(sessions)
    session = only(rebuilt)
    assert session.token == "T"
    assert states(session) == {"p1": "done", "p2": "sent"}
    assert any("p2" in line for line in rebuilt.report)


def test_a_keeper_that_was_killed_with_its_guard_leaves_a_session_that_is_gone(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench, 1)
    talk.open_new()
    kill(talk.keeper.guard)
    kill(talk.keeper.keeper)
    until(lambda: not only(rebuild(sessions)).is_up, "the agent follows them")
    assert only(rebuild(sessions)).attempts[0].how_ended == "its keeper was killed"


def test_an_agent_that_never_started_is_told_and_one_on_its_way_is_left_in_doubt(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench, 1)
    talk.open_new()
    talk.stop()
    for name in ("identity", "exit"):
        (sessions / "s" / "1" / name).unlink()
    session = only(rebuild(sessions))
    assert (session.state, session.attempts[0].status) == (State.STARTING, "launching")


def test_what_cannot_be_told_is_left_out_and_said(bench: Bench) -> None:
    sessions = begin(bench)
    Talk(bench, 1, "orphan").open_new()
    write_session_file(sessions / "swapped", created("another"))
    (sessions / "torn").mkdir()
    (sessions / "torn" / "session.json").write_bytes(b'{"fact":"created","at":1')
    (sessions / "s" / "1").mkdir()
    (sessions / "s" / "1" / "spec.json").write_bytes(b"{")
    (sessions / "s" / "2").mkdir()
    (sessions / "s" / "notes").mkdir()
    (sessions / "link").symlink_to(sessions / "s")
    (sessions / "file").write_text("")
    rebuilt = rebuild(sessions)
    assert only(rebuilt).attempts == []
    said = "\n".join(rebuilt.report)
    for words in (
        "orphan is left out",
        "still runs",
        "swapped is left out",
        "torn is left out",
        "attempt 1",
        "attempt 2",
    ):
        assert words in said
    assert rebuild(sessions / "missing") == Rebuilt()
    assert rebuild(sessions, known={"s", "orphan", "swapped", "torn"}) == Rebuilt()


GARBAGE = [b"", b"\xff" * 9000, b"[]", b"[1]\n{}\n[[[[", b'{"id":[],"result":{"sessionId":1}}\n', b"[" * 100_000]


def test_no_content_of_a_file_stops_the_rebuild(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench, 1)
    talk.open_new()
    talk.say("p1", "first")
    talk.stop()
    for name in ("in", "out", "identity", "exit", "progress", "spec.json"):
        for content in GARBAGE:
            copy = bench.root / "copy"
            shutil.copytree(sessions, copy)
            path = copy / "s" / "1" / name
            path.unlink()
            path.write_bytes(content)
            assert only(rebuild(copy)).id == "s"
            shutil.rmtree(copy)


def test_a_damaged_store_gets_its_sessions_back(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench, 1)
    talk.open_new()
    talk.answer(talk.say("p1", "first"), {"stopReason": "end_turn"})
    path = bench.root / "state" / "store.db"
    path.parent.mkdir()
    path.write_bytes(b"garbage" * 1000)
    opened = open_store(path, now=NOW)
    assert opened.notice is not None
    rebuilt = rebuild(sessions, known=opened.store.named(""))
    put_back(opened.store, rebuilt)
    rebuild_done(path)
    opened.store.close()
    again = open_store(path, now=NOW)
    assert again.notice is None
    with closing(again.store) as store:
        assert store.sessions() == [only(rebuilt)]
        assert rebuild(sessions, known=store.named("")) == Rebuilt()
        assert isinstance(store.facts("session", "s")[0].fact, f.Created)
