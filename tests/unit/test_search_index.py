"""The search index: what is found does not depend on when it was brought up to date, and no query is an error."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.adapters.search.documents import LONGEST, documents
from rekindle.adapters.search.index import SearchFailed, SearchIndex
from rekindle.adapters.session_folder.conversation import open_conversation
from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.masking import Masker
from rekindle.core.search import CLOSE, OPEN, expression, hit, searchable
from rekindle.keeper.input_records import InputRecord
from tests.acp_conversations import GENERATION, Sent, golden_names, read_golden


def index_of(folder: Path, name: str = "search.db") -> SearchIndex:
    return SearchIndex(str(folder / name), str(folder / "sessions"), lambda _: Masker())


def rows(folder: Path, name: str = "search.db") -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / name) as connection:
        found = connection.execute(
            "SELECT session, number, (documents.rowid & 0xffffff) AS place, kind, text FROM documents"
            " JOIN attempts a ON a.key = documents.rowid >> 24 ORDER BY session, number, place"
        ).fetchall()
    connection.close()
    return found


class Spools:
    """An attempt of a session whose spools grow."""

    def __init__(self, folder: Path, session: str = "s1", attempt: int = GENERATION) -> None:
        self.folder = folder / "sessions" / session / str(attempt)
        self.folder.mkdir(parents=True)
        self._sent = 0

    def send(self, message: str, payload: bytes) -> None:
        self._sent += 1
        with open(self.folder / "in", "ab") as file:
            file.write(InputRecord(self._sent, 1, message, payload).encode())

    def say(self, data: bytes) -> None:
        with open(self.folder / "out", "ab") as file:
            file.write(data)


@pytest.mark.parametrize("name", golden_names())
def test_bit_by_bit_and_at_once_give_the_same_index(name: str, tmp_path: Path) -> None:
    chance = random.Random(name)
    spools = Spools(tmp_path)
    for step in read_golden(name).steps:
        if isinstance(step, Sent):
            spools.send(step.message_id, step.line)
        else:
            line = step.line + b"\n"
            middle = chance.randrange(len(line))
            spools.say(line[:middle])
            if chance.random() < 0.3:
                index_of(tmp_path).search('"word"', time.time_ns())
            spools.say(line[middle:])
    index_of(tmp_path).search('"word"', time.time_ns())
    index_of(tmp_path, "fresh.db").search('"word"', time.time_ns())
    assert rows(tmp_path) == rows(tmp_path, "fresh.db")
    said = "".join(one.text for one in open_conversation(str(spools.folder.parent)).poll() if one.kind == "said")
    assert "".join(str(row[4]) for row in rows(tmp_path) if row[3] == "said") == said


def test_a_session_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    for session in ("s1", "s2"):
        spools = Spools(tmp_path, session)
        for step in read_golden("turn_with_tools").steps:
            spools.send(step.message_id, step.line) if isinstance(step, Sent) else spools.say(step.line + b"\n")
    index_of(tmp_path).search('"word"', time.time_ns())
    assert {row[0] for row in rows(tmp_path)} == {"s1", "s2"}
    shutil.rmtree(tmp_path / "sessions" / "s1")
    index_of(tmp_path).search('"word"', time.time_ns())
    assert {row[0] for row in rows(tmp_path)} == {"s2"}
    shutil.rmtree(tmp_path / "sessions")
    index_of(tmp_path).search('"word"', time.time_ns())
    assert rows(tmp_path) == []


def test_what_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "search.db").mkdir()
    with pytest.raises(SearchFailed) as caught:
        index_of(tmp_path).search('"x"', 0)
    assert caught.value.hint


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "search.db") as connection:
        connection.execute("CREATE TABLE other (x)")
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert index_of(tmp_path).search('"x"', 0) == []
    assert os.stat(tmp_path / "search.db").st_mode & 0o077 == 0


SPECIAL = st.sampled_from(['"', "*", " ", "a", "NEAR", "(", ")", "^", "-", ":", "é", "AND", "日", "\0", "\ud800"])


@given(st.text(max_size=40) | st.lists(SPECIAL).map("".join))
def test_whatever_is_typed_is_a_query_or_none(text: str) -> None:
    wanted = expression(text)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE VIRTUAL TABLE documents USING fts5(text)")
        connection.execute("INSERT INTO documents VALUES (?)", (searchable(text),))
        if wanted is not None:
            connection.execute("SELECT * FROM documents WHERE documents MATCH ?", (wanted,)).fetchall()
    connection.close()


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=6))
def test_every_word_phrase_and_beginning_of_a_text_is_found_in_it(words: list[str]) -> None:
    text = " ".join(words)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE VIRTUAL TABLE documents USING fts5(text)")
        connection.execute("INSERT INTO documents VALUES (?)", (text,))
        for query in (*words, text, f'"{text}"', words[0][:1] + "*", f'"{text}"*'):
            wanted = expression(query)
            assert connection.execute("SELECT * FROM documents WHERE documents MATCH ?", (wanted,)).fetchall(), query
    connection.close()


@given(st.lists(st.tuples(st.text("ab \n", max_size=8), st.text("xy", min_size=1, max_size=4)), max_size=5))
def test_marks_lie_where_the_hits_are(pieces: list[tuple[str, str]]) -> None:
    found = hit("s", 1, "said", "".join(f"{before}{OPEN}{inside}{CLOSE}" for before, inside in pieces))
    assert [found.snippet[start:end] for start, end in found.marks] == [inside for _, inside in pieces]
    assert found.snippet == "".join(before + inside for before, inside in pieces)


@settings(max_examples=40)
@given(st.lists(st.text("ab \n", max_size=9000), max_size=6), st.integers(0, 6))
def test_more_words_change_nothing_but_the_last_message(texts: list[str], upto: int) -> None:
    entries = [ConversationEntry("said" if len(text) % 3 else "tool", text, 1) for text in texts]
    before, after = documents(entries[:upto], Masker()), documents(entries, Masker())
    assert before[:-1] == after[: max(0, len(before) - 1)]
    assert all(len(one.text) <= LONGEST for one in after)
    assert "".join("".join(one.text.split()) for one in after) == "".join("".join(texts).split())
