"""Where `rekindle` starts. Two calls are so frequent that they go past the option parser: none, and --version."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        sys.exit(_main(sys.argv[1:]))
    except KeyboardInterrupt:
        os._exit(130)  # in the middle of an import, say


def _main(arguments: list[str]) -> int:
    from rekindle.doors.cli.outcome import run_guarded

    if arguments in (["--version"], ["-V"]):
        return run_guarded(_version, as_json=False)
    if not arguments and "_REKINDLE_COMPLETE" not in os.environ:
        from rekindle.doors.cli.status import show_status

        return run_guarded(show_status, as_json=False)
    from rekindle.doors.cli.app import run

    return run_guarded(run, as_json=any(word in ("--json", "--jsonl") for word in arguments))


def _version() -> None:
    from rekindle import __version__

    print(f"rekindle {__version__}")


if __name__ == "__main__":
    main()
