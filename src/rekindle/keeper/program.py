"""What the daemon executes: `python -I -S program.py FOLDER READY`. Becomes a guard.

Or `program.py --nursery LINE ABOUT`: it then forks guards as long as the daemon lives (`forking`).

Run by path and without `site`, so that it starts fast, stays small and sees no environment. It
leaves its parent at once (one more fork), so the daemon has no child to reap. All modules are
imported before anything is started: the package may be replaced under a running keeper.

READY is the number of a pipe or, in a terminal that somebody else opened, the path of one. There the
guard stays the terminal's first process, so that the terminal lives as long as the guard does.
"""

import os
import sys
import traceback

if __name__ == "__main__":
    # Behind the standard library: nothing in site-packages may shadow it.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from rekindle.keeper.forking import fork_guards
from rekindle.keeper.guard import guard
from rekindle.keeper.pane import open_named_pipe, take_terminal
from rekindle.keeper.readiness import Readiness


def main(folder: str, ready: str) -> None:
    if ready.isdigit():
        if os.fork() != 0:
            os._exit(0)
        os.setsid()
        readiness, terminal = Readiness(int(ready)), None
    else:
        readiness, terminal = Readiness(open_named_pipe(ready)), take_terminal(folder)
    try:
        guard(folder, readiness, terminal)
    except BaseException as error:
        # Also the keeper's way out when it fails: the guard above it sees it die and takes over.
        traceback.print_exc()
        readiness.failed("crashed", f"{type(error).__name__}: {error}")
        os._exit(1)
    readiness.close()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "--nursery":
        fork_guards(int(sys.argv[2]), main)
    else:
        main(sys.argv[1], sys.argv[2])
