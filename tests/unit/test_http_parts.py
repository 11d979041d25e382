"""The pure parts of the HTTP door, and the parts that keep something: names, limits, codes, answers, conversations."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import typing
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.http_door.door_files import DoorFiles
from rekindle.adapters.http_door.kept_answers import AnswerFiles
from rekindle.agents.base.conversation import ConversationEntry
from rekindle.app.conversing import MOST_TEXT, ConversationPages, ReadPlace, ShownEntry
from rekindle.app.service import FactFeed
from rekindle.app.session_names import NoSuchSession
from rekindle.core.session import facts as f
from rekindle.core.session.pushing import STATE, events_of
from rekindle.core.streams import kind_of
from rekindle.doors.http import live
from rekindle.doors.http.keys import new_id
from rekindle.doors.http.limits import Buckets
from rekindle.doors.http.names import DoorPlace, hosts, origins, parsed
from rekindle.doors.http.passes import CODE_SECONDS, DoorSecrets, Passes
from rekindle.ports.errors import UsageError
from rekindle.ports.http_door import DoorRecord
from rekindle.ports.kept_answers import KeptAnswer


@pytest.mark.parametrize("kind", typing.get_args(f.AnyFact), ids=lambda one: one.__name__)
def test_each_fact_is_told_as_some_events_and_its_number_is_remembered_by_the_last(kind: type[f.Fact]) -> None:
    told = events_of(str(kind.__struct_config__.tag))
    assert told[-1] == STATE and len(set(told)) == len(told)


def test_the_kinds_that_are_told_in_a_special_way_are_kinds_of_facts() -> None:
    known = {str(one.__struct_config__.tag) for one in typing.get_args(f.AnyFact)}
    from rekindle.core.session import pushing

    assert known >= pushing._TURNING | pushing._ASKING | pushing._PROVING
    assert kind_of(f.Noticed(at=0.0, message="")) in known


@pytest.mark.parametrize(
    ("given_", "address", "port"),
    [("", "127.0.0.1", 0), ("8400", "127.0.0.1", 8400), ("127.0.0.1:0", "127.0.0.1", 0), ("[::1]:99", "::1", 99)],
)
def test_an_address_may_be_left_out_in_part(given_: str, address: str, port: int) -> None:
    place = parsed(given_)
    assert (place.address, place.port, place.is_loopback) == (address, port, True)


@pytest.mark.parametrize(
    "bad", ["0.0.0.0:80", "192.168.1.2:80", "example.org:80", "127.0.0.1:99999", "127.0.0.1:x", "::"]
)
def test_what_others_could_read_or_nobody_could_reach_is_refused(bad: str) -> None:
    with pytest.raises(UsageError):
        parsed(bad)


def test_a_door_answers_to_its_own_names_only() -> None:
    plain = DoorPlace(port=8400)
    assert hosts(plain) == {"127.0.0.1:8400", "localhost:8400", "[::1]:8400"}
    assert origins(plain) == {f"http://{one}" for one in hosts(plain)}
    proxied = parsed("8400", behind=("https://Work.example.net/",))
    assert "work.example.net" in hosts(proxied) and "https://work.example.net" in origins(proxied)
    assert "http://work.example.net" not in origins(proxied)
    assert proxied.outside_url == "https://work.example.net/"


def test_a_bucket_is_empty_after_so_many_and_fills_up_again() -> None:
    buckets = Buckets(1.0, 3.0)
    assert [buckets.take("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert buckets.take("b", 0.0) and not buckets.take("a", 0.5) and buckets.take("a", 2.0)


def test_a_code_works_once_and_not_for_long() -> None:
    now = [0.0]
    passes = Passes(DoorSecrets("a" * 40, "r" * 40), lambda: now[0])
    code = passes.new_code("all")
    assert passes.exchange(("y" if code[0] == "x" else "x") + code[1:]) is None
    assert passes.exchange(code) == ("a" * 40, "all") and passes.exchange(code) is None
    late = passes.new_code("read")
    now[0] = CODE_SECONDS + 1
    assert passes.exchange(late) is None
    assert passes.scope_of("a" * 40) == "all" and passes.scope_of("r" * 40) == "read"
    assert passes.scope_of("") is None and passes.scope_of("\udcff") is None


def test_a_daemon_whose_door_is_closed_has_loaded_nothing_for_it() -> None:
    heavy = "litestar", "uvicorn", "websockets", "prometheus_client", "segno", "rekindle.doors.http.application"
    code = f"import sys, rekindle.daemon, rekindle.wiring\nprint([one for one in {heavy!r} if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_id_follows_from_the_key_of_its_request() -> None:
    assert new_id("k", "session", 10) == new_id("k", "session", 10) != new_id("k", "prompt", 10)
    assert new_id(None, "session", 10) != new_id(None, "session", 10)


def test_answers_are_kept_for_this_user_only_and_half_of_one_is_none(tmp_path: Path) -> None:
    kept = AnswerFiles(str(tmp_path / "kept"))
    assert kept.get("n") is None
    kept.put("n", KeptAnswer(digest="d"))
    kept.put("n", KeptAnswer(digest="d", status=202, kind="application/json", body=b"{}"))
    assert kept.get("n") == KeptAnswer(digest="d", status=202, kind="application/json", body=b"{}")
    file = tmp_path / "kept" / "n"
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    file.write_bytes(file.read_bytes()[:5])
    assert kept.get("n") is None
    kept.drop("n")
    kept.drop("n")


def test_the_doors_secrets_outlive_a_daemon_and_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    papers = DoorFiles(str(tmp_path / "http"))
    assert not papers.is_open() and papers.record() is None
    first = papers.secrets()
    assert papers.secrets() == first and first[0] != first[1]
    assert all(os.stat(one).st_mode & 0o777 == 0o600 for one in (papers.secret_file, papers.reading_file))
    papers.keep(DoorRecord(address="127.0.0.1", port=5))
    assert papers.is_open() and papers.record() == DoorRecord(address="127.0.0.1", port=5)
    file = papers.redirect("http://127.0.0.1:5/#code=<x>")
    assert os.stat(file).st_mode & 0o777 == 0o600 and "<x>" not in Path(file).read_text()
    papers.closed()
    assert not papers.is_open() and not os.path.exists(file)
    Path(papers.secret_file).write_text("short")
    assert papers.secrets() != first
    assert papers.secrets(new=True) != papers.secrets(new=True)


class _Told:
    """A conversation that grows by the pieces that it is given."""

    ended: frozenset[int] = frozenset()
    source = ""

    def __init__(self) -> None:
        self.coming: list[ConversationEntry] = []

    def poll(self) -> list[ConversationEntry]:
        found, self.coming = self.coming, []
        return found

    def wait(self, seconds: float) -> None:
        return None


class _Conversations:
    def __init__(self, told: _Told) -> None:
        self._told = told

    def follow(self, session: str, attempts: Collection[int] | None = None) -> _Told:
        return self._told

    def read(self, session: str, attempts: Collection[int] | None = None) -> list[ConversationEntry]:
        return self._told.poll()

    def is_in_terminal(self, session: str) -> bool:
        return False


_PIECES = st.lists(
    st.builds(
        ConversationEntry,
        kind=st.sampled_from(["said", "thought", "prompt", "tool", "end"]),
        text=st.text("ab", max_size=3),
        attempt=st.integers(1, 2),
    ),
    max_size=12,
)


@given(st.lists(_PIECES, max_size=5), st.integers(1, 4))
def test_whoever_follows_puts_together_what_whoever_reads_sees(
    coming: list[list[ConversationEntry]], limit: int
) -> None:
    """However a conversation grows, and however little is taken at once."""

    async def followed() -> tuple[dict[int, str], list[ShownEntry]]:
        told = _Told()
        pages, place, seen = ConversationPages(_Conversations(told)), ReadPlace(), dict[int, str]()
        for some in [*coming, []]:
            told.coming += some
            while news := (await pages.news("s", place, limit))[0]:
                for one in news:
                    assert one.append == (one.n in seen and bool(seen[one.n]))
                    seen[one.n] = seen.get(one.n, "") + one.text
                if len(news) < limit:
                    break
        return seen, (await pages.page("s", 0, 1000)).entries

    seen, entries = asyncio.run(followed())
    assert seen == {one.n: one.text for one in entries}
    assert "".join(one.text for one in entries) == "".join(one.text for some in coming for one in some)


def test_a_long_text_comes_in_pieces_and_whole() -> None:
    text = "x" * (2 * MOST_TEXT + 10)

    async def followed() -> list[ShownEntry]:
        told = _Told()
        told.coming += [ConversationEntry("said", text, 1)]
        pages, place, found = ConversationPages(_Conversations(told)), ReadPlace(), list[ShownEntry]()
        while news := (await pages.news("s", place, 100))[0]:
            found += news
        return found

    found = asyncio.run(followed())
    assert [len(one.text) for one in found] == [MOST_TEXT, MOST_TEXT, 10]
    assert [one.append for one in found] == [False, True, True]


class _Feed:
    """A house in which only the place of the last fact matters."""

    def __init__(self, last: int) -> None:
        self._last = last

    async def last_seq(self) -> int:
        return self._last

    @property
    def service(self) -> _Feed:
        return self

    async def feed(self, after: int, _limit: int) -> FactFeed:
        return FactFeed([{"seq": after + 1, "session": "gone", "at": 100.0 + after, "fact": "noticed"}])

    async def find(self, session: str) -> typing.NoReturn:
        raise NoSuchSession(f"no session is called {session}", "")


@pytest.mark.parametrize(("at", "is_reset"), [(104.0, False), (7.0, True), ("x", True), (None, False)])
def test_who_knows_another_fact_at_that_place_is_told_to_fetch(at: object, is_reset: bool) -> None:
    house: typing.Any = _Feed(10)
    reader = live._Reader(typing.cast("live.Socket", None), house, live.LiveChanges(), may_act=True)
    told = asyncio.run(reader._subscribe({"after": 5, "at": at}, None))
    assert told == {"seq": 10, "reset": is_reset}


def test_facts_of_a_session_that_is_not_here_any_more_are_told_and_end_no_connection() -> None:
    sent: list[str] = []

    class Taking:
        async def send_data(self, data: str, _mode: str) -> None:
            sent.append(data)

    async def pushed() -> None:
        house: typing.Any = _Feed(10)
        reader = live._Reader(typing.cast("live.Socket", Taking()), house, live.LiveChanges(), may_act=True)
        await reader._subscribe({"after": 9}, None)
        assert await reader._push_facts()
        assert reader._after == 10

    asyncio.run(pushed())
    assert [json.loads(one)["payload"]["view"] for one in sent] == [None] * len(sent) != []


@pytest.mark.parametrize(
    ("after", "is_reset"),
    [(live.FURTHEST, False), (0, True), (live.FURTHEST + 1, False), (live.FURTHEST + 2, True)],
    ids=["as far behind as one may be", "further", "up to date", "ahead of a store that was lost"],
)
def test_who_is_too_far_behind_or_ahead_is_told_to_fetch_and_follows_from_now_on(after: int, is_reset: bool) -> None:
    last = live.FURTHEST + 1
    house: typing.Any = _Feed(last)
    reader = live._Reader(typing.cast("live.Socket", None), house, live.LiveChanges(), may_act=True)
    told = asyncio.run(reader._subscribe({"after": after}, None))
    assert told == {"seq": last, "reset": is_reset}
    assert reader._after == (last if is_reset else after)


@pytest.mark.parametrize("after", [-1, True, "5", None, 1.5, 2**63])
def test_what_is_no_place_in_the_feed_is_refused(after: object) -> None:
    house: typing.Any = _Feed(10)
    reader = live._Reader(typing.cast("live.Socket", None), house, live.LiveChanges(), may_act=True)
    with pytest.raises(UsageError):
        asyncio.run(reader._subscribe({"after": after}, None))
