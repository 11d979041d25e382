"""The codecs keep their promises for every input: frames, input records, slots."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.keeper.errors import FrameError
from rekindle.keeper.frames import MAX_HEADER, MAX_PAYLOAD, Decoder, Frame, encode
from rekindle.keeper.input_records import InputReader, InputRecord
from rekindle.keeper.slots import SlotFile, read_slots

headers = st.dictionaries(st.text(max_size=8), st.none() | st.booleans() | st.integers() | st.text(max_size=20))
frames = st.builds(Frame, headers, st.binary(max_size=300))
records = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.text(max_size=20), st.binary(max_size=60)), max_size=6)


def take_all(decoder: Decoder) -> list[Frame]:
    taken = []
    while (frame := decoder.next_frame()) is not None:
        taken.append(frame)
    return taken


def encoded(items: list[tuple[int, str, bytes]]) -> tuple[list[InputRecord], bytes]:
    made = [InputRecord(n, *item) for n, item in enumerate(items, 1)]
    return made, b"".join(record.encode() for record in made)


@settings(max_examples=60)
@given(st.lists(frames, max_size=5), st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_frames_survive_any_cut(sent: list[Frame], cuts: list[int]) -> None:
    data = b"".join(encode(frame) for frame in sent)
    decoder, got, at = Decoder(), [], 0
    while at < len(data):
        size = cuts[at % len(cuts)]
        decoder.feed(data[at : at + size])
        got += take_all(decoder)
        at += size
    assert got == sent


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_garbage_raises_nothing_but_frame_error(data: bytes) -> None:
    decoder = Decoder()
    decoder.feed(data)
    try:
        take_all(decoder)
    except FrameError:
        with pytest.raises(FrameError):
            decoder.next_frame()


@settings(max_examples=200)
@given(st.binary(max_size=60), st.binary(max_size=20))
def test_a_garbage_header_of_right_length_raises_nothing_but_frame_error(head: bytes, payload: bytes) -> None:
    decoder = Decoder()
    decoder.feed(len(head).to_bytes(4, "big") + len(payload).to_bytes(4, "big") + head + payload)
    try:
        frame = decoder.next_frame()
        assert frame is not None and frame.header == json.loads(head)
    except FrameError:
        pass


@pytest.mark.parametrize(
    "head",
    [b"[" * 60000, b'{"a":' * 10000, b"1" * 9000, b"\xff\xfe", b"null", b"[]", b'"x"', b"", b'{"a":1}x'],
)
def test_nasty_headers_are_frame_errors(head: bytes) -> None:
    decoder = Decoder()
    decoder.feed(len(head).to_bytes(4, "big") + bytes(4) + head)
    with pytest.raises(FrameError):
        decoder.next_frame()


def test_frames_before_the_garbage_are_given_out() -> None:
    decoder = Decoder()
    decoder.feed(encode(Frame({"a": 1})) + b"\xff" * 8)
    assert decoder.next_frame() == Frame({"a": 1})
    with pytest.raises(FrameError):
        decoder.next_frame()


def test_sizes_over_the_limit_are_refused_on_both_sides_before_the_bytes_come() -> None:
    with pytest.raises(FrameError):
        encode(Frame({"a": "x" * MAX_HEADER}))
    with pytest.raises(FrameError):
        encode(Frame({}, bytes(MAX_PAYLOAD + 1)))
    decoder = Decoder()
    decoder.feed((2).to_bytes(4, "big") + (MAX_PAYLOAD + 1).to_bytes(4, "big"))
    with pytest.raises(FrameError):
        decoder.next_frame()


def test_a_header_that_is_not_json_is_refused_by_the_encoder() -> None:
    with pytest.raises(FrameError):
        encode(Frame({"a": object()}))


@settings(max_examples=60)
@given(records)
def test_records_come_back_whole(items: list[tuple[int, str, bytes]]) -> None:
    made, data = encoded(items)
    reader = InputReader(io.BytesIO(data))
    assert list(reader) == made
    assert (reader.torn, reader.good_upto, reader.last_n) == (None, len(data), len(made))


def test_a_record_torn_at_every_byte_is_left_out_and_told() -> None:
    made, data = encoded([(1, "first", b"one\n"), (1, "second", b"two two\n"), (2, "third", b"")])
    ends = [sum(len(record.encode()) for record in made[:count]) for count in range(len(made) + 1)]
    for cut in range(len(data) + 1):
        reader = InputReader(io.BytesIO(data[:cut]))
        whole = sum(1 for end in ends[1:] if end <= cut)
        assert list(reader) == made[:whole]
        assert reader.good_upto == ends[whole]
        assert (reader.torn is None) == (cut in ends)


@settings(max_examples=100)
@given(records.filter(bool), st.data())
def test_a_flipped_bit_is_never_read_as_a_message(items: list[tuple[int, str, bytes]], data: st.DataObject) -> None:
    made, raw = encoded(items)
    at = data.draw(st.integers(0, len(raw) - 1))
    bad = bytearray(raw)
    bad[at] ^= 1 << data.draw(st.integers(0, 7))
    reader = InputReader(io.BytesIO(bytes(bad)))
    got = list(reader)
    assert got == made[: len(got)] and len(got) < len(made)
    assert reader.torn is not None


def test_a_hole_in_the_numbers_stops_the_reader() -> None:
    first, third = InputRecord(1, 1, "a", b"x"), InputRecord(3, 1, "c", b"z")
    reader = InputReader(io.BytesIO(first.encode() + third.encode()))
    assert list(reader) == [first]
    assert reader.torn is not None and "where 2 was due" in reader.torn


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_the_record_reader_never_raises(data: bytes) -> None:
    assert not list(InputReader(io.BytesIO(data)))


def test_a_changed_byte_in_a_slot_is_no_value(tmp_path: Path) -> None:
    path = tmp_path / "slots"
    SlotFile.create(str(path), slot_bytes=4096, slots=1).write({"word": "abc"}, sync=True)
    assert read_slots(str(path)) == {"word": "abc"}
    path.write_bytes(path.read_bytes().replace(b"abc", b"abd"))
    assert read_slots(str(path)) is None


def test_a_half_written_slot_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "slots"
    file = SlotFile.create(str(path), slot_bytes=4096, slots=2)
    assert read_slots(str(path)) is None
    file.write({"n": 1}, sync=True)
    before = path.read_bytes()
    file.write({"n": 2}, sync=True)
    after = path.read_bytes()
    for cut in range(4096, len(after), 61):
        path.write_bytes(after[:cut] + before[cut:])
        assert read_slots(str(path)) in ({"n": 1}, {"n": 2})
    assert len(before) == len(after)
