"""What cron runs every few minutes, as a module of its own: starts the daemon if something is due.

Light standard library only until there is something to start. It says nothing where all is well, because cron mails
whatever it hears.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Mapping

from rekindle import files
from rekindle.adapters.sql_store import quick
from rekindle.places import Places
from rekindle.settings import load, user_file

#: The settings that name a receiver of messages.
_RECEIVERS = ("notify_command", "notify_webhook", "notify_ntfy", "notify_desktop", "notify_apprise")


def main(environment: Mapping[str, str]) -> int:
    """Look, and start the daemon if it is needed and none runs."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime and not os.path.isdir(runtime):
        # A daemon with its socket elsewhere could not be found by anybody who logs in later.
        print(f"rekindle: {runtime} is not there yet; run: loginctl enable-linger", file=sys.stderr)
        return 1
    places = Places(load(environment, None))
    if files.is_locked(places.daemon_lock):
        return 0
    if not (is_due(places.store) or wants_report(user_file(environment))):
        return 0
    from rekindle.adapters.daemon_socket.client import start_daemon
    from rekindle.ports.errors import RekindleError

    try:
        start_daemon(places)
    except RekindleError as error:
        print(f"rekindle: {error}", file=sys.stderr)
        return error.exit_status
    return 0


def is_due(store: str) -> bool:
    """Whether a daemon would have anything to do. A store that cannot be read is the daemon's to repair."""
    try:
        return quick.needs_daemon(store)
    except sqlite3.Error:
        return True


def wants_report(settings: str) -> bool:
    """Whether somebody is to be told of the report every day. What cannot be read asks for nothing."""
    import tomllib

    try:
        values = tomllib.loads(files.read(settings).decode())
    except (OSError, ValueError):
        return False
    return "notify_report_at" in values and any(values.get(name) not in (None, "off") for name in _RECEIVERS)


if __name__ == "__main__":
    sys.exit(main(os.environ))
