"""`rekindle open`: the page in a browser, or a link to it; for a phone, as a QR code in the terminal."""

from __future__ import annotations

import sys
from typing import Any

import click

from rekindle.doors.cli.options import daemon, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.ports.errors import UsageError


@click.command("open")
@click.option("--print", "only_print", is_flag=True, help="Print the link, and open nothing.")
@click.option("--read-only", is_flag=True, help="Give a link that never resumes, answers, types or restores.")
@click.option("--pair", is_flag=True, help="Print a link for another device, as a QR code too.")
@click.option(
    "--http", "address", default="", metavar="[ADDRESS:]PORT", help="Where to open the door, if it is closed."
)
@click.option("--behind", multiple=True, metavar="NAME", help="The name of your TLS proxy in front of it.")
@click.option("--cert", default="", metavar="FILE", help="A certificate, for TLS.")
@click.option("--key", default="", metavar="FILE", help="The certificate's key.")
@click.option("--new-secret", is_flag=True, help="Lock out everybody who has an old link or an open page.")
@click.option("--close", "only_close", is_flag=True, help="Close the door: the page cannot be reached any more.")
@json_option
def open_(
    only_print: bool,
    read_only: bool,
    pair: bool,
    address: str,
    behind: tuple[str, ...],
    cert: str,
    key: str,
    new_secret: bool,
    only_close: bool,
    as_json: bool,
) -> None:
    """Open the page: what needs you, and everything else, in a browser.

    Only this machine can reach it. The link works once, for a minute; then the page has the secret, until it is closed.
    """
    served = daemon()
    if only_close:
        was_open = served.ask("http_close", start=False)["was_open"] if served.is_served() else False
        print_lines(["The door is closed." if was_open else "The door was not open."])
        return
    asked: dict[str, Any] = {"address": address, "behind": list(behind), "cert": _whole(cert), "key": _whole(key)}
    door = served.ask("http_open", **asked, new_secret=new_secret)
    link = served.ask("http_link", read_only=read_only, pair=pair)
    if as_json:
        print_json({**{name: door[name] for name in ("url", "secret_file")}, "link": link["url"]})
    elif pair:
        _print_pairing(link["url"], link["seconds"], is_local=door["outside_url"] == door["url"])
    elif only_print or not _opened(link["file"]):
        print(link["url"])
        print(f"It works once, in the next {link['seconds']:g} seconds.", file=sys.stderr)


def _whole(path: str) -> str:
    import os

    return os.path.abspath(path) if path else ""


def _opened(file: str) -> bool:
    """Show a file in the browser. Its name says nothing; what it leads to is readable for this user only."""
    import webbrowser

    try:
        return webbrowser.open(f"file://{file}")
    except webbrowser.Error:
        return False


def _print_pairing(url: str, seconds: float, *, is_local: bool) -> None:
    if is_local and url.startswith("http://127."):
        raise UsageError(
            "only this machine can reach the door", "put a TLS proxy in front of it, and open it with --behind NAME"
        )
    import segno

    segno.make(url, error="m").terminal(out=sys.stdout, compact=True)
    print(url)
    print(f"It works once, in the next {seconds:g} seconds.", file=sys.stderr)
