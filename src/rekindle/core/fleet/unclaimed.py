"""Why no host takes a job of the fleet: what it needs that no worker has, or why those that fit take nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rekindle.core.fleet.needs import has, is_for, wanted
from rekindle.core.quantities import duration


@dataclass(frozen=True)
class Worker:
    """A host that takes jobs, as it last told. `agents` None: it has not told which it has.

    `trouble`: why it cannot take any at the moment, as a sentence.
    """

    host: str
    state: str
    labels: tuple[str, ...] = ()
    agents: tuple[str, ...] | None = None
    trouble: str = ""

    def fits(self, queue: str) -> bool:
        """Whether it may take jobs of a queue, as far as is known."""
        needed, _ = wanted(queue)
        return is_for(queue, needed if self.agents is None else self.agents, self.labels)


def why_unclaimed(queue: str, workers: Sequence[Worker]) -> str:
    """Why no worker that is there takes jobs of this queue; empty: one does, or will when it has room."""
    if not workers:
        return "no worker is running"
    fitting = [one for one in workers if one.fits(queue)]
    if not fitting:
        return _lacking(queue, workers)
    open_ = [one for one in fitting if one.state == "ready"]
    if not open_:
        closed = ", ".join(f"{one.host} is {one.state}" for one in fitting)
        return f"no worker that fits takes jobs now: {closed}"
    if all(one.trouble for one in open_):
        return f"no worker that fits takes jobs now: {open_[0].host} says that {open_[0].trouble}"
    return ""


def why_stalled(queue: str, host: str, seconds: float | None, workers: Sequence[Worker]) -> str:
    """What is said of a job whose host is silent. `seconds`: since it was last seen; None: nobody ever saw it."""
    seen = "was never seen" if seconds is None else f"was last seen {duration(seconds)} ago"
    why = why_unclaimed(queue, [one for one in workers if one.host != host])
    return f"host {host} {seen}; {why or 'another host continues the job'}"


def _lacking(queue: str, workers: Sequence[Worker]) -> str:
    agents, labels = wanted(queue)
    needed = [*(f"the agent {one}" for one in agents), *(f"the label {one}" for one in labels)]
    alone = [*_missing(agents, [agents if one.agents is None else one.agents for one in workers], "the agent")]
    alone += _missing(labels, [one.labels for one in workers], "the label")
    return f"no worker has {' or '.join(alone)}" if alone else f"no worker has all of: {', '.join(needed)}"


def _missing(wanted_: Iterable[str], had: Sequence[Iterable[str]], what: str) -> list[str]:
    there = {word for one in had for word in one}
    return [f"{what} {one}" for one in wanted_ if not has(there, one)]
