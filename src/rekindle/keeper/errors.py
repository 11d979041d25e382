"""Every error that this package raises on purpose, as one tree.

    KeeperError
    |-- FrameError             bytes on the socket that are not a frame
    |-- SpecError              a spec that cannot be carried out
    |-- StartError             the agent was not started
    |   |-- LockHeld           another guard or keeper owns the session
    |   |-- ExecFailed         the agent's program or folder cannot be used
    |   |-- NoRoom             the spool cannot be reserved
    |   |-- FolderInUse        the incarnation folder was used before
    |   |-- StartCrashed       guard or keeper died while starting
    |   `-- StartInDoubt       no word in time: it may live or not
    |-- KeeperGone             no keeper answers
    `-- Refused                the keeper said no, and why (`code`)
        |-- ReplacedGeneration somebody newer owns the session
        |-- ProtocolMismatch   keeper and client are too far apart
        `-- NoRoomForInput     the disk is full: no new input for now

Only exceptions belong here, no behaviour. The wire codes are spelled in `refusals`.
"""


class KeeperError(Exception):
    """Something about a keeper went wrong."""


class FrameError(KeeperError):
    """The peer sent bytes that are not a frame. Close this connection; nothing else is affected."""


class SpecError(KeeperError):
    """The spec cannot be carried out. Correct the field that the message names and spawn again."""


class StartError(KeeperError):
    """The agent was not started, and nothing of it was left running."""


class LockHeld(StartError):
    """The session already has an owner. Talk to that one, or stop it first."""

    def __init__(self, message: str, pid: int | None) -> None:
        super().__init__(message)
        self.pid = pid


class ExecFailed(StartError):
    """The agent's program could not be executed. Correct argv, cwd or PATH and spawn again."""

    def __init__(self, message: str, program: str, errno: int) -> None:
        super().__init__(message)
        self.program = program
        self.errno = errno


class NoRoom(StartError):
    """The disk has no room for the spool. Free some, or lower reserve_bytes, and spawn again."""


class FolderInUse(StartError):
    """One folder serves one incarnation. Spawn with a new folder."""


class StartCrashed(StartError):
    """Guard or keeper died while starting. The `log` file in the folder says why."""


class StartInDoubt(StartError):
    """No word from the guard in time. Probe with is_alive(lock) before anything else."""


class KeeperGone(KeeperError):
    """No keeper answers. Probe with is_alive(lock); if it is dead, read_exit(folder) says how it ended."""


class Refused(KeeperError):
    """The keeper refused the operation; `code` is for branching, `details` has what it named."""

    def __init__(self, code: str, message: str, details: dict[str, object]) -> None:
        super().__init__(message)
        self.code = code
        self.details = details


class ReplacedGeneration(Refused):
    """Somebody with a higher generation owns the session. Give it up; do not try again."""

    @property
    def current(self) -> int:
        value = self.details.get("current")
        return value if isinstance(value, int) else -1


class ProtocolMismatch(Refused):
    """No protocol version in common. Stop the session with the version that started it."""


class NoRoomForInput(Refused):
    """The disk is full, so the agent's answer might be lost. Free some room and send again."""
