"""What a client may ask of a keeper, one method per operation, and who may ask it.

Everything but `hello` and `status` needs a generation that is not lower than the highest one seen:
a daemon that was replaced cannot touch the agent any more. An answer is a header; a refusal is
raised as Refused. The loop, signals and the end of the tree are `tending`'s; this module only asks
for them through `Control`.
"""

import signal
from binascii import crc32
from collections.abc import Callable
from dataclasses import asdict, dataclass

from rekindle.keeper import fields
from rekindle.keeper.deadline import Deadline, is_sensible
from rekindle.keeper.doorway import Caller
from rekindle.keeper.errors import Refused
from rekindle.keeper.files import Files
from rekindle.keeper.frames import PROTO_MAX, PROTO_MIN, Frame, Header
from rekindle.keeper.identity import Identity
from rekindle.keeper.input_records import MAX_ID
from rekindle.keeper.input_spool import SpoolBroken, SpoolFull
from rekindle.keeper.outcome import Truncation
from rekindle.keeper.refusals import Code, refusal, to_header
from rekindle.keeper.spec import Spec
from rekindle.keeper.stdin_feed import StdinFeed

MOST_WAITING = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Control:
    """What the operations need of the loop."""

    stop: Callable[[float, str], None]
    signal_group: Callable[[int], bool]
    feed_changed: Callable[[], None]
    ending: Callable[[], Header | None]
    look: Callable[[], bool]  # observe the spool now; whether there is room
    deadline: Deadline


