"""Sessions of Claude Code rebuilt from the folders of real keepers, in which it says what it was recorded to say."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.session_folder.rebuild import Rebuilt, rebuild
from rekindle.adapters.session_folder.session_file import write_session_file
from rekindle.adapters.session_folder.spool_files import spool
from rekindle.adapters.vault.preflight import check
from rekindle.adapters.vault.vault import Vault
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.base.terminal import TerminalDialect
from rekindle.agents.claude.dialect import ClaudeDialect
from rekindle.agents.claude.transcript import ClaudeTranscript
from rekindle.agents.registry import AGENTS
from rekindle.core.effects import Launch
from rekindle.core.session import facts as f
from rekindle.core.session.plan import plan
from rekindle.core.session.state import Session, State
from tests.golden.claude_samples import STREAMS, TRANSCRIPTS
from tests.keeper.keeper_bench import Bench, bench_in, kill, python_agent, until
from tests.sessions import booked

#: Says, to every line that it reads, what the file of that number has.
AGENT = """
import sys
for number, _ in enumerate(sys.stdin, start=1):
    sys.stdout.write(open(f"answer-{number}").read())
    sys.stdout.flush()
"""
RECORDED = re.compile(rb"00000000-0000-4000-8000-0000000000\d\d")


@pytest.fixture
def bench() -> Iterator[Bench]:
    # Not tmp_path: its names are long, and socket paths may have 99 bytes only.
    with tempfile.TemporaryDirectory(prefix="rk-") as folder, bench_in(Path(folder)) as made:
        yield made


def minted(attempt: int) -> str:
    mint = AGENTS["claude"].mint
    assert mint is not None
    return mint("s", attempt)


TOKEN = minted(1)


class Talk:
    """One attempt of session s. What it is sent is what the dialect says."""

    def __init__(self, bench: Bench, number: int = 1, *, load: str | None = None) -> None:
        self.token = load or minted(number)
        self._how = "load" if load else "new"
        argv = (*python_agent(AGENT), "--resume" if load else "--session-id", self.token)
        folder = bench.root / "sessions" / "s" / str(number)
        self.keeper = bench.start(argv, "s", attempt=number, folder=str(folder))
        self.dialect = ClaudeDialect(number, "/work", self.token)
        self._sent = 0

    def _send(self, message: Outgoing, answer: bytes) -> None:
        self._sent += 1
        Path(self.keeper.spec.cwd, f"answer-{self._sent}").write_bytes(answer)
        with self.keeper.client() as client:
            client.send(message.message_id, message.line)
        until(lambda: self.keeper.out().endswith(answer), "the answer")

    def open(self, answer: bytes | None = None) -> None:
        [asked] = self.dialect.begin("load" if self._how == "load" else "new", self.token)
        told = {"type": "control_response", "response": {"subtype": "success", "request_id": asked.message_id}}
        self._send(asked, json.dumps(told).encode() + b"\n" if answer is None else answer)

    def say(self, prompt: str, text: str, answer: bytes = b"", *, echo: bool = True) -> None:
        message = self.dialect.say(prompt, text)
        uuid = json.loads(message.line)["uuid"]
        repeated = {"type": "user", "uuid": uuid, "isReplay": True, "message": {"role": "user", "content": text}}
        before, result, after = answer.partition(b'{"type":"result"')
        lines = json.dumps(repeated).encode() + b"\n" if echo else b""
        self._send(message, RECORDED.sub(self.token.encode(), before + lines + result + after))

    def stop(self, reason: str = "asleep") -> None:
        with self.keeper.client() as client:
            client.stop(reason, grace=0.0)
        self.keeper.ended()

    def kill(self) -> None:
        kill(self.keeper.agent)
        self.keeper.ended()


def begin(bench: Bench, policy: str = "continue") -> Path:
    sessions = bench.root / "sessions"
    created = f.Created(at=1.0, session="s", agent="claude", cwd="/work", policy=policy)
    write_session_file(sessions / "s", created)
    return sessions


def only(rebuilt: Rebuilt) -> Session:
    (one,) = rebuilt.sessions
    assert one.session == booked(one.facts)
    return one.session


def states(session: Session) -> dict[str, str]:
    return {prompt.id: prompt.state for prompt in session.prompts}


def test_a_turn_that_was_answered_is_done_with_what_it_took(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench)
    talk.open()
    talk.say("p1", "Say hello.", STREAMS["plain"])
    session = only(rebuild(sessions))
    assert (session.state, session.token, session.compact) == (State.WAITING_FOR_INPUT, TOKEN, "/compact")
    assert states(session) == {"p1": "done"}
    assert (session.usage.input_tokens, session.usage.output_tokens, session.usage.cost) == (10, 7, 0.000135)
    attempt = session.attempt
    assert attempt is not None
    assert (attempt.status, attempt.how, attempt.token) == ("ready", "new", TOKEN)
    assert plan(session, 0.0) == [], "nothing is started or sent beside the agent that lives"


def test_a_turn_that_was_cut_is_known_with_its_words_and_its_open_tool(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench)
    talk.open()
    talk.say("p1", "Say hello.", STREAMS["plain"])
    talk.say("p2", "Run it.", STREAMS["killed_in_bash"])
    talk.kill()
    session = only(rebuild(sessions))
    assert states(session) == {"p1": "done", "p2": "cut"}
    cut = session.attempts[0].cut
    assert cut is not None
    assert (cut.said, cut.tools, cut.delivered) == ("It takes a while.", ["echo $$ > shell; sleep 600"], "yes")
    assert plan(session, time.time() + 60) == [Launch("s", 2)]


def test_a_turn_that_a_limit_has_ended_goes_on_when_the_limit_is_over(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench)
    talk.open()
    talk.say("p1", "Say hello.", STREAMS["error_rate_limited"])
    refused = time.time() + 3600
    os.utime(sessions / "s" / "1" / "out", (refused, refused))
    session = only(rebuild(sessions))
    assert states(session) == {"p1": "failed", "p1+r0": "queued"}
    assert session.prompts[0].outcome.startswith("rate_limited: API Error: Request rejected (429)")
    assert session.prompts[1].after is not None
    assert session.prompts[1].after > refused, "the pause is counted from the refusal, not from the start of the agent"


def test_a_retry_that_never_came_before_the_next_prompt_had_been_taken_back(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench)
    talk.open()
    talk.say("p1", "Say hello.", STREAMS["error_rate_limited"])
    talk.say("p2", "Say it now.", STREAMS["plain"])
    assert states(only(rebuild(sessions))) == {"p1": "failed", "p1+r0": "cancelled", "p2": "done"}


def test_a_conversation_that_the_agent_has_disowned_is_not_asked_for_again(bench: Bench) -> None:
    sessions = begin(bench, policy="ask")
    one = Talk(bench)
    one.open()
    one.say("p1", "Say hello.", STREAMS["plain"])
    one.stop()
    two = Talk(bench, 2, load=TOKEN)
    two.open(STREAMS["unknown_session"])
    two.stop()
    session = only(rebuild(sessions))
    assert (session.token, session.lost, session.held) == (None, [TOKEN], True)
    assert "No conversation found" in session.message
    assert [(one.how, one.token, one.opened) for one in session.attempts] == [
        ("new", TOKEN, True),
        ("load", TOKEN, False),
    ]


def test_the_conversation_is_known_from_the_command_line_before_a_word_was_said(bench: Bench) -> None:
    sessions = begin(bench)
    one = Talk(bench)
    one.kill()
    [attempt] = only(rebuild(sessions)).attempts
    assert (attempt.how, attempt.token, attempt.opened) == ("new", TOKEN, False)
    two = Talk(bench, 2, load=TOKEN)
    two.kill()
    attempts = only(rebuild(sessions)).attempts
    assert [(one.how, one.token, one.opened) for one in attempts] == [("new", TOKEN, True), ("load", TOKEN, False)]


def cut_and_loaded(bench: Bench) -> Path:
    """Sessions of which one was cut off without a word; it was loaded again, and then nobody said anything to it."""
    sessions = begin(bench)
    one = Talk(bench)
    one.open()
    one.say("p1", "Say hello.", echo=False)
    one.kill()
    two = Talk(bench, 2, load=TOKEN)
    two.open()
    two.kill()
    return sessions


def test_a_prompt_that_the_record_may_have_is_not_sent_again_before_somebody_looks(bench: Bench) -> None:
    session = only(rebuild(cut_and_loaded(bench)))
    assert states(session) == {"p1": "cut"}
    assert session.token == TOKEN


def test_a_prompt_that_the_record_was_seen_to_have_is_gone_on_with(bench: Bench) -> None:
    sessions = cut_and_loaded(bench)
    record = bench.root / f"{TOKEN}.jsonl"
    record.write_bytes(RECORDED.sub(TOKEN.encode(), TRANSCRIPTS["plain"]))
    with Vault(SessionFolder(sessions / "s").vault, "s", time.time) as vault:
        check(vault, ClaudeTranscript(), str(record), TOKEN, time.time)
    assert states(only(rebuild(sessions))) == {"p1": "failed", "p1+2": "queued"}


def test_that_the_agent_was_told_to_go_on_proves_that_it_knew_the_prompt(bench: Bench) -> None:
    sessions = begin(bench)
    one = Talk(bench)
    one.open()
    one.say("p1", "Say hello.", STREAMS["killed_in_stream"])
    one.kill()
    two = Talk(bench, 2, load=TOKEN)
    two.open()
    two.say("p1+2", "Go on.", STREAMS["plain"])
    two.stop()
    session = only(rebuild(sessions))
    assert states(session) == {"p1": "failed", "p1+2": "done"}
    assert session.prompts[0].outcome == "cut off; the agent was told to go on"
    assert session.prompts[1].by == "rekindle"


def test_what_was_given_back_of_the_output_is_made_up_for_by_what_the_agent_repeats(bench: Bench) -> None:
    """The end of the first turn is still there, its beginning is not."""
    sessions = begin(bench)
    talk = Talk(bench)
    talk.open()
    padding = json.dumps({"type": "system", "subtype": "status", "text": "x" * 10_000}).encode() + b"\n"
    talk.say("p1", "Say hello.", padding + STREAMS["plain"], echo=False)
    talk.say("p2", "Run it.", STREAMS["killed_in_bash"])
    with talk.keeper.client() as client:
        client.punch(8192)
    rebuilt = rebuild(sessions)
    session = only(rebuilt)
    assert (session.token, states(session)) == (TOKEN, {"p1": "done", "p2": "sent"})
    assert session.prompts[0].outcome == "end_turn"
    assert any("p2" in line for line in rebuilt.report)
    talk.kill()
    cut = only(rebuild(sessions)).attempts[0].cut
    assert cut is not None
    assert cut.tools == ["echo $$ > shell; sleep 600"]


def test_spools_that_only_the_vault_has_tell_the_same(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench)
    talk.open()
    talk.say("p1", "Say hello.", STREAMS["plain"])
    talk.say("p2", "Run it.", STREAMS["killed_in_bash"])
    talk.kill()
    before = only(rebuild(sessions))
    folder = sessions / "s"
    with Vault(SessionFolder(folder).vault, "s", time.time) as vault:
        for name in ("in", "out"):
            vault.copy(spool(SessionFolder(folder), 1, name))
            (folder / "1" / name).unlink()
    after = only(rebuild(sessions))
    assert states(after) == states(before) == {"p1": "done", "p2": "cut"}
    assert after.attempts[0].cut == before.attempts[0].cut
    assert after.token == TOKEN


def test_a_shortened_conversation_is_noticed(bench: Bench) -> None:
    sessions = begin(bench)
    talk = Talk(bench)
    talk.open()
    talk.say("p1", "/compact", STREAMS["compacted"], echo=False)
    session = only(rebuild(sessions))
    assert states(session) == {"p1": "done"}
    assert any("compacted" in notice for notice in session.notices)


def test_an_agent_in_a_terminal_is_in_the_conversation_that_its_command_line_names(bench: Bench) -> None:
    """Nothing on a screen tells which one that is, nor where a turn ends: the next prompt does."""
    sessions = bench.root / "sessions"
    write_session_file(sessions / "s", f.Created(at=1.0, session="s", agent="claude", cwd="/work", terminal=True))
    for number, flag, prompts in ((1, "--session-id", ("p1", "p2")), (2, "--resume", ("p3",))):
        folder = sessions / "s" / str(number)
        keeper = bench.start((*python_agent(AGENT), flag, TOKEN), "s", attempt=number, folder=str(folder))
        keys = TerminalDialect(number, "/work", TOKEN)
        for prompt in prompts:
            for message in [*(one.message for one in keys.approach(prompt, f"do {prompt}")), keys.say(prompt, "")]:
                with keeper.client() as client:
                    client.send(message.message_id, message.line)
        kill(keeper.agent)
        keeper.ended()
    session = only(rebuild(sessions))
    assert session.token == TOKEN
    assert [(one.how, one.token) for one in session.attempts] == [("new", TOKEN), ("load", TOKEN)]
    assert [(prompt.id, prompt.text, prompt.state) for prompt in session.prompts if prompt.by == "user"] == [
        ("p1", "do p1", "done"),
        ("p2", "do p2", "cancelled"),  # overtaken: it is not typed again
        ("p3", "do p3", "cut"),
    ]
