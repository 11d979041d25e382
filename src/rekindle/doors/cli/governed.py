"""What spans sessions, in lines for a person: above every list of sessions, and in `rekindle governor`. Pure.

Light standard library only: `ps` and `rekindle` with no command start fast.
"""

from __future__ import annotations

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.measure import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    #: See `rekindle.app.governance.GovernorView`.
    Told = dict[str, Any]


def news(told: Told | None, now: float) -> Iterator[str]:
    """What a person should see above a list: open questions, stopped restarts, and spending that has a limit."""
    if not told:
        return
    for one in told["questions"]:
        yield f"{printable(one['title'])}: rekindle answer {one['id']}"
    if told["stopped_since"] is not None and not any(one["kind"] == "breaker" for one in told["questions"]):
        yield f"{_stopped(told, now)}; to let them go on: rekindle governor --go-on"
    yield from (line for line in spending(told, now) if "limit" in line)


def spending(told: Told, now: float) -> Iterator[str]:
    """What was spent today, and tonight."""
    for one in told["spending"]:
        when = "today" if one["name"] == "day" else "tonight"
        limit = ""
        if one["limit"] is not None:
            left = one["limit"] - one["spent"]
            end = f", used up for {duration(one['until'] - now)}" if left <= 0 else ""
            limit = f" of ${one['limit']:g} (limit for all sessions{end})"
        yield f"Spent {when}: ${one['spent']:.2f}{limit}"


def lines(told: Told, now: float) -> Iterator[str]:
    """All of it."""
    counted, most = len(told["restarts"]), told["max_restarts"]
    if told["stopped_since"] is not None:
        yield _stopped(told, now)
        yield "  To let them go on: rekindle governor --go-on"
    else:
        span = duration(told["restart_seconds"])
        limit = f" (after {most} of them, all automatic restarts stop and you are asked)" if most else ""
        yield f"Automatic restarts that did not help, in the last {span}: {counted}{limit}"
    yield from spending(told, now)
    for queue in told["queues"]:
        yield f"Waiting for {printable(queue['limit'].rstrip(':'))}: {len(queue['sessions'])}"
        for name, at in queue["sessions"]:
            yield f"  {name}  in {duration(max(at - now, 0.0))}"
    for one in told["questions"]:
        yield f"Asks: {printable(one['title'])}: rekindle answer {one['id']}"


def _stopped(told: Told, now: float) -> str:
    by = f", by {printable(told['stopped_by'])}" if told["stopped_by"] else ""
    return f"Automatic restarts are stopped (for {duration(now - told['stopped_since'])}{by})"
