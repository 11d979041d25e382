"""With a pty, the keeper itself copies the agent's output into the `out` spool, and shows it in the user's terminal.

When the spool has no room, or nobody reads what is shown, the terminal is not read: the agent then blocks in its
write and nothing is lost. Input goes through `stdin_feed`, which shares the same descriptor.
"""

import errno
import os

from rekindle.keeper.pane import Pane

_AT_ONCE = 64 * 1024


class TerminalCopy:
    def __init__(self, master: int, spool: int, pane: Pane | None = None) -> None:
        self.master = master
        self._spool = spool
        self._pane = pane
        self._rest = b""
        self.open = True
        self.stuck = False

    def copy(self) -> int:
        """Copy one portion; returns how many bytes reached the spool."""
        if not self.open:
            return 0
        if not self._rest:
            self._rest = self._read()
        done = 0
        while self._rest:
            try:
                count = os.write(self._spool, self._rest)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                self.stuck = True
                return done
            if self._pane:
                self._pane.show(self._rest[:count])
            self._rest = self._rest[count:]
            done += count
        self.stuck = False
        return done

    @property
    def readable(self) -> bool:
        """Whether there is room for the agent's next output."""
        return self.open and not self.stuck and not (self._pane and self._pane.is_full)

    def drain(self) -> None:
        """Read what is left when no writer is alive."""
        while self.copy():
            pass

    def _read(self) -> bytes:
        try:
            data = os.read(self.master, _AT_ONCE)
        except BlockingIOError:
            return b""
        except OSError:
            # EIO: nobody has the terminal open. Only the end of the tree is final; the keeper knows that.
            data = b""
        if not data:
            self.open = False
        return data
