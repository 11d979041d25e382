"""Where `rekindle` starts. Two calls are so frequent that they go past the option parser: none, and --version."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and leave with its exit status."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from rekindle import __version__

        print(f"rekindle {__version__}")
        return
    from rekindle.cli.outcome import run_guarded

    if not arguments and "_REKINDLE_COMPLETE" not in os.environ:
        from rekindle.cli.status import show_status

        sys.exit(run_guarded(show_status, as_json=False))
    from rekindle.cli.app import run

    sys.exit(run_guarded(run, as_json=any(word in ("--json", "--jsonl") for word in arguments)))
