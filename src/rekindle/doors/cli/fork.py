"""Resuming from an earlier point: the points of a conversation, and a copy that starts after one of them."""

from __future__ import annotations

import msgspec

from rekindle.app.forking import ForkRequest
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import print_json
from rekindle.doors.cli.use_cases import use_cases


def fork(session: str, at: str, prompt: str, *, as_json: bool) -> int:
    """List the points of a session's conversation, or start a copy of it after one of them."""
    if at == "list":
        points = use_cases().forking().points(session)
        if as_json:
            print_json({"points": msgspec.to_builtins(points)})
        for number, point in enumerate(() if as_json else points, start=1):
            print(f"{number:>4}  {point.id}  {printable(point.text)}")
        return 0
    done = use_cases().forking().fork(ForkRequest(session, at, prompt))
    if as_json:
        print_json(done.copy)
    else:
        old = done.original
        print(f"{done.copy['id']}: a fork of {old} after that answer; {old} is unchanged.")
    return 0
