"""What `commands.py` executes: `python -I -S command_launcher.py REPORT`. Becomes the command.

A daemon has threads, and Python code between fork and exec may find a lock that nobody will ever release. So what has
to be done before the command starts is done here, in a program of its own, with the standard library only.

The order (parent, words, environment) comes as JSON on standard input. If the command cannot be executed, the reason
is written to the pipe with the number REPORT; executing the command closes that pipe.
"""

import json
import os
import signal
import sys

if __name__ == "__main__":
    # Behind the standard library: nothing in site-packages may shadow it.
    _FILE = os.path.abspath(__file__)
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(_FILE)))))

from rekindle.keeper import kernel

#: Python ignores the first two in its own process; the others are ignored below `nohup` and in the background of a
#: shell, from where a daemon may have been started. The command gets them as any program does.
_DEFAULTED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def order(parent: int, words: list[str], env: dict[str, str]) -> bytes:
    """What the launcher has to be told."""
    return json.dumps([parent, words, env]).encode()


def main(report: int) -> None:
    """Become the command, or report why not."""
    parent, words, env = json.load(sys.stdin.buffer)
    os.set_inheritable(report, False)
    try:
        kernel.die_with_parent(signal.SIGKILL)
    except OSError:
        pass  # not every kernel has it; the command runs all the same
    if os.getppid() != parent:
        os._exit(1)  # the caller is already gone
    for one in _DEFAULTED:
        signal.signal(one, signal.SIG_DFL)
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execvpe(words[0], words, env)
    except OSError as error:
        os.write(report, str(OSError(error.errno, error.strerror, words[0])).encode())
    except ValueError as error:
        os.write(report, str(error).encode())
    os._exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]))
