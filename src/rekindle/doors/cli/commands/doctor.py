"""`rekindle doctor`: checks whether this machine and this repository are set up correctly."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from rekindle.app.doctor import Finding
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases

_INDENT = "      "


def _lines(finding: Finding) -> Iterator[str]:
    mark = {"ok": "ok", "note": "note", "bad": "BAD"}[finding.state]
    yield f"{mark:<{len(_INDENT)}}{printable(finding.what)}"
    if finding.remedy:
        yield f"{_INDENT}{printable(finding.remedy)}"


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check this machine and this repository. Exits with 1 if it finds a problem. Changes none of your files."""
    findings = use_cases().doctor().findings()
    if as_json:
        print_json({"findings": msgspec.to_builtins(findings)})
    else:
        print_lines((line for finding in findings for line in _lines(finding)), len(_INDENT))
    return 1 if any(finding.state == "bad" for finding in findings) else 0
