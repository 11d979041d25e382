"""Reading a journal: every fast way equals the normative one, and no bytes can break it."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekindle.adapters.journal_file import blocks
from rekindle.adapters.journal_file.read import read_state
from rekindle.adapters.journal_file.second_half import SecondHalf
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import BOM, decode_line
from rekindle.core.journal.digest import Stretch, digest
from rekindle.core.journal.document import document
from rekindle.core.journal.fold import JournalState, fold
from rekindle.core.journal.stream import Irregular, StreamFold
from tests.journals import any_lines, journal, regular

fixture_is_only_a_folder = settings(suppress_health_check=list(HealthCheck))


def normative(raw: bytes) -> JournalState:
    lines = raw.removeprefix(BOM).split(b"\n")
    if not lines[-1]:
        lines.pop()
    return fold(map(decode_line, lines))


def same(left: JournalState, right: JournalState) -> bool:
    """Equal in everything that is not the fast fold's own bookkeeping."""
    for state in (left, right):
        for run in state.sids.values():
            run.passed_over = False
            assert run.work is not None  # unpacked
    return left == right and list(left.sids) == list(right.sids)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@given(lines=any_lines(), ended=st.booleans(), marked=st.booleans())
@fixture_is_only_a_folder
def test_reading_equals_the_normative_fold(file: Path, lines: list[bytes], ended: bool, marked: bool) -> None:
    raw = (BOM if marked else b"") + journal(*lines)
    raw = raw if ended else raw.removesuffix(b"\n")
    file.write_bytes(raw)
    assert same(read_state(file), normative(raw))


@given(lines=regular())
def test_a_regular_journal_never_needs_the_normative_fold(lines: list[bytes]) -> None:
    stream = StreamFold()
    stream.feed(journal(*lines))
    assert same(stream.state, normative(journal(*lines)))


@given(lines=any_lines(), data=st.data())
def test_the_stream_fold_is_the_normative_one_or_says_that_it_is_not(lines: list[bytes], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(lines)))
    stream = StreamFold()
    try:
        stream.feed(journal(*lines[:cut]))
        stream.feed(journal(*lines[cut:]))
    except Irregular:
        return
    assert same(stream.state, normative(journal(*lines)))


@given(lines=any_lines(), data=st.data())
def test_digests_that_another_process_hands_over_give_the_normative_fold(
    lines: list[bytes], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=3)))
    stream = StreamFold()
    try:
        for first, behind in pairwise([0, *cuts, len(lines)]):
            packed = msgspec.msgpack.encode(digest(journal(*lines[first:behind])))
            stream.feed_digest(msgspec.msgpack.decode(packed, type=list[Stretch]))
    except (Irregular, OverflowError, UnicodeEncodeError):  # the process that cannot pack a digest fails, and says so
        return
    assert same(stream.state, normative(journal(*lines)))


@pytest.mark.parametrize("end", [b"", b'{"type":"task.comp'], ids=["whole", "torn"])
@pytest.mark.parametrize("seq", [7, 2**70, 3], ids=["regular", "a number that cannot be handed over", "out of order"])
def test_a_journal_read_by_two_processes_is_the_normative_fold(file: Path, end: bytes, seq: int) -> None:
    plain = [b'{"v":1,"sid":"a","seq":%d,"type":"file.modified","ts":"t%d"}' % (number, number) for number in range(7)]
    last = b'{"v":1,"sid":"a","seq":%d,"type":"task.started","data":{"taskId":"1"}}' % seq
    raw = journal(
        *plain, last, last.replace(b"task.started", b"task.completed").replace(b"%d" % seq, b"%d" % (seq + 1))
    )
    file.write_bytes(raw + end)
    assert same(read_state(file, long=0), normative(raw + end))


def test_what_the_second_process_read_is_not_read_again(file: Path) -> None:
    file.write_bytes(journal(*[b'{"sid":"a","seq":%d,"type":"task.started"}' % number for number in range(100)]))
    fd = os.open(file, os.O_RDONLY)
    size = file.stat().st_size
    try:
        with SecondHalf(fd, 0, size, worth_it=0) as later:
            parts = list(later.parts())
            assert 0 < later.begins < size
        with SecondHalf(fd, 0, size) as later:
            assert later.begins == size, "a short file needs no second process"
            assert list(later.parts()) == []
    finally:
        os.close(fd)
    assert parts[-1][1] == size
    assert sum(1 + one.following for stretches, _ in parts for one in stretches) < 100


@given(before=any_lines(), after=any_lines(), torn=st.binary(max_size=8))
@fixture_is_only_a_folder
def test_snapshot_plus_tail_equals_the_full_fold(
    file: Path, before: list[bytes], after: list[bytes], torn: bytes
) -> None:
    cache = SnapshotCache(file.parent / "cache")
    file.write_bytes(journal(*before))
    with_snapshot_of(file, cache)
    with file.open("ab") as grown:
        grown.write(journal(*after) + torn.replace(b"\n", b""))
    assert same(read_state(file, cache), normative(file.read_bytes()))