class Operations:
    def __init__(self, spec: Spec, files: Files, feed: StdinFeed, identity: Identity, control: Control) -> None:
        self._spec = spec
        self._files = files
        self._feed = feed
        self._identity = identity
        self._control = control

    def answer(self, caller: Caller, frame: Frame) -> Header:
        try:
            return {"ok": True, **self._dispatch(caller, frame)}
        except Refused as refused:
            return to_header(refused)
        except fields.FieldError as error:
            return to_header(refusal(Code.BAD_REQUEST, f"{error}."))
        except OSError as error:
            return to_header(refusal(Code.SYSTEM, f"The system refused: {error}."))

    def _dispatch(self, caller: Caller, frame: Frame) -> Header:
        header = frame.header
        operation = header.get("op")
        if operation == "hello":
            return self._hello(caller, header)
        if not caller.greeted:
            raise refusal(Code.HELLO_FIRST, "Say hello first, with proto_min and proto_max.")
        match operation:
            case "status":
                return self._status()
            case "send":
                return self._send(caller, header, frame.payload)
            case "signal":
                self._check_owner(caller)
                return self._signal(header)
            case "stop":
                self._check_owner(caller)
                grace = fields.number(header, "grace") if "grace" in header else self._spec.grace_seconds
                self._control.stop(grace, fields.text(header, "reason"))
                return {}
            case "punch":
                self._check_owner(caller)
                self._control.look()
                return {"upto": self._files.out.punch(fields.integer(header, "upto"))}
            case "renew":
                self._check_owner(caller)
                return self._renew(fields.number(header, "until"))
            case _:
                raise refusal(Code.UNKNOWN_OP, f"This keeper does not know the operation {operation!r}.")

    def _hello(self, caller: Caller, header: Header) -> Header:
        low, high = fields.integer(header, "proto_min"), fields.integer(header, "proto_max")
        proto = min(high, PROTO_MAX)
        if proto < max(low, PROTO_MIN):
            raise refusal(
                Code.PROTOCOL,
                f"This keeper speaks protocol {PROTO_MIN} to {PROTO_MAX}, the client {low} to {high}. "
                "Stop the session with the version that started it.",
                keeper=[PROTO_MIN, PROTO_MAX],
                client=[low, high],
            )
        generation = fields.optional_integer(header, "generation")
        if generation is not None:
            self._check_generation(generation)
        caller.greeted = True
        caller.generation = generation
        return {"proto": proto, "pty": self._spec.pty, **self._who()}

    def _who(self) -> Header:
        who = self._identity
        pids = {"guard": asdict(who.guard), "keeper": asdict(who.keeper), "agent": asdict(who.agent)}
        generation = self._files.progress.now.generation
        return {"session": who.session, "attempt": who.attempt, "generation": generation, "pids": pids}

    def _status(self) -> Header:
        room = self._control.look()
        files, progress, ending = self._files, self._files.progress.now, self._control.ending()
        return {
            **self._who(),
            "state": "ending" if ending else "running",
            "ending": ending,
            "room": room,
            "deadline": self._control.deadline.left(),
            "out": _output(files.out.size, progress.truncated_out),
            "err": _output(files.err.size, progress.truncated_err),
            "input": {
                "spooled_n": progress.spooled_n,
                "started_n": progress.started_n,
                "delivered_n": progress.delivered_n,
                "size": files.input.size,
                "waiting_bytes": files.input.waiting_bytes,
                "unread_bytes": self._feed.unread(),
                "open": self._feed.open,
            },
        }

    def _send(self, caller: Caller, header: Header, payload: bytes) -> Header:
        prompt = _prompt_id(header)
        if caller.generation is None:
            self._check_owner(caller)
        self._check_generation(fields.integer(header, "generation"))
        spool = self._files.input
        known = spool.known(prompt)
        if known is not None:
            if known.crc != crc32(payload):
                raise refusal(Code.ID_REUSED, f"Message {known.n} has this id and another text.", n=known.n)
            return {"n": known.n, "duplicate": True}
        if self._control.ending():
            raise refusal(Code.ENDING, "The agent is being ended. Send it to the next attempt.")
        if not self._feed.open:
            raise refusal(Code.STDIN_CLOSED, "The agent's stdin is closed. Send it to the next attempt.")
        if spool.waiting_bytes + len(payload) > MOST_WAITING:
            raise refusal(Code.BACKLOG_FULL, "The agent does not read its input; too much waits already.")
        if not self._control.look():
            raise _no_room()
        try:
            n = spool.append(self._files.progress.now.generation, prompt, payload)
        except SpoolFull as error:
            raise _no_room() from error
        except SpoolBroken as error:
            raise refusal(Code.DISK_FAILED, "The disk failed while the input was synced.") from error
        self._files.progress.update(spooled_n=n)
        self._control.feed_changed()
        return {"n": n, "duplicate": False}

    def _renew(self, until: float) -> Header:
        deadline = self._control.deadline
        if not deadline.is_set:
            raise refusal(Code.BAD_REQUEST, "This agent was started without a deadline.")
        if not is_sensible(until):
            raise fields.FieldError("until must be a time of this machine's CLOCK_BOOTTIME, at most a day ahead")
        if self._control.ending() or deadline.has_passed:
            raise refusal(Code.ENDING, "It is too late: the agent is being ended.")
        deadline.renew(until)
        return {"left": deadline.left()}

    def _signal(self, header: Header) -> Header:
        name = fields.text(header, "name")
        if name not in signal.Signals.__members__:
            raise fields.FieldError(f"name must be a signal such as SIGINT, not {name!r}")
        if not self._control.signal_group(signal.Signals[name]):
            raise refusal(Code.NOT_RUNNING, "The agent has exited already.")
        return {}

    def _check_owner(self, caller: Caller) -> None:
        if caller.generation is None:
            raise refusal(Code.OBSERVER, "This client said hello without a generation: it may only look.")
        self._check_generation(caller.generation)

    def _check_generation(self, given: int) -> None:
        """Refuse a lower one; adopt a higher one, on the disk before anything is done in its name."""
        current = self._files.progress.now.generation
        if given < current:
            raise refusal(
                Code.STALE_GENERATION,
                f"Generation {given} was replaced by {current}. Give the session up.",
                current=current,
            )
        if given > current:
            self._files.progress.update(generation=given)


def _output(size: int, truncated: Truncation | None) -> Header:
    return {"size": size, "truncated": None if truncated is None else asdict(truncated)}


def _prompt_id(header: Header) -> str:
    prompt = fields.text(header, "id")
    try:
        size = len(prompt.encode())
    except UnicodeEncodeError:  # JSON can carry half a surrogate pair, a record cannot
        size = 0
    if not 0 < size <= MAX_ID:
        raise fields.FieldError(f"id must be a text of 1 to {MAX_ID} bytes")
    return prompt


def _no_room() -> Refused:
    return refusal(
        Code.NO_ROOM,
        "The disk has no room for what the agent would answer. Free some and send again.",
    )
