"""The daemon may die at any time: whoever reads on at the last offset has every byte."""

import os
import signal
import subprocess
import sys

from rekindle.keeper.processes import is_running
from tests.keeper.keeper_bench import Bench, python_agent, until

SPEAKS = """
import sys
for number in range(60000):
    print("line", number, "x" * (number % 50), flush=number % 7 == 0)
sys.stdout.flush()
for line in sys.stdin:
    print("got", line, end="", flush=True)
"""
READS = """
import os, sys
source, copy = sys.argv[1:]
out = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
at = os.fstat(out).st_size
inp = os.open(source, os.O_RDONLY)
print("reading", flush=True)
while True:
    at += os.write(out, os.pread(inp, 1000, at))
"""


def test_thirty_killed_readers_have_read_the_very_same_bytes(bench: Bench) -> None:
    session = bench.start(python_agent(SPEAKS))
    copy = bench.root / "copy"
    sent = 0
    for turn in range(30):
        reader = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", READS, str(session.folder / "out"), str(copy)],
            stdout=subprocess.PIPE,
        )
        assert reader.stdout and reader.stdout.readline()
        with session.client() as client:  # a message that is sent again after every crash
            sent = client.send(f"p{turn // 3}", b"%d\n" % (turn // 3)).n
        before = copy.stat().st_size
        until(lambda at=before: copy.stat().st_size > at or at == (session.folder / "out").stat().st_size)  # type: ignore[misc]
        reader.send_signal(signal.SIGKILL)
        reader.communicate()
    assert sent == 10
    assert is_running(session.agent)
    until(lambda: b"got 9\n" in session.out())
    said = session.out()
    with open(copy, "ab") as rest:
        rest.write(said[os.path.getsize(copy) :])
    assert copy.read_bytes() == said
    assert said.count(b"line ") == 60000
    assert [said.count(b"got %d\n" % n) for n in range(10)] == [1] * 10
