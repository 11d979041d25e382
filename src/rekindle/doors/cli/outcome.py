"""One way out for every command: exit statuses, one-line errors, and never a traceback on the terminal."""

from __future__ import annotations

import errno
import os
import sys

from rekindle.core.terminal_text import printable
from rekindle.ports.errors import RekindleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INTERRUPTED = 130


def run_guarded(command: Callable[[], int | None], *, as_json: bool) -> int:
    """Run a command and turn any exception into an exit status and one line."""
    _mend_streams()
    try:
        status = _run(command, as_json=as_json)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return 1
    except OSError as error:
        _drop_stdout()
        print(f"rekindle: the result could not be printed ({error.strerror})", file=sys.stderr)
        return 1


def _mend_streams() -> None:
    """Redirect closed streams, and make unencodable characters printable."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _drop_stdout() -> None:
    """Discard what is still in the buffer, so that the interpreter does not fail on it at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _run(command: Callable[[], int | None], *, as_json: bool) -> int:
    try:
        return command() or 0
    except RekindleError as error:
        return report(error.exit_status, error.code, error.message, error.hint, as_json=as_json, details=error.details)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except RecursionError:
        return report(1, "too_deep", "the input is nested too deeply", "", as_json=as_json)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EIO) and error.filename is None:
            raise  # most likely standard output itself
        place = f"{error.filename}: " if error.filename else ""
        return report(
            1,
            "system",
            f"{place}{error.strerror or error}",
            "check the path, its permissions and the disk",
            as_json=as_json,
        )
    except Exception as error:
        where = _keep_traceback()
        return report(
            1,
            "internal",
            f"this should not have happened ({type(error).__name__}: {error})",
            f"please report it with {where}" if where else "please report it",
            as_json=as_json,
        )


def report(
    status: int, code: str, message: str, hint: str, *, as_json: bool, details: dict[str, object] | None = None
) -> int:
    """Print an error, for a person or for a program, and return the exit status."""
    message, hint = printable(message), printable(hint)
    if as_json:
        import json

        print(json.dumps({"error": {**(details or {}), "code": code, "message": message, "hint": hint}}), flush=True)
    else:
        print("\n".join(_told(message, hint)), file=sys.stderr, flush=True)
    return status


def _told(message: str, hint: str) -> Iterator[str]:
    """One line for a program or a file; on a terminal broken between words, each piece of advice on its own line."""
    if not sys.stderr.isatty():
        yield f"rekindle: {message}" + (f" — {hint}" if hint else "")
        return
    from rekindle.doors.cli.measure import columns, hung
    from rekindle.doors.cli.next_step import advice

    width = columns(True, os.environ, of=2)
    yield from hung(f"rekindle: {message}", width, 2)
    for line in advice(hint):
        yield from hung(f"  {line}", width)


def _keep_traceback() -> str | None:
    import traceback

    from rekindle.settings import load

    try:
        folder = load(os.environ, None).state_dir
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "errors.log")
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(fd, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(traceback.format_exc() + "\n")
        return path
    except (OSError, RekindleError):
        return None
