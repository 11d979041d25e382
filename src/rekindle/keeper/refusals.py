"""The words with which a keeper says no: codes for branching, and their way over the wire.

Both sides use it: the keeper turns a Refused into a header, the client turns the header back into
the same error.
"""

from enum import Enum

from rekindle.keeper.errors import NoRoomForInput, ProtocolMismatch, Refused, ReplacedGeneration


class Code(Enum):
    BAD_FRAME = "bad_frame"
    BAD_REQUEST = "bad_request"
    BACKLOG_FULL = "backlog_full"
    DISK_FAILED = "disk_failed"
    ENDING = "ending"
    FOREIGN_UID = "foreign_uid"
    HELLO_FIRST = "hello_first"
    ID_REUSED = "id_reused"
    NO_ROOM = "no_room"
    NOT_RUNNING = "not_running"
    OBSERVER = "observer"
    PROTOCOL = "protocol"
    STALE_GENERATION = "stale_generation"
    STDIN_CLOSED = "stdin_closed"
    SYSTEM = "system"
    UNKNOWN_OP = "unknown_op"


def refusal(code: Code, message: str, **details: object) -> Refused:
    return Refused(code.value, message, details)


def to_header(refused: Refused) -> dict[str, object]:
    return {**refused.details, "ok": False, "code": refused.code, "message": str(refused)}


def from_header(header: dict[str, object]) -> Refused:
    code = str(header.get("code", ""))
    details = {key: value for key, value in header.items() if key not in ("ok", "code", "message", "re")}
    kinds: dict[str, type[Refused]] = {
        Code.STALE_GENERATION.value: ReplacedGeneration,
        Code.PROTOCOL.value: ProtocolMismatch,
        Code.NO_ROOM.value: NoRoomForInput,
    }
    return kinds.get(code, Refused)(code, str(header.get("message", code)), details)
