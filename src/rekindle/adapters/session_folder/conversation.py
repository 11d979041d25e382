"""A session's conversation, read from its folder: over all attempts, and as it grows. Needs no daemon."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from rekindle.adapters.machine.file_growth import GrowthAwaited
from rekindle.adapters.session_folder.layout import SessionFolder, session_folder
from rekindle.adapters.session_folder.own_record import OwnRecord, copied_size
from rekindle.adapters.session_folder.session_file import agent_of, is_in_terminal, kind_of
from rekindle.adapters.session_folder.spools import AttemptSpools
from rekindle.agents.base import conversation
from rekindle.agents.base.conversation import ConversationEntry
from rekindle.agents.base.dialect import Dialect
from rekindle.agents.base.transcript import TranscriptDialect
from rekindle.agents.registry import AGENTS
from rekindle.keeper import launch
from rekindle.keeper.outcome import EndedBy, ExitRecord
from rekindle.keeper.spec import Layout
from rekindle.ports.conversations import FollowedConversation

#: How often to check when there are no notifications.
_LOOK_SECONDS = 0.15


class SpooledConversation:
    """Reads what is there, and on the next `poll` what has come since. With `attempts`, only these are read."""

    source = ""

    def __init__(self, folder: str, attempts: Collection[int] | None = None) -> None:
        self._own = SessionFolder(folder)
        self._wanted = attempts
        self._attempts: dict[int, _AttemptReader] = {}
        self._growth: GrowthAwaited | None = None

    @property
    def ended(self) -> frozenset[int]:
        """The attempts that were read to their end: nothing will come of them any more."""
        return frozenset(number for number, reader in self._attempts.items() if reader.ended)

    def poll(self) -> list[ConversationEntry]:
        """Entries that have not been given out yet, in order."""
        found: list[ConversationEntry] = []
        for number in self._own.attempts():
            if self._wanted is not None and number not in self._wanted:
                continue
            if number not in self._attempts:
                dialect = kind_of(self._own.path, number).dialect(number, "", None)
                self._attempts[number] = _AttemptReader(self._own.attempt(number), number, dialect)
                found += conversation.beginning(number)
            found += self._attempts[number].poll()
        return found

    def wait(self, seconds: float) -> None:
        """Wait until there may be more, at most so long."""
        self._growth = self._growth or GrowthAwaited()
        places = [self._own.path, *(self._own.attempt(number) for number in self._own.attempts()[-1:])]
        new = [place for place in places if self._growth.add(place)]
        if not new:  # else it may have grown before it was watched
            self._growth.wait(seconds, otherwise=_LOOK_SECONDS)


class TerminalConversation:
    """Of an agent in a terminal. Its spools hold keys and a screen: what was said is in its own record.

    `ended` is empty: somebody may still copy the last words of a record.
    """

    ended: frozenset[int] = frozenset()
    source = ""

    def __init__(self, folder: str, dialect: TranscriptDialect, attempts: Collection[int] | None = None) -> None:
        self._spooled = SpooledConversation(folder)
        self._record = OwnRecord(SessionFolder(folder), dialect)
        self._wanted = attempts
        self._shown: list[ConversationEntry] = []
        self._given: Counter[ConversationEntry] = Counter()

    def poll(self) -> list[ConversationEntry]:
        """Entries that have not been given out yet, in order."""
        self._shown += self._spooled.poll()
        given, found = self._given.copy(), []
        for entry in conversation.with_record(self._shown, self._record.turns()):
            if given[entry]:
                given[entry] -= 1
            else:
                found.append(entry)
        self._given.update(found)
        return [entry for entry in found if self._wanted is None or entry.attempt in self._wanted]

    def wait(self, seconds: float) -> None:
        """Wait until there may be more, at most so long. A record is copied to where nobody looks at once."""
        self._spooled.wait(min(seconds, _LOOK_SECONDS))


def open_conversation(
    folder: str, attempts: Collection[int] | None = None
) -> SpooledConversation | TerminalConversation:
    """The conversation of the session in a folder, from its beginning; with `attempts`, only these."""
    if is_in_terminal(folder):
        dialect = AGENTS[agent_of(folder)].transcript
        if dialect is not None:
            return TerminalConversation(folder, dialect, attempts)
    return SpooledConversation(folder, attempts)


class FolderConversations:
    """See `rekindle.ports.conversations.Conversations`. `sessions` is the folder of all sessions."""

    def __init__(self, sessions: str) -> None:
        self._sessions = sessions

    def follow(self, session: str, attempts: Collection[int] | None = None) -> FollowedConversation:
        """A session's conversation from its beginning."""
        return open_conversation(session_folder(self._sessions, session).path, attempts)

    def read(self, session: str, attempts: Collection[int] | None = None) -> list[ConversationEntry]:
        """All that there is of it now."""
        return self.follow(session, attempts).poll()

    def is_in_terminal(self, session: str) -> bool:
        """Whether the session's agent is used as an interactive program."""
        return is_in_terminal(session_folder(self._sessions, session).path)


@dataclass(frozen=True)
class Extent:
    """How much there is of an attempt. As long as it is the same, reading again gives the same. `at`: last written."""

    sizes: tuple[int, ...]
    at: float


def extent(folder: str, attempt: int) -> Extent:
    """How much there is to read of an attempt now."""
    own = SessionFolder(folder)
    there = Layout(own.attempt(attempt))
    sizes = [copied_size(own)] if is_in_terminal(folder) else []
    at = 0.0
    for path in (there.input, there.out, there.exit):
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            sizes.append(-1)
            continue
        # The file of the exit has its size before it has its content.
        sizes.append(status.st_mtime_ns if path == there.exit else status.st_size)
        at = max(at, status.st_mtime)
    return Extent(tuple(sizes), at)


class _AttemptReader:
    def __init__(self, folder: str, number: int, dialect: Dialect) -> None:
        self._folder = folder
        self._number = number
        self._dialect = dialect
        self._spools = AttemptSpools(folder, dialect)
        self._told: set[str] = set()
        self.ended = False

    def poll(self) -> list[ConversationEntry]:
        if self.ended:
            return []
        record = launch.read_exit(self._folder)
        found = [entry for one in self._spools.poll() for entry in conversation.entries(one, self._number)]
        found += [
            conversation.unreadable(self._number, one) for one in self._spools.unreadable if one not in self._told
        ]
        self._told.update(self._spools.unreadable)
        if record is not None and not self._spools.unreadable:
            self.ended = True
            if self._dialect.is_prompting:
                found.append(_end_of_turn(self._number, record))
        return found


def _end_of_turn(attempt: int, record: ExitRecord) -> ConversationEntry:
    """How a turn ended that the agent did not end itself. A stop is not an accident, whatever the exit code says."""
    if record.ended_by is EndedBy.STOP and record.reason == "given up":
        return conversation.cut_off(attempt, "rekindle ended it: it was silent or took too long")
    if record.ended_by is EndedBy.STOP:
        return conversation.stopped(attempt)
    if record.ended_by is EndedBy.DEADLINE:
        return conversation.cut_off(attempt, record.reason)
    return conversation.cut_off(attempt, f"killed by {record.signal}" if record.signal else f"exit {record.code}")
