"""How structs become text in the store and come back: JSON, any Python text included.

msgspec is exact and fast but knows no lone surrogates (a path that is not valid UTF-8 has them); the standard library
does, so it takes over for those. Columns beside the JSON are for looking things up: `shown` makes any text fit for
them.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

import msgspec

from rekindle.core.fact import Fact
from rekindle.core.names import why_not
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session
from rekindle.core.streams import STREAMS, StreamKind, kind_of
from rekindle.ports.errors import BadEvent

T = TypeVar("T")

_FACTS: dict[StreamKind, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(stream.facts) for name, stream in STREAMS.items()
}
_SESSION: msgspec.json.Decoder[Session] = msgspec.json.Decoder(Session)


#: How much of a wrong id is shown.
_SHOWN = 60


class Unreadable(ValueError):
    """The text is not what was written."""


def encode(value: object) -> str:
    """Any struct, list or dict as JSON text."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value))


def encode_fact(fact: Fact) -> str:
    """A fact as JSON. A number that JSON does not have is refused: it would come back as something else."""
    for name in fact.__struct_fields__:
        value = getattr(fact, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise BadEvent(f"{kind_of(fact)}: {name} is {value}, which cannot be stored", "Give a finite number.")
    return encode(fact)


def encode_data(data: dict[str, Any]) -> str:
    """The data of an event for a journal; what is not JSON is refused, because the journal would refuse it later."""
    try:
        return json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadEvent(f"the event's data cannot be written as JSON: {error}") from error


def decode_fact(text: str) -> AnyFact:
    """A fact about a session."""
    found: AnyFact = _decode(text, _FACTS["session"], AnyFact)
    return found


def decode_told(stream: StreamKind, text: str) -> Fact:
    """A fact of any stream."""
    found: Fact = _decode(text, _FACTS[stream], STREAMS[stream].facts)
    return found


def decode_session(text: str, name: str | None = None) -> Session:
    """A session; see `named`."""
    return named(_decode(text, _SESSION, Session), name)


def named(session: Session, name: str | None = None) -> Session:
    """The session, if it is the one that its row is about, and can have a folder. Raises Unreadable.

    Folders are made, moved aside and removed by a session's id. A store that several hosts share may hold anything.
    """
    if name is not None and session.id != name:
        raise Unreadable(f"it says that it is session {session.id[:_SHOWN]!r}")
    if (problem := why_not(session.id)) is not None:
        raise Unreadable(f"its id {session.id[:_SHOWN]!r} {problem}")
    return session


def shown(text: str) -> str:
    """Text that every database accepts: invalid Unicode and NUL are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def escaped(text: str) -> str:
    """Text that every database accepts and returns unchanged: as a JSON string if needed."""
    return text if shown(text) == text and not text.startswith('"') else json.dumps(text)


def unescaped(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _decode(text: str, decoder: msgspec.json.Decoder[T], type_: Any) -> T:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        pass
    try:
        value: T = msgspec.convert(json.loads(text), type_)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    return value
