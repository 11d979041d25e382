"""What to run: the order that the daemon gives to one guard, and where its files are.

One spec is one incarnation: one folder, used once. The spec is written to `spec.json` with mode 0600,
because env may hold secrets, and the guard reads nothing else. No process is touched here.
"""

import json
import os
from dataclasses import asdict, dataclass
from enum import Enum

from rekindle.keeper import fields
from rekindle.keeper.deadline import is_sensible
from rekindle.keeper.errors import FolderInUse, SpecError

STAMP_VARIABLE = "REKINDLE_STAMP"
LONGEST_SOCKET_PATH = 99  # the kernel's limit is 108; a little is left for chroots and suffixes


class Background(Enum):
    """What happens to processes that the agent moved into sessions of their own."""

    END = "end"
    KEEP = "keep"


@dataclass(frozen=True)
class Spec:
    """`stamp` has to be the same for all attempts of a session: leftovers are found by it.

    `socket` is derived by `launch.spawn`; leave it empty. `deadline_until` is for a fleet, see `deadline`.
    """

    session: str
    attempt: int
    generation: int
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    folder: str
    lock: str
    socket_dir: str
    stamp: str
    pty: bool = False
    rows: int = 24
    cols: int = 80
    grace_seconds: float = 10.0
    reserve_bytes: int = 16 * 1024 * 1024
    background: Background = Background.END
    socket: str = ""
    deadline_until: float = 0.0

    @property
    def room_ahead(self) -> int:
        """How many bytes are reserved for `out`, `err` and `in` before the agent starts."""
        return self.reserve_bytes * 21 // 16


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one incarnation folder."""

    folder: str

    @property
    def spec(self) -> str:
        return os.path.join(self.folder, "spec.json")

    @property
    def identity(self) -> str:
        return os.path.join(self.folder, "identity")

    @property
    def out(self) -> str:
        return os.path.join(self.folder, "out")

    @property
    def err(self) -> str:
        return os.path.join(self.folder, "err")

    @property
    def input(self) -> str:
        return os.path.join(self.folder, "in")

    @property
    def progress(self) -> str:
        return os.path.join(self.folder, "progress")

    @property
    def seen(self) -> str:
        return os.path.join(self.folder, "seen")

    @property
    def exit(self) -> str:
        return os.path.join(self.folder, "exit")

    @property
    def ready(self) -> str:
        return os.path.join(self.folder, "ready")

    @property
    def log(self) -> str:
        return os.path.join(self.folder, "log")


def check_spec(spec: Spec) -> None:
    """Refuse early, in the caller's process, what would only fail later."""
    if not spec.argv:
        raise SpecError("argv is empty: name the agent's program")
    for name in ("cwd", "folder", "lock", "socket_dir"):
        if not os.path.isabs(getattr(spec, name)):
            raise SpecError(f"{name} must be an absolute path, not {getattr(spec, name)!r}")
    if not spec.stamp or "\0" in spec.stamp:
        raise SpecError("stamp must be a text without NUL: leftovers are found by it")
    if any("\0" in word for word in (*spec.argv, *spec.env, *spec.env.values())):
        raise SpecError("argv and env may not contain NUL")
    if any(not key or "=" in key for key in spec.env):
        raise SpecError("a name in env is empty or has '=' in it")
    if not (0 < spec.rows < 65536 and 0 < spec.cols < 65536):
        raise SpecError("rows and cols must be between 1 and 65535")
    if spec.grace_seconds < 0 or spec.reserve_bytes < 65536:
        raise SpecError("grace_seconds must be 0 or more, reserve_bytes 65536 or more")
    if not is_sensible(spec.deadline_until):
        raise SpecError("deadline_until must be a time of this machine's CLOCK_BOOTTIME, at most a day ahead")
    if spec.deadline_until and spec.background is Background.KEEP:
        raise SpecError("an agent with a deadline leaves nothing running: background must be `end`")


def write_spec(spec: Spec) -> None:
    """Make the incarnation folder; FolderInUse if it served before."""
    os.makedirs(spec.folder, mode=0o700, exist_ok=True)
    os.chmod(spec.folder, 0o700)
    value = {**asdict(spec), "argv": list(spec.argv), "background": spec.background.value}
    try:
        fd = os.open(Layout(spec.folder).spec, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise FolderInUse(f"{spec.folder} already served an attempt. Spawn with a new folder.") from error
    try:
        with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(value, file, ensure_ascii=False)
    except OSError:
        os.unlink(Layout(spec.folder).spec)  # so that the same folder can be tried again
        raise


def read_spec(folder: str) -> Spec:
    with open(Layout(folder).spec, encoding="utf-8", errors="surrogateescape") as file:
        value = json.load(file)
    try:
        return Spec(
            session=fields.text(value, "session"),
            attempt=fields.integer(value, "attempt"),
            generation=fields.integer(value, "generation"),
            argv=tuple(fields.texts(value, "argv")),
            cwd=fields.text(value, "cwd"),
            env=fields.text_map(value, "env"),
            folder=folder,
            lock=fields.text(value, "lock"),
            socket_dir=fields.text(value, "socket_dir"),
            stamp=fields.text(value, "stamp"),
            pty=fields.flag(value, "pty"),
            rows=fields.integer(value, "rows"),
            cols=fields.integer(value, "cols"),
            grace_seconds=fields.number(value, "grace_seconds"),
            reserve_bytes=fields.integer(value, "reserve_bytes"),
            background=Background(fields.text(value, "background")),
            socket=fields.text(value, "socket"),
            deadline_until=fields.number(value, "deadline_until") if "deadline_until" in value else 0.0,
        )
    except ValueError as error:
        raise SpecError(f"{Layout(folder).spec}: {error}") from error
