"""Where the command line starts. Frequent calls skip the option parser: no arguments, --version, a plain `send`."""

from __future__ import annotations

import os


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status."""
    from rekindle.doors.cli.outcome import run_guarded

    if arguments in (["--version"], ["-V"]):
        return run_guarded(_version, as_json=False)
    if not arguments and "_REKINDLE_COMPLETE" not in os.environ:
        from rekindle.doors.cli.status import show_status

        return run_guarded(show_status, as_json=False)
    if arguments[:1] == ["send"]:
        from rekindle.doors.cli.sending import is_plain, send

        if is_plain(arguments):
            return run_guarded(lambda: send(*arguments[1:]), as_json=False)
    from rekindle.doors.cli.app import run as run_command

    return run_guarded(run_command, as_json=any(word in ("--json", "--jsonl") for word in arguments))


def _version() -> None:
    from rekindle import __version__

    print(f"rekindle {__version__}")
