"""Which host may have which job: what the job needs, what a host has, and the queue in which the two meet. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rekindle.core.fleet.spelling import gigabytes_in, is_repository_label
from rekindle.core.job.order import JobOrder

#: What every id of a fleet's job begins with; a job of one host begins with another letter.
_LETTER: Final = "f"
_ID: Final = re.compile(r"f[0-9a-f]{8}")
_PREFIX: Final = "rekindle"
#: Workflows do no work themselves: any worker runs them.
WORKFLOWS: Final = f"{_PREFIX}.workflows"
#: A colon in a need, and how a queue is called that has one: earlier versions split a queue's name at its colons.
_COLON, _FOR_COLON = ":", "="
_GIGABYTE: Final = 10**9
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
    every = set(needs)
    memory = sorted((one for one in every if gigabytes_in(one) is not None), key=lambda one: gigabytes_in(one) or 0)
    every -= set(memory[:-1])  # the most that is needed covers the rest
    named = "+".join(sorted(every)).replace(_COLON, _FOR_COLON)
    return ":".join([_PREFIX, "+".join(sorted(set(agents))), named])


def queue_of_order(order: JobOrder) -> str:
    """The queue of the job with this order: its hosts have the agents of all its steps, and its labels."""
    return queue_of({step.agent for step in order.steps}, order.labels)


def is_for(queue: str, agents: Iterable[str], labels: Iterable[str]) -> bool:
    """Whether a host with these agents and labels may take jobs from a queue.

    Only queues as `queue_of` names them: anybody with the store's password can add others, without end.
    """
    needed, needs = wanted(queue)
    had = set(labels)
    fits = set(needed) <= set(agents) and all(has(had, one) for one in needs)
    return fits and queue == queue_of(needed, needs)


def has(labels: Iterable[str], need: str) -> bool:
    """Whether a host with these labels has what a job needs: the label, or at least so much memory."""
    least = gigabytes_in(need)
    if least is None:
        return need in labels
    return any(least <= (gigabytes_in(one) or 0) for one in labels)


def memory_label(memory: int) -> list[str]:
    """What a host with so many bytes of memory says about it by itself."""
    return [f"memory:{memory // _GIGABYTE}g"] if memory >= _GIGABYTE else []


def repository_labels(names: Iterable[str]) -> list[str]:
    """What a host says by itself about the repositories that it has clones of. One with an odd name is left out."""
    return [label for one in names if is_repository_label(label := f"repository:{one}")]


def wanted(queue: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The agents and the labels that a host needs to have for jobs of a queue, whatever its name is."""
    _, agents, labels = [*queue.split(":", 2), "", ""][:3]
    labels = labels.replace(_FOR_COLON, _COLON)
    return tuple(filter(None, agents.split("+"))), tuple(filter(None, labels.split("+")))


def urgency(priority: int) -> int:
    """A job's priority (higher is more urgent, 0 is usual) as the engine has it (1 is the most urgent, 3 is usual)."""
    return max(_MOST, min(_LEAST, _USUAL - priority))
