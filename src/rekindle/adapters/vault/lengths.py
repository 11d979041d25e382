"""How long each copy in a vault has to be: SESSION/vault.json, beside the vault and not in it.

A copy that was cut short at the end of a frame, or emptied, looks whole by itself, and a deleted one leaves nothing to
look at. So how much was put on disk is written down elsewhere, and synced, before anybody relies on the copy.
"""

from __future__ import annotations

import msgspec

from rekindle import files
from rekindle.adapters.vault.edition import EditionContent


class Length(msgspec.Struct, frozen=True):
    """`bytes` of an edition's file are on disk, and `digest` is the last one in them."""

    bytes: int
    digest: str


class Unlisted(Exception):
    """The list cannot be read."""


def read(vault: str) -> dict[str, Length] | None:
    """What a vault has to hold, by the names of its files; None if nothing was ever listed. Raises Unlisted."""
    try:
        return msgspec.json.decode(files.read(place(vault)), type=dict[str, Length])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unlisted(error.strerror or str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unlisted(str(error)) from error


def write(vault: str, listed: dict[str, Length]) -> None:
    """On disk when this returns. Raises OSError; then the old list stands."""
    files.replace(place(vault), msgspec.json.encode(listed), mode=0o600, durable=True)


def problem(found: EditionContent, listed: Length | None) -> tuple[int, int, str] | None:
    """What a copy lacks of its listed length (from, to, why); None if nothing."""
    if listed is None:
        return None
    if found.scan.good_upto < listed.bytes:
        why = "it is cut short" if found.scan.good_upto else "it is empty"
        return found.scan.good_upto, listed.bytes, why
    ends = {one.end: one.digest for one in found.scan.frames}
    if ends.get(listed.bytes, listed.digest) != listed.digest:
        return 0, listed.bytes, "another copy was put in its place"
    return None


def place(vault: str) -> str:
    """Where the list of a vault is."""
    return f"{vault}.json"
