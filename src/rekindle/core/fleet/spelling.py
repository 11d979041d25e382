"""How the settings of a fleet are written. What cannot be right is refused when it is set. Pure.

Light standard library only: every command reads the settings.
"""

from __future__ import annotations

import re
import shlex

from rekindle.core.fleet.lease import SHORTEST
from rekindle.core.quantities import seconds_in

#: The longest heartbeat, in seconds.
LONGEST = 3600.0
_LABEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
_MEMORY = re.compile(r"memory:([1-9][0-9]{0,5})g")
_REPOSITORY = re.compile(r"repository:([A-Za-z0-9][A-Za-z0-9._-]{0,63})")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_ADDRESS = re.compile(r"[A-Za-z0-9._\[\]:-]+:[0-9]{1,5}")
#: A scheme, then perhaps a user, then the rest. A colon behind the user's name would begin a password.
_STORE = re.compile(r"(postgresql|postgres)(\+\w+)?://([^/?#@:]*@)?[^@#]*")
#: A password, or a token as a user's name, in the address of a repository.
_SECRET = re.compile(r"https?://[^/@]*@|[A-Za-z][A-Za-z0-9+.-]*://[^/@:]*:[^/@]*@")


def is_label(text: str) -> bool:
    """Whether a text can be a label that somebody gives a host: a word, or `account:` and one."""
    return _LABEL.fullmatch(text.removeprefix("account:")) is not None


def is_need(text: str) -> bool:
    """Whether a job can need this of a host: a label, memory (`memory:16g`), or a clone (`repository:shop`)."""
    return is_label(text) or gigabytes_in(text) is not None or is_repository_label(text)


def is_repository_label(text: str) -> bool:
    """Whether a text says that a host has a clone of a repository."""
    return _REPOSITORY.fullmatch(text) is not None


def gigabytes_in(text: str) -> int | None:
    """How many gigabytes of memory a host needs to have for this, or has; None: it is about something else."""
    found = _MEMORY.fullmatch(text)
    return int(found[1]) if found is not None else None


def are_labels(text: str) -> bool:
    """Whether every word can be a label."""
    return all(is_label(one) for one in text.split())


def is_host(text: str) -> bool:
    """Whether a text can be the name of a host."""
    return _HOST.fullmatch(text) is not None


def is_address(text: str) -> bool:
    """Whether a text is HOST:PORT."""
    return _ADDRESS.fullmatch(text) is not None


def is_store(text: str) -> bool:
    """Whether a text is the address of a database, with no password in it."""
    return _STORE.fullmatch(text) is not None and "password=" not in text


def is_heartbeat(text: str) -> bool:
    """Whether a text is a time that a host may be silent."""
    seconds = seconds_in(text)
    return seconds is not None and SHORTEST <= seconds <= LONGEST


def are_sources(text: str) -> bool:
    """Whether a text says where repositories are fetched from: NAME=ADDRESS, with blanks between.

    A password in an address would be seen by everybody on the host who lists processes, and in logs.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    parted = [word.partition("=") for word in words]
    return all(name and address and _SECRET.match(address) is None for name, _, address in parted)


def is_file(text: str) -> bool:
    """Whether a text is the whole path of a file: the daemon has a working folder of its own."""
    return text.startswith("/") and "\0" not in text


def is_blobs(text: str) -> bool:
    """Whether a text says where copies are: in the store, or in a folder with its whole path."""
    return text == "postgresql" or text.startswith("/")
