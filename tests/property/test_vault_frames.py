"""Properties of the vault's frames: any bytes can be read, and what is wrong with them is found where it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.vault.frames import DIGEST, MAGIC, START, Kind, VaultFrame, encode, scan
from rekindle.core.vault.joining import join

payloads = st.one_of(st.binary(max_size=80), st.just(MAGIC * 3), st.just(bytes(50)))
frames = st.builds(
    VaultFrame,
    st.sampled_from(Kind),
    st.integers(0, 2**32 - 1),
    st.text(max_size=5),
    st.integers(0, 2**64 - 1),
    payloads,
)


def written(all_frames: list[VaultFrame]) -> tuple[bytes, list[int]]:
    data, ends, digest = b"", [0], START
    for frame in all_frames:
        data += encode(frame, digest)
        digest = data[-DIGEST:]
        ends.append(len(data))
    return data, ends


@given(st.lists(frames, max_size=5))
def test_what_was_written_is_read(given_frames: list[VaultFrame]) -> None:
    data, ends = written(given_frames)
    found = scan(data)
    assert [one.frame for one in found.frames] == given_frames
    assert [one.end for one in found.frames] == ends[1:]
    assert (found.damage, found.torn, found.good_upto) == ((), None, len(data))
    assert found.digest == (data[-DIGEST:] if data else START)


@given(st.lists(frames, min_size=1, max_size=3))
def test_a_file_that_was_torn_at_any_byte_keeps_every_whole_frame_and_goes_on_behind_them(
    given_frames: list[VaultFrame],
) -> None:
    data, ends = written(given_frames)
    more = VaultFrame(Kind.BYTES, 1, "x", 0, b"more")
    for cut in range(len(data) + 1):
        found = scan(data[:cut])
        whole = sum(end <= cut for end in ends[1:])
        assert [one.frame for one in found.frames] == given_frames[:whole]
        assert found.good_upto == ends[whole]
        assert (found.torn is None) == (cut == ends[whole])
        assert found.damage == ()
        mended = data[: found.good_upto] + encode(more, found.digest)
        assert [one.frame for one in scan(mended).frames] == [*given_frames[:whole], more]


@given(st.lists(frames, min_size=2, max_size=4), st.data())
def test_a_flipped_bit_is_found_in_its_frame_and_the_others_are_still_read(
    given_frames: list[VaultFrame], draw: st.DataObject
) -> None:
    data, ends = written(given_frames)
    at = draw.draw(st.integers(0, len(data) - 1))
    flipped = bytearray(data)
    flipped[at] ^= 1 << draw.draw(st.integers(0, 7))
    found = scan(bytes(flipped))
    hit = sum(end <= at for end in ends[1:])
    in_digest = at >= ends[hit + 1] - DIGEST
    read = [one.frame for one in found.frames]
    assert read == given_frames[:hit] + given_frames[hit + 1 + in_digest :]
    places = [one.at for one in found.damage]
    assert places == [ends[hit]] or (not places and found.torn is not None and found.good_upto == ends[hit])


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(data: bytes) -> None:
    found = scan(data)
    assert found.good_upto <= len(data)
    assert bool(data) == bool(found.frames or found.damage or found.torn)


def test_room_that_a_loss_of_power_left_unwritten_is_a_torn_end() -> None:
    data, _ = written([VaultFrame(Kind.BYTES, 1, "out", 0, b"said")])
    found = scan(data + bytes(4096))
    assert (found.good_upto, found.damage) == (len(data), ())
    assert found.torn is not None


lines = st.lists(st.integers(0, 10**6).map(lambda number: b"%d" % number), max_size=12, unique=True)


@given(lines, st.data())
def test_what_a_record_lost_is_joined_from_its_copy(all_lines: list[bytes], draw: st.DataObject) -> None:
    end = draw.draw(st.integers(0, len(all_lines)))
    copy = all_lines[:end]
    lost = draw.draw(st.sets(st.sampled_from(copy[:-1]))) if len(copy) > 1 else set[bytes]()
    here = [line for line in all_lines if line not in lost]
    assert join(here, copy) == all_lines


@given(lines, st.integers(0, 12))
def test_a_record_that_was_cut_is_joined_from_its_copy(all_lines: list[bytes], cut: int) -> None:
    assert join(all_lines[:cut], all_lines) == all_lines


def test_a_record_that_went_another_way_is_not_joined() -> None:
    assert join([b"1", b"2", b"other"], [b"1", b"2", b"3"]) is None
    assert join([b"1", b"2", b"3"], [b"1", b"3"]) is None
