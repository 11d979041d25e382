"""`rekindle doctor`: is this machine, and this repository, fit for the job?"""

from __future__ import annotations

import click
import msgspec

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check this machine and this repository. Exit status 1 if something is bad. Changes no file of yours."""
    findings = use_cases().doctor().findings()
    if as_json:
        print_json({"findings": msgspec.to_builtins(findings)})
    else:
        for finding in findings:
            mark = {"ok": "ok  ", "note": "note", "bad": "BAD "}[finding.state]
            print(
                f"{mark}  {printable(finding.what)}"
                + (f"\n      {printable(finding.remedy)}" if finding.remedy else "")
            )
    return 1 if any(finding.state == "bad" for finding in findings) else 0
