"""What spans sessions, in lines for a person: above every list of sessions, and in `rekindle governor`. Pure.

Light standard library only: `ps` and `rekindle` with no command start fast.
"""

from __future__ import annotations

from rekindle.core.quantities import duration
from rekindle.core.terminal_text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    #: See `rekindle.app.governance.GovernorView`.
    Told = dict[str, Any]


#: How many of those that wait are named.
_MOST_NAMED = 10


def news(told: Told | None, now: float) -> Iterator[str]:
    """What a person should see above a list: open questions, stopped restarts, and spending that has a limit."""
    if not told:
        return
    for one in told["questions"]:
        yield f"{printable(one['title'])}: rekindle answer {one['id']}"
    if told["stopped_since"] is not None and not any(one["kind"] == "breaker" for one in told["questions"]):
        yield f"{_stopped(told, now)}; to let them go on: rekindle governor --go-on"
    yield from (line for line in spending(told, now) if "limit" in line)
    places = told.get("places")  # a daemon of an earlier version does not tell
    if places and places["short"]:
        yield f"Memory is short, so no agent is started: {places['short']}"
    elif places and places["waiting"]:
        yield f"{_waiting(len(places['waiting']))}: {_at_work(places)}"


def _waiting(count: int) -> str:
    return f"{count} session{'s'[: count != 1]} wait{'s'[: count == 1]} for {'its' if count == 1 else 'their'} turn"


def _at_work(places: Told) -> str:
    count, most = places["at_work"], places["most"]
    if most is None or count > most:
        return f"{count} agent{'s'[: count != 1]} at work{'' if most is None else f', and at most {most} may be'}"
    return f"{count} of {most} agent{'s'[: most != 1]} at work"


def room(places: Told) -> Iterator[str]:
    """Agents at work, what the machine has for more, and who waits for a turn."""
    why = f" (at most {places['most']}: {places['why']})" if places["most"] is not None else ""
    yield f"Agents at work: {places['at_work']}{why}"
    if places["memory"] is not None:
        short = f"; it is short, so no agent is started: {places['short']}" if places["short"] else ""
        yield f"Memory available: {_gigabytes(places['available'])} of {_gigabytes(places['memory'])}{short}"
    line = places["waiting"]
    if line:
        more = f" and {len(line) - _MOST_NAMED} more" if len(line) > _MOST_NAMED else ""
        yield f"{_waiting(len(line))}, in this order: {', '.join(line[:_MOST_NAMED])}{more}"
    for key, what in (("waits_for_time", "for a time"), ("waits_for_you", "for you (rekindle inbox)")):
        if places[key]:
            yield f"Waiting {what}: {places[key]}"


def _gigabytes(amount: int) -> str:
    return f"{amount / 1024**3:.1f} GB"


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
    yield from room(told["places"])
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
