"""The promises of searching conversations. Nobody has a fake of it, so the index alone is held to them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rekindle.adapters.search.index import SearchIndex
from rekindle.core.masking import Masker
from rekindle.core.search import expression
from rekindle.ports.errors import RekindleError
from rekindle.ports.search import ConversationIndex
from tests.spooled import ClaudeTalk, put_beginning, put_spools


@pytest.fixture
def index(tmp_path: Path) -> ConversationIndex:
    return SearchIndex(str(tmp_path / "search.db"), str(tmp_path / "sessions"), lambda _: Masker())


def put(root: Path, session: str, *turns: tuple[str, str]) -> None:
    talk = ClaudeTalk()
    for number, (asked, said) in enumerate(turns):
        talk.say(f"p{number}", asked, [said])
    put_beginning(root / "sessions" / session, "claude")
    put_spools(root / "sessions" / session / "1", talk.sent, b"".join(talk.lines))


def found(index: ConversationIndex, query: str, **options: object) -> set[str]:
    return {hit.session for hit in index.search(query, time.time_ns(), **options)}  # type: ignore[arg-type]


def test_what_is_new_is_found_at_once_in_prompts_and_answers(index: ConversationIndex, tmp_path: Path) -> None:
    assert found(index, "zebra") == set()
    put(tmp_path, "s1", ("draw a zebra", "here it is"))
    put(tmp_path, "s2", ("draw something", "a zebra, then"))
    assert found(index, "zebra") == {"s1", "s2"}
    put(tmp_path, "s1", ("draw a zebra", "here it is"), ("and a giraffe", "done"))
    assert found(index, "giraffe") == {"s1"}


def test_a_search_can_be_kept_to_some_sessions_and_to_some_hits(index: ConversationIndex, tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path, f"s{number}", ("draw a zebra", "here it is"))
    assert found(index, "zebra", sessions=["s1", "s3"]) == {"s1", "s3"}
    assert found(index, "zebra", sessions=[]) == set()
    assert len(index.search("zebra", time.time_ns(), limit=2)) == 2
    assert len(index.search("zebra", time.time_ns(), order="newest")) == 5


@pytest.mark.parametrize("text", ['"a', "AND b", "(a", "a*", "a OR", "x:y", "a\0b", "NEAR(a", "-a"])
def test_whatever_somebody_types_can_be_searched_for(index: ConversationIndex, tmp_path: Path, text: str) -> None:
    put(tmp_path, "s1", ("draw a zebra", "here it is"))
    query = expression(text)
    assert query is not None
    index.search(query, time.time_ns())


def test_what_is_no_expression_is_an_error_of_ours_and_does_no_harm(index: ConversationIndex, tmp_path: Path) -> None:
    put(tmp_path, "s1", ("draw a zebra", "here it is"))
    with pytest.raises(RekindleError):
        index.search('"', time.time_ns())
    assert found(index, "zebra") == {"s1"}


def test_an_index_that_is_damaged_is_made_anew(index: ConversationIndex, tmp_path: Path) -> None:
    put(tmp_path, "s1", ("draw a zebra", "here it is"))
    assert found(index, "zebra") == {"s1"}
    (tmp_path / "search.db").write_bytes(b"no database at all" * 100)
    assert found(index, "zebra") == {"s1"}
