"""Where `rekindle` starts: gives the command line its use cases, each built only when it is needed."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        from rekindle.doors.cli import use_cases
        from rekindle.doors.cli.start import run
        from rekindle.wiring import Wired

        use_cases.provide(Wired(os.environ))
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        os._exit(130)  # for example in the middle of an import


if __name__ == "__main__":
    main()
