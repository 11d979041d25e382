"""Where `rekindle` starts: gives the command line its use cases, which are put together only when one is asked for."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        from rekindle.doors.cli import use_cases
        from rekindle.doors.cli.start import run
        from rekindle.wiring import Wired

        use_cases.provide(Wired(os.environ))
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        os._exit(130)  # in the middle of an import, say


if __name__ == "__main__":
    main()
