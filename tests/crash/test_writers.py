"""Writers that are killed, crowded and starved of room: what was acknowledged is there, and the log stays whole."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.journal_file import append as low
from rekindle.adapters.journal_file import head as heads
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.repair import verify
from rekindle.core.journal.decode import MALFORMED, decode_line
from rekindle.core.journal.event import Event
from rekindle.ports.errors import JournalError
from rekindle.ports.journal import NewEvent

ROOT = Path(__file__).parents[2]


def writer(path: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.writer", str(path), *words],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=240,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def events_in(path: Path) -> list[Event]:
    decoded = (decode_line(line) for line in path.read_bytes().split(b"\n"))
    return [event for event in decoded if isinstance(event, Event)]


def check_killed_writers(path: Path, number: int, seed: int) -> None:
    acknowledged = writer(path, "kills", str(number), str(seed))["acknowledged"]
    assert len(acknowledged) >= number
    found = {f"{event.sid} {event.seq}" for event in events_in(path)}
    assert set(acknowledged) <= found, "an acknowledged event is gone"
    lines = path.read_bytes().split(b"\n")
    for one in lines:
        if decode_line(one) is MALFORMED:
            assert one.count(b'{"v":1') == 1, "an event is glued to a torn line"
    torn = sum(decode_line(one) is MALFORMED for one in lines)
    assert torn <= number, "more than the last line of each killed writer is torn"
    journal = FileJournal(path, "crash")
    journal.append(NewEvent("session.end", {"reason": "completed"}), sid="ffffffff", fresh=True)
    assert path.read_bytes().endswith(b"}\n")
    assert events_in(path)[-1].sid == "ffffffff"
    for sid, run in journal.state().sids.items():
        assert run.work.gaps == [], f"{sid} has holes"
    assert journal.state().duplicates == 0


def test_three_hundred_killed_writers_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    check_killed_writers(tmp_path / "events.jsonl", 300, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_thousands_of_killed_writers(tmp_path: Path, seed: int) -> None:
    check_killed_writers(tmp_path / "events.jsonl", 1000, seed=100 + seed)


@pytest.mark.parametrize("cut", [*range(1, 12), 40, 120])
@pytest.mark.parametrize("data", [{"taskId": "1"}, {"taskId": "1", "a": {"b": {}}}, {"taskId": "1", "a": "}}"}])
def test_the_next_append_closes_a_torn_line(tmp_path: Path, cut: int, data: dict[str, Any]) -> None:
    path = tmp_path / "events.jsonl"
    FileJournal(path, "f").append(NewEvent("session.start"), sid="a")
    FileJournal(path, "f").append(NewEvent("task.started", data), sid="a")
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    got = FileJournal(path, "f").append(NewEvent("task.started", {"taskId": "2"}), sid="a")
    state = FileJournal(path, "f").state()
    only_the_newline_was_missing = cut == 1
    assert got.seq == (2 if only_the_newline_was_missing else 1)
    assert state.malformed == ([] if only_the_newline_was_missing else [2])
    assert state.sids["a"].work.gaps == []
    assert "2" in state.sids["a"].work.tasks
    again = FileJournal(path, "f").append(NewEvent("task.started", {"taskId": "3"}), sid="a")
    assert again.seq == (got.seq or 0) + 1


def test_sixty_four_writers_at_once_leave_no_hole_and_no_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    assert writer(path, "crowd", "64", "15") == {"failed": 0}
    state = FileJournal(path, "f").state()
    assert (state.lines, state.duplicates, state.malformed) == (64 * 15, 0, [])
    assert all(run.work.gaps == [] for run in state.sids.values())
    assert state.sids["5ba4ed00"].events == 32 * 15


def test_a_file_size_limit_gives_a_clear_error_and_a_whole_log(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    found = writer(path, "limit", "20000")
    assert found["code"] == "disk_full"
    assert "room" in found["message"]
    assert found["hint"]
    assert len(events_in(path)) == found["acknowledged"] > 0
    assert verify(path).is_whole


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root to mount a small tmpfs")
def test_a_full_disk_gives_a_clear_error_and_a_whole_log_and_then_goes_on(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=True)
    try:
        journal = FileJournal(disk / "events.jsonl", "f")
        with pytest.raises(JournalError) as error:
            fill(journal)
        assert error.value.code == "disk_full"
        assert 0 < len(events_in(journal.path)) < 1000
        assert verify(journal.path).is_whole
        subprocess.run(["mount", "-o", "remount,size=128k", str(disk)], check=True)
        journal.append(NewEvent("task.started", {"taskId": "later"}), sid="a")
        assert journal.state().sids["a"].work.gaps == []
        journal.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(journal: FileJournal) -> None:
    for number in range(1000):
        journal.append(NewEvent("task.started", {"taskId": str(number), "summary": "x" * 900}), sid="a")


class Failing(low.AppendCalls):
    """A disk that takes only some of a write, or none of it, or loses it at the sync."""

    def __init__(self, *, takes: int | None = None, sync_fails: bool = False) -> None:
        def write(fd: int, data: bytes) -> int:
            return os.write(fd, data if takes is None else data[:takes])

        def sync(fd: int) -> None:
            if sync_fails:
                raise OSError(5, "Input/output error")
            os.fdatasync(fd)

        self.write, self.sync = write, sync


@pytest.mark.parametrize("takes", [0, 1, 50])
def test_a_short_write_is_taken_back(tmp_path: Path, takes: int) -> None:
    path = tmp_path / "events.jsonl"
    FileJournal(path, "f").append(NewEvent("session.start"), sid="a")
    before = path.read_bytes()
    with pytest.raises(JournalError, match="short"):
        FileJournal(path, "f", system=Failing(takes=takes)).append(NewEvent("checkpoint"), sid="a")
    assert path.read_bytes() == before


def test_a_sync_that_fails_is_no_acknowledgement(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="did not confirm"):
        FileJournal(tmp_path / "e.jsonl", "f", system=Failing(sync_fails=True)).append(NewEvent("checkpoint"), sid="a")


def test_a_stopped_writer_does_not_hang_the_others_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    FileJournal(path, "f").append(NewEvent("session.start"), sid="a")
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl,sys; f=open(sys.argv[1],'ab'); fcntl.flock(f,fcntl.LOCK_EX); print('held',flush=1); input()",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(JournalError, match="lock"):
            FileJournal(path, "f", lock_seconds=0.2).append(NewEvent("checkpoint"), sid="a")
    finally:
        holder.kill()
        holder.wait()
        assert holder.stdin is not None
        holder.stdin.close()
        assert holder.stdout is not None
        holder.stdout.close()
    FileJournal(path, "f", lock_seconds=5).append(NewEvent("checkpoint"), sid="a")


def test_a_writer_follows_a_journal_that_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal = FileJournal(path, "f")
    journal.append(NewEvent("session.start"), sid="a")
    kept = path.read_bytes()
    path.rename(tmp_path / "moved")
    path.write_bytes(kept)
    assert journal.append(NewEvent("checkpoint"), sid="a").seq == 1
    assert len(events_in(path)) == 2


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\0\xff", b'{"v":1,"inode":1}', b"9" * 5000])
def test_a_damaged_head_costs_time_and_nothing_else(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events.jsonl"
    for number in range(3):
        FileJournal(path, "f").append(NewEvent("task.started", {"taskId": str(number)}), sid="a")
    (tmp_path / low.HEAD_NAME).write_bytes(content)
    assert FileJournal(path, "f").append(NewEvent("checkpoint"), sid="a").seq == 3


def test_a_head_that_remembers_few_sids_never_gives_a_number_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "_REMEMBERED", 1)
    monkeypatch.setattr(low, "_HEAD_LAG", 0)
    path = tmp_path / "events.jsonl"
    for _ in range(3):
        for sid in ("a", "b", "c", "d"):
            FileJournal(path, "f").append(NewEvent("checkpoint"), sid=sid)
    assert (tmp_path / low.HEAD_NAME).exists()
    state = FileJournal(path, "f").state()
    assert (state.duplicates, [run.last_seq for run in state.sids.values()]) == (0, [2, 2, 2, 2])


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_system_calls_are_write_then_sync_then_acknowledge(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    program = (
        "import os,sys\nfrom pathlib import Path\n"
        "from rekindle.adapters.journal_file.journal import FileJournal\nfrom rekindle.ports.journal import NewEvent\n"
        "FileJournal(Path(sys.argv[1]),'f').append(NewEvent('checkpoint'),sid='a')\nos.write(1,b'ACKNOWLEDGED')\n"
    )
    trace = tmp_path / "trace"
    done = subprocess.run(
        [
            "strace",
            "-f",
            "-s",
            "400",
            "-o",
            str(trace),
            "-e",
            "trace=write,fdatasync",
            sys.executable,
            "-c",
            program,
            str(path),
        ],
        capture_output=True,
        check=False,
        timeout=60,
    )
    if done.returncode != 0 and b"ptrace" in done.stderr.lower():
        pytest.skip("this machine does not let a process be traced")
    assert done.returncode == 0, done.stderr
    calls = [
        "acknowledge" if "ACKNOWLEDGED" in call else name[1]
        for call in trace.read_text().splitlines()
        if (name := re.search(r"\b(write|fdatasync)\(", call))
        and ("checkpoint" in call or "ACKN" in call or "fdata" in call)
    ]
    assert calls == ["write", "fdatasync", "acknowledge"]


def test_repair_keeps_the_original_and_loses_no_event(tmp_path: Path) -> None:
    from rekindle.adapters.journal_file.repair import repair

    path = tmp_path / "events.jsonl"
    journal = FileJournal(path, "f")
    journal.append(NewEvent("session.start"), sid="a")
    with path.open("ab") as file:
        file.write(b'garbage\n{"v":2,"type":"x"}\n{"type":"torn')
    damaged = path.read_bytes()
    before = [event.seq for event in events_in(path)]
    verdict, kept = repair(path)
    assert [line for line, _, _ in verdict.damaged] == [2, 4]
    assert kept is not None
    assert kept.read_bytes() == damaged
    assert [event.seq for event in events_in(path)] == before
    assert b'{"v":2,"type":"x"}' in path.read_bytes(), "a line from another version is not ours to drop"
    assert repair(path)[1] is None


def test_writers_go_on_while_the_journal_is_repaired(tmp_path: Path) -> None:
    from rekindle.adapters.journal_file.repair import repair

    path = tmp_path / "events.jsonl"
    FileJournal(path, "f").append(NewEvent("session.start"), sid="a")
    seen: list[int | None] = []

    def write() -> None:
        journal = FileJournal(path, "f")
        seen.extend(journal.append(NewEvent("checkpoint"), sid="a").seq for _ in range(200))

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        with path.open("ab") as file:
            file.write(b"garbage\n")
        repair(path)
    thread.join()
    found = [event.seq for event in events_in(path)]
    assert seen == list(range(1, 201))
    assert found == list(range(201))


def test_a_second_repair_does_not_undo_what_was_written_after_the_first(tmp_path: Path) -> None:
    from rekindle.adapters.journal_file import lock
    from rekindle.adapters.journal_file.repair import repair

    path = tmp_path / "events.jsonl"
    path.write_bytes(b"garbage\n")
    held, _ = lock.open_locked(str(path), -1, 5)
    second = threading.Thread(target=repair, args=(path,))
    second.start()
    os.rename(path, tmp_path / "old")  # what a first repair does while the second one waits for the lock
    path.write_bytes(b"garbage\n")
    journal = FileJournal(path, "f")
    journal.append(NewEvent("session.start"), sid="a")
    os.close(held)
    second.join()
    assert [event.sid for event in events_in(path)] == ["a"]
    assert verify(path).is_whole


def test_a_known_id_behind_a_very_long_line_is_found(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"type":"note","x":"' + b"y" * (low.MAX_LINE + 500_000) + b'"}\n')
    for written in (True, False):
        done = FileJournal(path, "f").append(NewEvent("checkpoint", event_id="E"), sid="a")
        assert done.written is written


def test_nesting_beyond_the_limit_is_malformed_whoever_asks() -> None:
    def nested(depth: int) -> bytes:
        return b'{"type":"x","data":' + b"[" * depth + b"]" * depth + b"}"

    def deeper(frames: int) -> object:
        return deeper(frames - 1) if frames else decode_line(nested(499))

    assert isinstance(deeper(300), Event)
    assert decode_line(nested(500)) is MALFORMED
    assert decode_line(b'{"type":"x","data":"' + b"[" * 5000 + b'"}') is not MALFORMED
