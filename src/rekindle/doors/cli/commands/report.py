"""`rekindle report`: what happened while nobody looked, and what proves it. It needs no daemon."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click
import msgspec

from rekindle.core.report.contents import JudgedClaim, MorningReport
from rekindle.core.report.evidence import Cited
from rekindle.doors.cli.options import print_json
from rekindle.doors.cli.status import surface_of
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError


@click.command()
@click.option(
    "--since",
    default="yesterday",
    show_default=True,
    metavar="TIME",
    help="From when: yesterday, today, 8h (ago), 22:30, 2026-11-16 or 2026-11-16T22:30.",
)
@click.option("--until", metavar="TIME", help="Until when; default: now.")
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown.")
@click.option("--html", "form", flag_value="html", help="Print one HTML page, with plots; it loads nothing.")
@click.option("--json", "form", flag_value="json", help="Print one JSON object.")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write it to FILE instead.")
def report(since: str, until: str | None, form: str | None, out: str | None) -> None:
    """Show what was asked, done, cut off, resumed, waited for and spent, what is open, and what to do next.

    Every line names its evidence. What rekindle has seen itself (a command that it ran, a commit) is proved; what only
    an agent said is listed apart, as claimed.
    """
    found = use_cases().reporting().asked_for(since, until)
    if out is not None:
        text = "".join(f"{line}\n" for line in _lines(found, form or _form_of(out), to_file=True))
        _write(out, text)
        print(f"Written to {out}.", file=sys.stderr)
        return
    if form == "json":
        print_json(_as_json(found))
        return
    for line in _lines(found, form, to_file=False):
        print(line)


def _form_of(out: str) -> str | None:
    """What the name of a file asks for."""
    return {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}.get(os.path.splitext(out)[1].lower())


def _lines(found: MorningReport, form: str | None, *, to_file: bool) -> list[str]:
    from rekindle.doors.cli import report_html, report_markdown, report_screen

    match form:
        case "markdown":
            return list(report_markdown.lines(found))
        case "html":
            return report_html.page(found).splitlines()
        case "json":
            import json

            return [json.dumps(_as_json(found))]
        case _:
            on_terminal = sys.stdout.isatty() and not to_file
            return list(report_screen.lines(found, surface_of(on_terminal, os.environ, time.time())))


def _as_json(found: MorningReport) -> dict[str, Any]:
    """The report as plain data. What agents claim is among the lines too: proved, if a check of ours says so."""
    claims = [_claimed(one) for one in found.claims]
    lines = [{**_plain(one), "proved": one.standing == "proved"} for one in found.lines] + claims
    totals = found.totals
    spent = {name: getattr(totals, name) for name in ("cost", "tokens", "unpriced", "unpriced_agents")}
    return {
        **{name: _plain(getattr(found, name)) for name in found.__struct_fields__},
        "lines": lines,
        "open": [one for one in lines if one["kind"] == "open"],
        "spent": {**spent, "by_session": [one for one in lines if one["kind"] == "spent"]},
    }


def _claimed(one: JudgedClaim) -> dict[str, Any]:
    """A claim as a line."""
    is_proved = one.verdict == "proved"
    line = {"kind": "claimed", "of": "session", "about": one.session, "text": one.quote, "next": "", "needs_you": False}
    return {**_plain(one), **line, "proved": is_proved, "standing": "proved" if is_proved else "claimed"}


def _plain(value: Any) -> Any:
    """As plain data; each piece of evidence with the command that shows it."""
    if isinstance(value, Cited):
        return {**msgspec.to_builtins(value), "id": value.ref, "look": value.look}
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


def _write(out: str, text: str) -> None:
    from rekindle import files

    try:
        files.replace(out, text.encode("utf-8", "replace"), mode=0o600)
    except OSError as error:
        raise RekindleError(f"{out} cannot be written ({error.strerror})", "give another file with --out") from error
