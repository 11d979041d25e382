"""`rekindle serve`: the daemon in the foreground, or told to stop; with --http also its page and API."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from rekindle.app.serving import stop
from rekindle.doors.cli.options import daemon, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import DoorTerms, use_cases
from rekindle.ports.errors import UsageError

_LOOK_SECONDS = 1.0


@click.command()
@click.option("--on-demand", is_flag=True, hidden=True)
@click.option(
    "--stop", "only_stop", is_flag=True, help="Stop the running daemon; agents keep working in their keepers."
)
@click.option(
    "--http",
    "address",
    is_flag=False,
    flag_value="127.0.0.1:0",
    default=None,
    metavar="[ADDRESS:PORT]",
    help="Serve the page and the API too; by default on this machine only, at a free port.",
)
@click.option("--behind", multiple=True, metavar="NAME", help="The name of your TLS proxy in front of it.")
@click.option("--cert", default="", metavar="FILE", help="A certificate, for TLS.")
@click.option("--key", default="", metavar="FILE", help="The certificate's key.")
@json_option
def serve(
    on_demand: bool,
    only_stop: bool,
    address: str | None,
    behind: tuple[str, ...],
    cert: str,
    key: str,
    as_json: bool,
) -> int:
    """Run the daemon that owns your sessions. There is one per store; other commands start it when they need it."""
    if only_stop:
        pid = stop(daemon())
        if pid is None:
            print_lines(["No daemon is running."])
        else:
            print_lines([f"The daemon (pid {pid}) is stopping; agents keep working in their keepers."])
        return 0
    if address is None:
        if behind or cert or key:
            raise UsageError("--behind, --cert and --key are about --http", "add --http ADDRESS:PORT")
        return use_cases().serve(on_demand=on_demand)
    import os

    values = {"address": address, "behind": list(behind), "cert": cert and os.path.abspath(cert)}
    values["key"] = key and os.path.abspath(key)
    if daemon().is_served():
        return _stay_with(values, as_json=as_json)

    def opened(door: Any) -> None:
        _print(door.url, door.secret_file, as_json=as_json)

    return use_cases().serve(on_demand=on_demand, http=DoorTerms(values, opened))


def _stay_with(values: dict[str, Any], *, as_json: bool) -> int:
    """Open the door of the daemon that is there, and stay as long as it does."""
    served = daemon()
    pid = served.holder()
    door = served.ask("http_open", start=False, **values)
    _print(door["url"], door["secret_file"], as_json=as_json)
    while served.holder() == pid:
        time.sleep(_LOOK_SECONDS)
    return 0


def _print(url: str, secret_file: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"url": url, "secret_file": secret_file})
    else:
        print(f"Serving {url} (the secret is in {secret_file}). Open the page: rekindle open")
    sys.stdout.flush()
