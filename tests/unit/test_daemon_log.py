"""The daemon's log: bounded, whatever happens how often."""

from __future__ import annotations

import logging
import os
import resource
import subprocess
import sys
from pathlib import Path

from rekindle.adapters.machine.daemon_log import BoundedLog, PlainLines, Repeated


def record(message: str, level: int = logging.ERROR) -> logging.LogRecord:
    return logging.LogRecord("rekindle", level, __file__, 1, message, (), None)


def test_the_same_fault_is_written_a_few_times_a_minute_and_counted() -> None:
    now = 0.0
    repeated = Repeated(lambda: now)
    assert sum(repeated.filter(record("it failed")) for _ in range(1000)) == 5
    assert repeated.filter(record("something else failed"))
    assert all(repeated.filter(record("started", logging.INFO)) for _ in range(1000))
    now = 61.0
    again = record("it failed")
    assert repeated.filter(again)
    assert again.getMessage() == "it failed (and 995 more like this)"


def test_a_name_from_elsewhere_begins_no_line_and_steers_no_terminal() -> None:
    forged = PlainLines("%(levelname)s %(message)s").format(record("f\x1b[31m\x07\u202e\nINFO all is well"))
    assert forged.isprintable() and forged.startswith("ERROR f")
    try:
        raise ValueError("why")
    except ValueError:
        with_cause = logging.LogRecord("rekindle", 40, __file__, 1, "it failed", (), sys.exc_info())
    assert PlainLines("%(message)s").format(with_cause).splitlines()[-1] == "ValueError: why"


def test_many_different_faults_are_not_all_remembered() -> None:
    repeated = Repeated(lambda: 0.0)
    for number in range(10_000):
        assert repeated.filter(record(f"fault {number}"))
    assert len(repeated._seen) <= 200


def test_the_log_has_two_files_at_most_and_standard_error_follows_it(tmp_path: Path) -> None:
    code = """
import logging, os, sys
from rekindle.adapters.machine.daemon_log import BoundedLog
os.umask(0)
handler = BoundedLog(sys.argv[1], largest=10_000)
for number in range(1000):
    handler.emit(logging.LogRecord("r", 40, "", 1, f"{number} " + "x" * 100, (), None))
os.write(2, b"a word on standard error")
"""
    path = tmp_path / "daemon.log"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    found = {one.name: one.stat() for one in tmp_path.iterdir()}
    assert set(found) == {"daemon.log", "daemon.log.1"}
    assert all(one.st_size < 12_000 for one in found.values())
    assert all(one.st_mode & 0o777 == 0o600 for one in found.values())
    assert path.read_text().endswith("a word on standard error")


def test_a_log_with_no_file_descriptor_left_loses_lines_and_raises_nothing(tmp_path: Path) -> None:
    handler = BoundedLog(str(tmp_path / "daemon.log"), largest=1000)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    kept = os.dup(1)
    errors = os.dup(2)
    taken: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        try:
            while True:
                taken.append(os.dup(0))
        except OSError:
            pass
        for number in range(100):
            handler.emit(record(f"{number} " + "x" * 100))
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        handler.close()
        os.dup2(kept, 1)
        os.dup2(errors, 2)
        os.close(kept)
        os.close(errors)
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) < 4000
