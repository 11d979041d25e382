"""Claude Code's transcripts: whatever happened to the file, nothing that can be read is lost by mending it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rekindle.agents.base.transcript import Repaired, extends
from rekindle.agents.claude.transcript import ClaudeTranscript
from tests.golden.claude_samples import TRANSCRIPTS

DIALECT = ClaudeTranscript()


def is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


RECORDS = sorted({line for data in TRANSCRIPTS.values() for line in data.split(b"\n") if is_record(line)}, key=len)

records = st.sampled_from(RECORDS)
conversations = st.lists(records, min_size=1, max_size=6)


def file_of(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@st.composite
def torn_parts(draw: st.DrawFn) -> bytes:
    """The beginning of a record, cut before its last byte."""
    record = draw(records)
    return record[: draw(st.integers(1, len(record) - 1))]


#: What may stand where a record should: nothing of it can be read.
garbage = st.one_of(
    st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"").replace(b"{", b"")),
    st.sampled_from([b"null", b"17", b"[]", b'"text"', b"\xff\xfe", b'{"a":', b"\0\0\0", b"}{"]),
    torn_parts(),
)


@given(data=st.binary(max_size=300) | st.lists(records | garbage | st.binary(max_size=20)).map(b"\n".join))
def test_any_bytes_can_be_read_and_mended_and_what_is_mended_is_whole(data: bytes) -> None:
    record, repaired = DIALECT.read(data), DIALECT.repair(data)
    assert bool(repaired.changes) == bool(record.problems) == (repaired.data != data)
    assert repaired.data == b"" or repaired.data.endswith(b"\n")
    assert b"\0" not in repaired.data
    assert DIALECT.repair(repaired.data) == Repaired(repaired.data, ())
    assert DIALECT.read(repaired.data).entries == record.entries


@given(lines=st.lists(st.tuples(records | garbage), min_size=1))
def test_every_line_that_is_a_record_stays_as_it_is(lines: list[tuple[bytes]]) -> None:
    given_lines = [line for (line,) in lines]
    kept = DIALECT.repair(file_of(given_lines)).data.split(b"\n")
    stayed = [line for line in kept if line in given_lines and line.strip()]
    assert stayed == [line for line in given_lines if is_record(line)]


@given(before=conversations, torn=torn_parts(), glued=records, after=st.lists(records, max_size=3))
def test_a_record_that_was_glued_to_a_torn_one_comes_back(
    before: list[bytes], torn: bytes, glued: bytes, after: list[bytes]
) -> None:
    damaged = file_of([*before, torn + glued, *after])
    assert DIALECT.repair(damaged).data == file_of([*before, glued, *after])
    assert len(DIALECT.read(damaged).problems) == 1


@given(lines=conversations, glued=st.lists(records, min_size=2, max_size=4))
def test_whole_records_in_one_line_get_lines_of_their_own(lines: list[bytes], glued: list[bytes]) -> None:
    assert DIALECT.repair(file_of([*lines, b"".join(glued)])).data == file_of([*lines, *glued])


@given(lines=conversations, data=st.data())
def test_nul_bytes_anywhere_change_nothing_of_what_is_told(lines: list[bytes], data: st.DataObject) -> None:
    whole = file_of(lines)
    damaged = whole
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged)))
        damaged = damaged[:at] + b"\0" * data.draw(st.integers(1, 5000)) + damaged[at:]
    assert DIALECT.repair(damaged).data == whole
    assert DIALECT.read(damaged).entries == DIALECT.read(whole).entries


@given(lines=conversations, torn=torn_parts())
def test_a_torn_last_line_is_cut_off_and_counted(lines: list[bytes], torn: bytes) -> None:
    repaired = DIALECT.repair(file_of(lines) + torn)
    assert repaired.data == file_of(lines)
    assert repaired.changes == (
        f"line {len(lines) + 1}: {len(torn)} byte{'s'[: len(torn) != 1]} of a torn record: left out",
    )


@given(older=conversations, added=conversations, torn=torn_parts(), data=st.data())
def test_a_conversation_is_extended_by_what_comes_after_it_and_by_nothing_that_lacks_a_line(
    older: list[bytes], added: list[bytes], torn: bytes, data: st.DataObject
) -> None:
    before, after = DIALECT.read(file_of(older) + torn), DIALECT.read(file_of([*older, torn + added[0], *added[1:]]))
    assert extends(before, after)
    lacking = data.draw(st.integers(0, len(older) - 1))
    shorter = DIALECT.read(file_of([*older[:lacking], *older[lacking + 1 :]]))
    assert not extends(before, shorter)
