"""An agent whose own load can destroy what it loads: what its record says, when it may load, what is put aside."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.json_lines import JsonLines
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.gemini.transcript import GeminiMeaning
from rekindle.core.effects import Launch, Wait
from rekindle.core.session import facts as f
from rekindle.core.session.activity import waits_until
from rekindle.core.session.plan import plan
from rekindle.core.session.strategy import load_not_before
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.records import LineDialect
from tests.sessions import created, folded

TRANSCRIPT = JsonLines(GeminiMeaning())
HEAD: dict[str, Any] = {"sessionId": "0b9f4c1e", "projectHash": "aa", "kind": "main"}
CONTEXT: dict[str, Any] = {"id": "c", "type": "user", "content": [{"text": "<session_context>\nToday is…"}]}
SHELL: list[dict[str, Any]] = [HEAD, {"$set": {"messages": [CONTEXT]}}]
PROMPTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text[0] != "<")
)


def written(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def messages(prompts: list[str]) -> list[dict[str, Any]]:
    """Each prompt with its answer, which was written twice: it grows."""
    found: list[dict[str, Any]] = []
    for number, prompt in enumerate(prompts):
        found.append({"id": f"u{number}", "type": "user", "content": [{"text": prompt}]})
        found += [{"id": f"g{number}", "type": "gemini", "content": text} for text in ("I", "I see")]
    return found


@given(PROMPTS, PROMPTS)
def test_a_load_in_a_later_minute_keeps_the_record_and_one_in_the_same_minute_empties_it(
    earlier: list[str], later: list[str]
) -> None:
    lived = [*SHELL, *messages(earlier)]
    loaded = [{"$set": {"messages": [CONTEXT, *messages(earlier)]}}, *messages(later)]
    assert TRANSCRIPT.read(written(SHELL)).prompts == ()
    assert TRANSCRIPT.read(written(lived)).prompts == tuple(earlier)
    assert TRANSCRIPT.read(written([*lived, *loaded])).prompts == (*earlier, *later)
    assert TRANSCRIPT.read(written([*lived, *SHELL])).prompts == ()
    assert TRANSCRIPT.repair(written([*lived, *loaded])).changes == ()


def test_a_tool_without_a_result_is_open() -> None:
    call = {"id": "t", "name": "run_shell_command", "args": {"command": "make"}}
    for result, titles in ((None, ['run_shell_command {"command": "make"}']), ([], [])):
        answer = {"id": "g", "type": "gemini", "content": "I run it.", "toolCalls": [{**call, "result": result}]}
        found = TRANSCRIPT.read(written([*SHELL, *messages(["do it"])[:1], answer]))
        assert ([tool.title for tool in found.open_tools], found.said) == (titles, "I run it.")


def lived(opened: float, ended: float) -> list[f.AnyFact]:
    """One attempt, over; somebody wants it back."""
    return [
        created(),
        f.LaunchIntended(at=2.0, attempt=1, generation=1, how="new"),
        f.Launched(at=3.0, attempt=1, folder="/keep/1", pid=42),
        f.Opened(at=opened, attempt=1, how="new", token="tok"),
        f.Exited(at=ended, attempt=1, how_ended="killed", by_us=False),
        f.ResumeAsked(at=ended, by="user"),
    ]


@given(st.floats(4.0, 1e9), st.floats(-1e5, 1e5))
def test_a_load_comes_in_another_span_of_the_clock_than_the_opening_and_soon_whatever_the_clock_does(
    opened: float, later: float
) -> None:
    session, now = folded(lived(opened, opened)), opened + later
    assert load_not_before(session, 0.0, now) == now
    until = load_not_before(session, 60.0, now)
    assert now <= until <= now + 120.0
    assert until // 60.0 not in (opened // 60.0, opened // 60.0 - 1)
    assert until == now or until % 60.0 == 0.0


def test_an_attempt_that_nobody_heard_of_may_have_opened_a_conversation_until_its_end() -> None:
    facts = [fact for fact in lived(10.0, 130.0) if not isinstance(fact, f.Opened)]
    assert load_not_before(folded(facts), 60.0, 130.0) == 180.0


def test_whoever_asks_again_does_not_wait_for_a_time_that_an_older_clock_has_set() -> None:
    session = folded([*lived(10.0, 20.0), f.LoadPutOff(at=20.0, until=4000.0, why="later")])
    assert plan(session, 30.0) == [Wait("s1", 4000.0)]
    asked = folded(
        [*lived(10.0, 20.0), f.LoadPutOff(at=20.0, until=4000.0, why="later"), f.ResumeAsked(at=30.0, by="user")]
    )
    assert plan(asked, 30.0) == [Launch("s1", 2)]


def test_a_load_that_is_put_off_waits_although_a_person_asked_and_one_that_is_told_does_not() -> None:
    put_off = [*lived(10.0, 20.0), f.LoadPutOff(at=20.0, until=60.0, why="in a minute")]
    session = folded(put_off)
    assert (session.message, session.notices) == ("in a minute", ["in a minute"])
    assert plan(session, 59.0) == [Wait("s1", 60.0)]
    assert (waits_until(session, 59.0), waits_until(session, 60.0)) == (60.0, None)
    assert plan(session, 60.0) == [Launch("s1", 2)]
    told = folded([*put_off, f.ResumeAsked(at=21.0, by="user", native=False)])
    assert plan(told, 22.0) == [Launch("s1", 2)]


def test_the_supervisor_does_not_start_the_agent_before_its_minute_and_does_then() -> None:
    world = FakeWorld()
    time = [10.0]
    kind = AgentKind("scripted", "Fake", lambda _: ("fake",), AcpDialect, load_span=60.0)
    engine = Engine(InlineAccess(), lambda: time[0])

    async def story() -> None:
        supervisor = Supervisor(
            engine, FakeKeepers(world), FakeWorkplace(), {"scripted": kind}, FakeRecords(), settle_seconds=0.0
        )
        await engine.create(created("s"))
        await supervisor.record("s", f.PromptQueued(at=10, prompt="p", text="hello"))
        await settle(lambda: engine.session("s").prompts[0].state == "done")
        world.kill("s")
        await settle(lambda: not engine.session("s").is_up)
        await supervisor.record("s", f.ResumeAsked(at=20, by="user"))
        assert (engine.session("s").load_at, sorted(world.attempts)) == (60.0, [("s", 1)])
        assert "it continues by itself in 50 s" in engine.session("s").message
        time[0] = 60.0
        await supervisor.advance("s")
        await settle(lambda: engine.session("s").attempts[-1].opened)
        await supervisor.close()

    async def settle(condition: Any) -> None:
        for _ in range(1000):
            world.settle()
            await asyncio.sleep(0)
            if condition():
                return
        raise AssertionError("it did not come about")

    asyncio.run(story())
    assert [one.how for one in engine.session("s").attempts] == ["new", "load"]
    assert engine.session("s").load_at is None


class Scattered(LineDialect):
    """A record whose name has the minute of its beginning, so that several may look like it."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        return f"{environment['AGENT_HOME']}/*-{token}.txt"


SESSION = folded(lived(10.0, 20.0))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def records(home: Path) -> VaultRecords:
    return VaultRecords(str(home.parent / "sessions"), lambda _: {"AGENT_HOME": str(home)}, {"scripted": Scattered()})


@pytest.mark.parametrize("deleted", [False, True])
def test_an_empty_file_beside_the_record_is_put_aside_and_a_record_that_is_gone_comes_back(
    home: Path, deleted: bool
) -> None:
    record, shell = home / "07-tok.txt", home / "08-tok.txt"
    record.write_bytes(b"u:one;\na:first;\n")
    vault = records(home)
    asyncio.run(vault.copy(SESSION))
    shell.write_bytes(b"a:nobody asked;\n")
    if deleted:
        record.unlink()
    asyncio.run(vault.copy(SESSION))
    found = asyncio.run(vault.check(SESSION, "tok"))
    assert (found.state, found.prompts) == ("restored" if deleted else "intact", ("one",))
    assert [one.name for one in home.iterdir()] == ["07-tok.txt"]
    [aside] = Path(vault.folder(SESSION.id)).glob("aside-*")
    assert (aside.read_bytes(), stat.S_IMODE(aside.stat().st_mode)) == (b"a:nobody asked;\n", 0o600)
    vault.close()


def test_a_record_that_is_alone_stays_where_it_is_with_or_without_words(home: Path) -> None:
    (home / "07-tok.txt").write_bytes(b"a:nobody asked;\n")
    vault = records(home)
    asyncio.run(vault.check(SESSION, "tok"))
    assert [one.name for one in home.iterdir()] == ["07-tok.txt"]
    vault.close()
