"""The wall around the tests with real agents, and the look that is taken where there is none."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.real import guard
from tests.real.conftest import CASE, ISOLATED

ROOT = Path(__file__).parents[2]

#: Behind a wall of its own a process is its own foreign host: it takes an address that is not loopback, and calls it.
_STRANGER = """
import fcntl, socket, struct, sys, time
from tests.real import guard
assert guard.own_namespace()
any_ = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("192.0.2.7"))
fcntl.ioctl(any_, 0x8916, b"lo:1".ljust(16, b"\\0") + address)
door = socket.create_server(("192.0.2.7", 0))
caller = socket.create_connection(door.getsockname())
print("connected", flush=True)
sys.stdin.read()
"""


def needs_namespaces() -> None:
    if not ISOLATED:
        pytest.skip("the kernel permits no network namespace here: connections are watched instead")


def test_nothing_but_loopback_can_be_reached_from_here() -> None:
    needs_namespaces()
    assert not guard.can_reach_out()
    with pytest.raises(OSError), socket.create_connection(("192.0.2.1", 80), timeout=1):
        pass


def test_nothing_but_loopback_can_be_reached_by_what_the_tests_start(scrubbed: dict[str, str]) -> None:
    needs_namespaces()
    code = "from tests.real import guard; print(guard.can_reach_out())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=scrubbed, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_loopback_itself_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door, socket.create_connection(door.getsockname()) as caller:
        assert guard.foreign_connections([os.getpid()]) == []
        assert caller.getpeername()[0] == "127.0.0.1"


def test_a_connection_to_anywhere_else_is_seen(scrubbed: dict[str, str]) -> None:
    needs_namespaces()
    mark = f"{CASE}={scrubbed[CASE]}"
    with (
        subprocess.Popen(
            [sys.executable, "-c", _STRANGER],
            cwd=ROOT,
            env=scrubbed,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as stranger,
        guard.Watch(lambda: guard.stamped(mark), 0.01) as watch,
    ):
        assert stranger.stdout is not None
        assert stranger.stdin is not None
        assert stranger.stdout.readline() == "connected\n"
        assert guard.stamped(mark) == [stranger.pid]
        until(lambda: watch.seen == {f"{stranger.pid} -> 192.0.2.7"}, "the sight of it")
        stranger.stdin.close()


@pytest.mark.parametrize(
    ("field", "address", "is_loopback"),
    [
        ("0100007F:1F90", "127.0.0.1", True),
        ("070200C0:0050", "192.0.2.7", False),
        ("00000000000000000000000001000000:0050", "::1", True),
        ("0000000000000000FFFF00000100007F:0050", "127.0.0.1", True),
        ("0000000000000000FFFF0000070200C0:0050", "192.0.2.7", False),
        ("B80D0120000000000000000001000000:0050", "2001:db8::1", False),
    ],
)
def test_addresses_of_the_kernel_are_read(field: str, address: str, is_loopback: bool) -> None:
    if sys.byteorder != "little":
        pytest.skip("the examples are those of a little-endian machine")
    found = guard.remote_address(field)
    assert (str(found), found.is_loopback) == (address, is_loopback)


def test_a_process_with_the_stamp_is_found_and_one_without_is_not(scrubbed: dict[str, str]) -> None:
    mark = f"{CASE}={scrubbed[CASE]}"
    with_it = subprocess.Popen(["sleep", "60"], env=scrubbed)
    without = subprocess.Popen(["sleep", "60"], env={})
    try:
        until(lambda: guard.stamped(mark) == [with_it.pid], "the stamp")
    finally:
        for process in (with_it, without):
            process.kill()
            process.wait()
    assert guard.stamped(mark) == []
