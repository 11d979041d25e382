"""Which host may have which job: what the job needs, what a host has, and the queue in which the two meet. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rekindle.core.job.order import JobOrder

#: What every id of a fleet's job begins with; a job of one host begins with another letter.
_LETTER: Final = "f"
_ID: Final = re.compile(r"f[0-9a-f]{8}")
_PREFIX: Final = "rekindle"
#: Workflows do no work themselves: any worker runs them.
WORKFLOWS: Final = f"{_PREFIX}.workflows"
#: The engine knows five priorities; the first is the most urgent.
_MOST, _USUAL, _LEAST = 1, 3, 5


def is_fleet_job(job: str) -> bool:
    """Whether this is the id of a job of the fleet. Its sessions are driven by the fleet's engine."""
    return _ID.fullmatch(job) is not None


def fleet_job(digits: str) -> str:
    """The id of a job of the fleet, from eight hexadecimal digits."""
    return _LETTER + digits


def queue_of(agents: Iterable[str], needs: Iterable[str]) -> str:
    """The queue of a job: the same for all jobs that need the same of a host."""
    return ":".join([_PREFIX, "+".join(sorted(set(agents))), "+".join(sorted(set(needs)))])


def queue_of_order(order: JobOrder) -> str:
    """The queue of the job with this order: its hosts have the agents of all its steps, and its labels."""
    return queue_of({step.agent for step in order.steps}, order.labels)


def is_for(queue: str, agents: Iterable[str], labels: Iterable[str]) -> bool:
    """Whether a host with these agents and labels may take jobs from a queue.

    Only queues as `queue_of` names them: anybody with the store's password can add others, without end.
    """
    needed, needs = wanted(queue)
    return queue == queue_of(needed, needs) and set(needed) <= set(agents) and set(needs) <= set(labels)


def wanted(queue: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The agents and the labels that a host needs to have for jobs of a queue, whatever its name is."""
    _, agents, labels = [*queue.split(":", 2), "", ""][:3]
    return tuple(filter(None, agents.split("+"))), tuple(filter(None, labels.split("+")))


def urgency(priority: int) -> int:
    """A job's priority (higher is more urgent, 0 is usual) as the engine has it (1 is the most urgent, 3 is usual)."""
    return max(_MOST, min(_LEAST, _USUAL - priority))
