"""Whatever is left of a conversation, all see the same turns: the daemon, a rebuilt store, logs, search, archives.

Conversations are recorded or made up, cut at any byte, without their beginning, without lines in their middle, read at
once or bit by bit, from the keeper's files, from the vault or from an archive.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.adapters.moving.collecting import collected
from rekindle.adapters.search.documents import documents
from rekindle.adapters.session_folder.conversation import open_conversation
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.session_folder.spool_files import spools
from rekindle.adapters.session_folder.spools import read_account
from rekindle.adapters.vault.vault import Vault
from rekindle.agents.base.conversation import ConversationEntry, as_turns, last_turns, said
from rekindle.agents.base.exchange import SpooledMessage
from rekindle.agents.registry import AGENTS
from rekindle.core.masking import Masker
from rekindle.core.session import facts as f
from rekindle.keeper.input_records import InputRecord
from rekindle.runtime.talk import Talk
from tests.acp_conversations import GENERATION, Received, Sent, golden_names, read_golden
from tests.property.test_acp_wire import conversations
from tests.sessions import created, folded
from tests.spooled import ClaudeTalk, put_beginning, put_spools

RECORDED = sorted(one for one in (Path(__file__).parents[1] / "golden" / "acp").glob("*/*.sent.jsonl"))
WORDS = st.text(min_size=1, max_size=8)
#: (sent, received) in the order of a live daemon: a message of ours, or a line of the agent's.
Live = list[tuple[str, bytes] | bytes]


def of_steps(steps: Iterable[Sent | Received]) -> Live:
    return [(step.message_id, step.line) if isinstance(step, Sent) else step.line + b"\n" for step in steps]


@st.composite
def talks(draw: st.DrawFn) -> Live:
    """With Claude Code, whose streams may be read without their beginning: it repeats each prompt."""
    talk = ClaudeTalk(GENERATION)
    live: Live = [talk.sent[0], talk.lines[0]]
    for number in range(draw(st.integers(1, 5))):
        lines = len(talk.lines)
        talk.say(f"p{number}", draw(WORDS), draw(st.lists(WORDS, max_size=3)))
        live += [talk.sent[-1], *talk.lines[lines:]]
    return live


@st.composite
def remains(draw: st.DrawFn, live: Live) -> tuple[list[tuple[str, bytes]], bytes]:
    """What is left of both spools: cut at a moment, within a line, without a beginning, without lines in the middle."""
    live = live[: draw(st.integers(1, len(live)))]
    messages = [one for one in live if isinstance(one, tuple)]
    lines = [one for one in live if isinstance(one, bytes)]
    for _ in range(draw(st.integers(0, 2)) if lines else 0):
        lines.pop(draw(st.integers(0, len(lines) - 1))) if lines else None
    out = b"".join(lines)
    out = out[: len(out) - draw(st.integers(0, min(20, len(out))))]
    hole = draw(st.just(0) | st.integers(0, len(out)))
    return messages, bytes(hole) + out[hole:]


def as_the_daemon_sees(agent: str, messages: list[tuple[str, bytes]], out: bytes) -> list[tuple[str, str]]:
    session = folded([created()])
    talk = Talk(session, GENERATION, AGENTS[agent], clock=lambda: 9.0, resolve=lambda _cwd, paths: [".", *paths])
    step = talk.rebuild([SpooledMessage(number, *one) for number, one in enumerate(messages, start=1)], out)
    return list(turns_in(step.facts))


def turns_in(facts: Iterable[f.AnyFact]) -> Iterator[tuple[str, str]]:
    for fact in facts:
        match fact:
            case f.PromptSent():
                yield "prompt", fact.text
            case f.TurnFinished():
                yield "end", fact.stop_reason
            case f.TurnFailed():
                yield "error", f"{fact.error}: {fact.message}"


def turns_of(entries: Iterable[ConversationEntry]) -> list[tuple[str, str]]:
    kinds = {"prompt": "prompt", "told": "prompt", "end": "end", "error": "error"}
    shown = [(kinds[one.kind], one.text) for one in entries if one.kind in kinds]
    return [one for one in shown if not one[1].startswith("the conversation was not opened")]


def all_see_the_same(agent: str, messages: list[tuple[str, bytes]], out: bytes, home: Path) -> None:
    own = SessionFolder(home / "sessions" / "s")
    put_beginning(Path(own.path), agent)
    put_spools(Path(own.attempt(GENERATION)), messages, out)
    entries = open_conversation(own.path).poll()
    turns = turns_of(entries)
    prompts = [text for kind, text in turns if kind == "prompt"]

    assert turns == as_the_daemon_sees(agent, messages, out)
    account = list(turns_in(read_account(own.attempt(GENERATION), GENERATION, AGENTS[agent], 1.0).facts))
    assert [text for kind, text in account if kind == "prompt"] == prompts
    assert [one.text for one in as_turns(entries) if one.role == "user"] == prompts
    assert "".join(one.text for one in as_turns(entries) if one.role == "assistant") == said(entries)
    assert said(entries).endswith(last_turns(entries).get(GENERATION, ""))
    found = [one.text for one in documents(entries, Masker()) if one.kind in ("prompt", "told")]
    assert found == [text for text in prompts if text.strip()]

    other = SessionFolder(home / "other" / "s")
    for path, data in collected(own.path, None, []):
        place = Path(other.path, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    assert open_conversation(other.path).poll() == entries

    with Vault(own.vault, "s") as vault:
        for source in spools(own):
            vault.copy(source)
            Path(source.path).unlink()
    assert open_conversation(own.path).poll() == entries


@given(st.data())
@settings(max_examples=60)
def test_what_is_left_of_a_talk_with_claude(data: st.DataObject) -> None:
    messages, out = data.draw(remains(data.draw(talks())))
    with tempfile.TemporaryDirectory() as home:
        all_see_the_same("claude", messages, out, Path(home))


@given(st.data())
@settings(max_examples=60)
def test_what_is_left_of_any_talk_by_the_rules_of_acp(data: st.DataObject) -> None:
    messages, out = data.draw(remains(of_steps(data.draw(conversations()))))
    with tempfile.TemporaryDirectory() as home:
        all_see_the_same("scripted", messages, out, Path(home))


@pytest.mark.parametrize("sent", RECORDED, ids=lambda path: f"{path.parent.name}-{path.name.partition('.')[0]}")
def test_what_a_real_agent_said(sent: Path, tmp_path: Path) -> None:
    received = sent.with_name(sent.name.replace(".sent.", ".received.")).read_bytes()
    values = [json.loads(line) for line in sent.read_text("utf-8").splitlines()]
    messages = [(str(one["id"]), json.dumps(one).encode()) for one in values if "id" in one]
    lines = received.splitlines(keepends=True)
    for cut in sorted({*range(0, len(lines), max(1, len(lines) // 5)), len(lines)}):
        out = b"".join(lines[:cut])
        all_see_the_same(sent.parent.name, messages, out, tmp_path / f"first-{cut}")
        all_see_the_same(sent.parent.name, messages, bytes(len(out)) + b"".join(lines[cut:]), tmp_path / f"last-{cut}")


class Growing:
    """Spools that grow as a keeper writes them."""

    def __init__(self, home: Path, agent: str) -> None:
        self.own = SessionFolder(home / "s")
        put_beginning(Path(self.own.path), agent)
        put_spools(Path(self.own.attempt(GENERATION)), [], b"")
        self._messages = 0

    def write(self, step: tuple[str, bytes] | bytes) -> None:
        name, data = ("out", step) if isinstance(step, bytes) else ("in", self._record(*step))
        with open(Path(self.own.attempt(GENERATION), name), "ab") as file:
            file.write(data)

    def _record(self, message: str, payload: bytes) -> bytes:
        self._messages += 1
        return InputRecord(self._messages, 1, message, payload).encode()


def read_bit_by_bit(live: Live, agent: str, cuts: Iterator[int | None], home: Path) -> None:
    """A step may be seen half written; what was polled on the way is what is read at the end."""
    growing = Growing(home, agent)
    followed = open_conversation(growing.own.path)
    polled: list[ConversationEntry] = []
    for step in live:
        cut = next(cuts)
        if isinstance(step, bytes) and cut is not None:
            growing.write(step[: cut % len(step)])
            polled += followed.poll()
            growing.write(step[cut % len(step) :])
        else:
            growing.write(step)
            polled += followed.poll() if cut is not None else []
    polled += followed.poll()
    assert polled == open_conversation(growing.own.path).poll()


CUTS = st.lists(st.none() | st.integers(0, 200), min_size=1, max_size=8)


def forever(cuts: list[int | None]) -> Iterator[int | None]:
    while True:
        yield from cuts


@given(talks(), CUTS)
@settings(max_examples=40)
def test_bit_by_bit_with_claude(live: Live, cuts: list[int | None]) -> None:
    with tempfile.TemporaryDirectory() as home:
        read_bit_by_bit(live, "claude", forever(cuts), Path(home))


@pytest.mark.parametrize("name", golden_names())
@given(CUTS)
@settings(max_examples=5)
def test_bit_by_bit_as_it_was_recorded(name: str, cuts: list[int | None]) -> None:
    with tempfile.TemporaryDirectory() as home:
        read_bit_by_bit(of_steps(read_golden(name).steps), "scripted", forever(cuts), Path(home))


@given(st.data())
def test_a_prompt_that_the_agent_repeats_stands_between_what_was_said_before_and_after(data: st.DataObject) -> None:
    talk = ClaudeTalk(GENERATION)
    for number in range(1, data.draw(st.integers(2, 5))):
        talk.say(
            f"p{number}", f"ask {number}", [f"say {number}.{part}" for part in range(data.draw(st.integers(0, 2)))]
        )
    lost = data.draw(st.sets(st.integers(0, len(talk.lines) - 1)))
    lines = [line for at, line in enumerate(talk.lines) if at not in lost]
    hole = len(b"".join(lines[: data.draw(st.integers(0, len(lines)))]))
    out = bytes(hole) + b"".join(lines)[hole:]
    with tempfile.TemporaryDirectory() as home:
        put_beginning(Path(home), "claude")
        put_spools(Path(home, str(GENERATION)), talk.sent, out)
        entries = open_conversation(home).poll()
    read = [one.text for one in entries if one.kind in ("prompt", "said")]
    assert [text for text in read if text.startswith("ask")] == [f"ask {one}" for one in range(1, len(talk.sent))]
    numbers = [int(one.split()[1].partition(".")[0]) for one in read]
    for at, (text, asked) in enumerate(zip(read, numbers, strict=True)):
        if text.startswith("ask") and b'"content": "%s"' % text.encode() in out:
            assert all(number < asked for number in numbers[:at])
            assert all(number >= asked for number in numbers[at:])
