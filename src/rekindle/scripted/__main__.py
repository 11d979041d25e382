"""`python -m rekindle.scripted [--no-load] [--home DIR]`: speaks ACP on standard input and output.

With `--session-id ID` or `--resume ID` it is an interactive program instead, in the terminal that it is started in.

The only place that reads arguments and the environment.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def main() -> None:
    """Serve until standard input ends, or until the person at the terminal leaves."""
    parser = argparse.ArgumentParser(prog="python -m rekindle.scripted", description="A scripted ACP agent on stdio.")
    parser.add_argument("--no-load", action="store_true", help="be an agent that cannot load, resume or list sessions")
    parser.add_argument("--home", type=Path, help="folder of the transcripts")
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("--session-id", metavar="ID", help="begin this conversation in the terminal")
    talk.add_argument("--resume", metavar="ID", help="go on with this conversation in the terminal")
    arguments = parser.parse_args()
    home = arguments.home or _home(os.environ)
    if arguments.session_id or arguments.resume:
        from rekindle.scripted.screen import use_screen

        name = arguments.resume or arguments.session_id
        sys.exit(use_screen(home.absolute(), name, resume=bool(arguments.resume)))
    try:
        from rekindle.scripted.serving import serve

        serve(home.absolute(), load=not arguments.no_load)
    except KeyboardInterrupt:
        pass
    except OSError as error:
        print(f"rekindle.scripted: {error}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(0)  # the reading thread may be blocked in a read, which would hang a normal exit of the interpreter


def _home(environment: os._Environ[str]) -> Path:
    if own := environment.get("REKINDLE_SCRIPTED_HOME"):
        return Path(own)
    state = environment.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state, "rekindle", "scripted")


if __name__ == "__main__":
    main()
