"""The nursery's side of `nursery`: waits for orders and forks a guard for each of them.

Started like a guard (`program`), so that everything is imported when the first order comes. It starts nothing by
itself, holds no lock and knows no session, and it ends when the daemon's end of the line is closed.
"""

import gc
import os
import socket
from collections.abc import Callable

#: The longest path of a folder.
LONGEST = 4096


def fork_guards(line: int, become: Callable[[str, str], None]) -> None:
    """Serve one daemon. An order is a guard's folder, with the pipe for its readiness and its log.

    `become` is called in the child with the folder and the number of the pipe, as a guard's own program would call it.
    """
    with socket.socket(fileno=line) as orders:
        gc.collect()
        gc.freeze()  # never collected, so that these pages stay shared with every guard and keeper
        while True:
            folder, given, _, _ = socket.recv_fds(orders, LONGEST, 2, socket.MSG_CMSG_CLOEXEC)
            if not folder:
                return
            child = os.fork()
            if child == 0:
                orders.close()
                ready, log = given
                os.dup2(log, 1)
                os.dup2(log, 2)
                os.close(log)
                become(os.fsdecode(folder), str(ready))
                os._exit(0)
            os.waitpid(child, 0)  # it forks once more and ends at once
            for fd in given:
                os.close(fd)
