"""The two spools of an attempt, from its folder or from the vault: the one place where they are opened and read."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import BinaryIO

from rekindle.adapters.session_folder.spool_files import open_spool
from rekindle.agents.base.account import Account, Accounting
from rekindle.agents.base.dialect import Dialect
from rekindle.agents.base.exchange import Exchange, Exchanged, SpooledMessage
from rekindle.agents.base.framing import Framer, Line
from rekindle.agents.base.kind import AgentKind
from rekindle.keeper.input_records import InputReader
from rekindle.keeper.spec import Layout

_BLOCK = 1 << 20


class AttemptSpools:
    """Reads what is there, and on the next `poll` what has come since. Never raises for what is in the files.

    `problems` says what was wrong the last time, `unreadable` what of that somebody has to see to: a file that is not
    there, or not whole, may just not be written yet.
    """

    def __init__(self, folder: str, dialect: Dialect) -> None:
        self._folder = folder
        self._exchange = Exchange(dialect)
        self._messages = 0
        self._messages_end = 0
        self.problems: list[str] = []
        self.unreadable: list[str] = []

    @property
    def is_partial(self) -> bool:
        """Whether the beginning of the output was given back."""
        return self._exchange.is_partial

    def poll(self) -> Iterator[Exchanged]:
        """Both spools may grow meanwhile. A message is written before the agent can answer it, so the input is read
        again behind the end of the output; and what was in it before counts as sent when that output is read.
        """
        self.problems.clear()
        self.unreadable.clear()
        self._read_messages()
        there = self._messages
        try:
            file = open_spool(self._folder, "out")
        except OSError as error:
            self._failed("its output cannot be read", error)
        else:
            with file:
                size = os.fstat(file.fileno()).st_size
                self._read_messages()
                yield from self._read_output(file, size)
        yield from self._exchange.settle(there)

    def _read_messages(self) -> None:
        try:
            with open_spool(self._folder, "in") as file:
                reader = InputReader(file)
                file.seek(self._messages_end)
                reader.good_upto, reader.last_n = self._messages_end, self._messages
                self._exchange.sent(SpooledMessage(one.n, one.prompt, one.payload) for one in reader)
        except OSError as error:
            self._failed("its input cannot be read", error)
            return
        self._messages_end, self._messages = reader.good_upto, reader.last_n
        if reader.torn is not None:
            self._tell(f"its input ends with {reader.torn}")

    def _read_output(self, file: BinaryIO, size: int) -> Iterator[Exchanged]:
        if size < self._exchange.offset:
            self._exchange.shortened(size)
        if self._exchange.offset == 0:
            self._exchange.skip(_hole(file, size))
        try:
            file.seek(self._exchange.offset)
            while block := file.read(min(_BLOCK, size - self._exchange.offset)):
                yield from self._exchange.heard(block)
        except OSError as error:
            self._failed("its output can be read in part only", error)

    def _failed(self, what: str, error: OSError) -> None:
        problem = f"{what}: {error.strerror}"
        self._tell(problem)
        if not isinstance(error, FileNotFoundError) and problem not in self.unreadable:
            self.unreadable.append(problem)

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def read_account(folder: str, attempt: int, kind: AgentKind, at: float) -> Account:
    """What an attempt's spools tell as facts. `at` is when it began; `problems` says what could not be read."""
    dialect = kind.dialect(attempt, "", None)
    spools = AttemptSpools(folder, dialect)
    accounting = Accounting(attempt, at, _heard_at(folder, at))
    for exchanged in spools.poll():
        accounting.take(exchanged)
    account = accounting.conclude(dialect, is_partial=spools.is_partial)
    account.problems[:0] = spools.problems
    return account


def heard_lines(folder: str) -> Iterator[bytes]:
    """The lines that the agent of an attempt wrote to us, as far as anybody has them."""
    try:
        with open_spool(folder, "out") as file:
            file.seek(_hole(file, os.fstat(file.fileno()).st_size))
            framer = Framer()
            while block := file.read(_BLOCK):
                yield from (line.data.lstrip(b"\0") for line in framer.feed(block) if isinstance(line, Line))
    except OSError:
        return


def _hole(file: BinaryIO, size: int) -> int:
    """How many bytes the keeper has given back before the first block that is there."""
    try:
        return min(os.lseek(file.fileno(), 0, os.SEEK_DATA), size)
    except OSError as error:
        return size if error.errno == errno.ENXIO else 0  # nothing but a hole; a file system that does not know of any


def _heard_at(folder: str, at: float) -> float:
    """When the agent was last heard; when it was started, where only a copy is left."""
    try:
        return max(at, os.stat(Layout(folder).out).st_mtime)
    except OSError:
        return at
