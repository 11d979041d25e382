"""Finds the file that holds a conversation, where its agent's naming leaves parts open that nobody can tell."""

from __future__ import annotations

import fnmatch
import glob

from rekindle import files
from rekindle.adapters.vault.vault import editions, is_transcript
from rekindle.agents.base.transcript import Record, TranscriptDialect
from rekindle.ports.records import RecordsError


def match(dialect: TranscriptDialect, pattern: str, vault: str, *, thorough: bool) -> str | None:
    """The newest file that a pattern means and that has a prompt; else the one that the vault has a copy of.

    If there is only one it is not opened, unless the search has to be thorough.
    """
    there = glob.glob(pattern)
    if len(there) == 1 and not thorough:
        return there[0]
    if spoken := [one for one in there if is_spoken(dialect, one)]:
        return max(spoken)
    try:
        about = [one.read().about for one in editions(vault) if is_transcript(one.source)]
    except OSError:
        about = []
    copied = [one.path for one in about if one is not None]
    return max([path for path in copied if fnmatch.fnmatchcase(path, pattern)] or there, default=None)


def is_spoken(dialect: TranscriptDialect, path: str) -> bool:
    """Whether anybody has said anything in a record; one that cannot be read is taken for one."""
    try:
        return bool(read(dialect, path).prompts)
    except RecordsError:
        return True


def read(dialect: TranscriptDialect, path: str) -> Record:
    """What a file tells; one that is not there tells nothing. Raises RecordsError."""
    try:
        return dialect.read(files.read(path))
    except FileNotFoundError:
        return Record()
    except OSError as error:
        raise RecordsError(f"{path}: cannot be read ({error.strerror})", "check its permissions") from error