def with_snapshot_of(file: Path, cache: SnapshotCache) -> None:
    """Take a snapshot of the journal as it is, however short it is."""
    fd = os.open(file, os.O_RDONLY)
    try:
        stream = StreamFold()
        raw = file.read_bytes()
        try:
            stream.feed(raw)
        except Irregular:
            return
        cache.store(file, fd, len(raw), stream.state)
    finally:
        os.close(fd)


def test_a_snapshot_is_used(file: Path) -> None:
    cache = SnapshotCache(file.parent / "cache")
    file.write_bytes(journal(b'{"type":"task.started","sid":"a","seq":0,"data":{"taskId":"1"}}'))
    with_snapshot_of(file, cache)
    fd = os.open(file, os.O_RDONLY)
    try:
        kept = cache.load(file, fd, file.stat().st_size)
    finally:
        os.close(fd)
    assert kept is not None
    assert kept[0] == file.stat().st_size


@pytest.mark.parametrize("damage", ["other bytes", "shorter", "another file", "garbage"])
def test_a_snapshot_that_does_not_fit_is_not_used(file: Path, damage: str) -> None:
    cache = SnapshotCache(file.parent / "cache")
    good = journal(b'{"type":"task.started","sid":"a","seq":0,"data":{"taskId":"1"}}')
    other = good.replace(b'"1"', b'"2"')
    file.write_bytes(good)
    with_snapshot_of(file, cache)
    if damage == "other bytes":
        file.write_bytes(other)
    elif damage == "shorter":
        file.write_bytes(b"")
    elif damage == "another file":
        (file.parent / "new").write_bytes(other)
        os.replace(file.parent / "new", file)
    else:
        for snapshot in (file.parent / "cache").iterdir():
            snapshot.write_bytes(snapshot.read_bytes()[:-3] + b"xyz")
    assert same(read_state(file, cache), normative(file.read_bytes()))


@given(raw=st.binary(max_size=400))
@fixture_is_only_a_folder
def test_of_any_bytes_every_line_is_accounted_for(file: Path, raw: bytes) -> None:
    file.write_bytes(raw)
    told = document(analyse(read_state(file)))
    lines = raw.removeprefix(BOM).split(b"\n")
    if not lines[-1]:
        lines.pop()
    assert told["lines"] == len(lines)
    unused = [*told["malformed"], *told["unknown_version"]]
    assert len(set(unused)) == len(unused)
    for number, line in enumerate(lines, start=1):
        is_object = line.strip(b" \t\r").startswith(b"{")
        is_blank = not line.strip(b" \t\r")
        assert (number in told["malformed"]) >= (not is_object and not is_blank), "what is no object is malformed"
        assert not (is_blank and number in unused), "an empty line is no fault"
    assert told["decision"]["case"] in ("A", "B", "C", "none")
    assert json.loads(json.dumps(told)) == told, "plain values only"


@given(lines=any_lines())
def test_replaying_every_event_changes_nothing(lines: list[bytes]) -> None:
    numbered = [one for one in lines if getattr(decode_line(one), "seq", None) is not None]
    once = document(analyse(normative(journal(*numbered))))
    twice = document(analyse(normative(journal(*numbered, *numbered))))
    for told in (once, twice):
        del told["duplicates"], told["lines"], told["malformed"], told["unknown_version"]
    assert once == twice


@given(raw=st.binary(max_size=300), lines=any_lines())
@fixture_is_only_a_folder
def test_lines_from_the_end_are_the_lines_from_the_start_reversed(file: Path, raw: bytes, lines: list[bytes]) -> None:
    for content in (raw, journal(*lines), journal(*lines) * 40):
        file.write_bytes(content)
        fd = os.open(file, os.O_RDONLY)
        try:
            backward = list(blocks.backward(fd, len(content)))
        finally:
            os.close(fd)
        assert backward[::-1] == (content.removeprefix(BOM).split(b"\n") if content else [])


@given(lines=any_lines(), long=st.integers(0, 3))
@fixture_is_only_a_folder
def test_blocks_are_whole_lines_and_lose_nothing(file: Path, lines: list[bytes], long: int) -> None:
    content = journal(*lines, b"x" * (300_000 * long), *lines)
    file.write_bytes(content)
    fd = os.open(file, os.O_RDONLY)
    try:
        found = list(blocks.forward(fd, 0, len(content)))
    finally:
        os.close(fd)
    assert b"".join(block for block, _ in found) == content.removeprefix(BOM)
    assert all(block.endswith(b"\n") for block, _ in found)
    assert [behind for _, behind in found][-1:] == [len(content)]
