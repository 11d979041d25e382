"""The plan of a feature as a typed value: tasks, waves, dependencies, and how they relate.

A task may *need* another one (without it there is nothing to build on) or merely come *after* it. Waves follow from
dependencies and, if only waves are given, an order follows from them. plan_file.py (TOML) and plan_event.py (the
journal) know how a plan is written down.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from rekindle.core.naming_some import some_of

Waves = tuple[tuple[str, ...], ...]
Edges = dict[str, tuple[str, ...]]


class BadPlan(ValueError):
    """This cannot be a plan. Says what is wrong, naming the tasks, and what would be right; `task` is where to look."""

    def __init__(self, message: str, hint: str, task: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint, self.task = message, hint, task


class Task(msgspec.Struct, frozen=True):
    """One unit of work. `checks` are commands (words, no shell); `review` is what its reviewer is asked."""

    id: str
    summary: str = ""
    prompt: str = ""
    agent: str = ""
    files: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    reviewer: str = ""
    review: str = ""


class Plan(msgspec.Struct, frozen=True, dict=True):
    """Tasks in waves. `lint` and `checks` run on the whole tree at the end of each wave.

    `by_waves`: only the waves say what comes after what, and `after` follows from them.
    """

    tasks: tuple[Task, ...]
    waves: Waves
    needs: Edges = {}
    after: Edges = {}
    lint: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    by_waves: bool = False

    @cached_property
    def _by_id(self) -> dict[str, Task]:
        return {task.id: task for task in self.tasks}

    def task(self, name: str) -> Task:
        """One task. Raises KeyError if there is none."""
        return self._by_id[name]

    def blocked_by(self, name: str) -> tuple[str, ...]:
        """Everything that has to be settled before this task."""
        return tuple(dict.fromkeys((*self.needs.get(name, ()), *self.after.get(name, ()))))


def arrange(
    tasks: Sequence[Task],
    *,
    needs: Edges,
    after: Edges,
    waves: Waves | None,
    lint: Sequence[str] = (),
    checks: Sequence[str] = (),
) -> Plan:
    """Build a plan from its parts, and check them against each other. Raises BadPlan that names what is wrong."""
    names = [task.id for task in tasks]
    if not names:
        raise BadPlan("the plan has no tasks", "give it at least one")
    twice = _first_repeated(names)
    if twice is not None:
        raise BadPlan(f"two tasks are called {twice!r}", "give each its own id", twice)
    known = set(names)
    for kind in (needs, after):
        for name, others in kind.items():
            _check_known(name, others, known)
    derived = _levels(names, _joined(needs, after))
    by_waves = waves is not None and len(waves) > 1 and not needs and not after
    if waves is not None:
        _check_waves(waves, names, _joined(needs, after))
        if by_waves:  # very many edges, so the tasks of a wave share theirs
            after = {name: earlier for earlier, wave in pairwise(waves) for name in wave if earlier}
    order = waves if waves is not None else derived
    return Plan(tuple(tasks), order, needs, after, tuple(lint), tuple(checks), by_waves)


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _check_known(name: str, others: Iterable[str], known: set[str]) -> None:
    for other in (name, *others):
        if other not in known:
            where = f"task {name!r} waits for" if other != name else "dependencies are given for"
            raise BadPlan(f"{where} {other!r}, which is not a task of the plan", _there(known), name)


def _there(names: Collection[str]) -> str:
    """The known tasks, for a hint: if there are many, the first ones."""
    return f"the tasks are: {some_of(sorted(names), 20)}"


def _joined(needs: Edges, after: Edges) -> Edges:
    return {name: (*needs.get(name, ()), *after.get(name, ())) for name in {**needs, **after}}


def _levels(names: Sequence[str], edges: Mapping[str, Sequence[str]]) -> Waves:
    """Each task in the first wave where it has nothing left to wait for. Within a wave, in the plan's order."""
    waits = {name: set(edges.get(name, ())) for name in names}
    order = {name: number for number, name in enumerate(names)}
    followers: dict[str, list[str]] = {}
    for name, others in waits.items():
        for other in others:
            followers.setdefault(other, []).append(name)
    waves: list[tuple[str, ...]] = []
    wave = [name for name in names if not waits[name]]
    while wave:
        waves.append(tuple(wave))
        freed = set()
        for done in wave:
            for name in followers.get(done, ()):
                waits[name].discard(done)
                if not waits[name]:
                    freed.add(name)
        wave = sorted(freed, key=order.__getitem__)
    left = [name for name in names if waits[name]]
    if left:
        cycle = _cycle(left, waits)
        told = f"tasks wait for one another: {' -> '.join(cycle)}"
        raise BadPlan(told, "remove one of these dependencies", cycle[0])
    return tuple(waves)


def _cycle(left: Sequence[str], edges: Mapping[str, Collection[str]]) -> list[str]:
    """A cycle among tasks that each wait for another of them."""
    among = set(left)
    path = [left[0]]
    while path[-1] not in path[:-1]:
        path.append(min(name for name in edges[path[-1]] if name in among))
    return path[path.index(path[-1]) :]


def _check_waves(waves: Waves, names: Sequence[str], edges: Mapping[str, Sequence[str]]) -> None:
    listed = [name for wave in waves for name in wave]
    twice = _first_repeated(listed)
    if twice is not None:
        raise BadPlan(f"task {twice!r} is in two waves", "list it once", twice)
    if unknown := sorted(set(listed) - set(names)):
        raise BadPlan(f"a wave lists {unknown[0]!r}, which is not a task of the plan", _there(names))
    if missing := sorted(set(names) - set(listed)):
        raise BadPlan(f"task {missing[0]!r} is not in any wave", "list it in one, or leave the waves out", missing[0])
    number = {name: index for index, wave in enumerate(waves, start=1) for name in wave}
    for name, others in edges.items():
        for other in others:
            if number[other] >= number[name]:
                raise BadPlan(
                    f"task {name!r} of wave {number[name]} waits for {other!r} of wave {number[other]}",
                    f"put {other!r} into an earlier wave",
                    name,
                )


@dataclass(frozen=True)
class Skipping:
    """What follows from leaving tasks out: the plan without them, and which tasks can no longer run (and why)."""

    plan: Plan
    dropped: tuple[tuple[str, str], ...]
    cannot_run: dict[str, str]


def skip(plan: Plan, skipped: Iterable[str], done: Iterable[str] = ()) -> Skipping:
    """Leave tasks out. A task that merely came after one of them continues; one that needs it cannot run.

    `done` are tasks whose work is in the feature's branch: tasks that need them have what they need. If only waves say
    what comes after what, nothing has to be dropped: a wave continues without its skipped tasks.
    """
    out = set(skipped)
    finished = set(done)
    cannot: dict[str, str] = {}
    for wave in plan.waves:
        for name in wave:
            missing = next(
                (other for other in plan.needs.get(name, ()) if other in out and other not in finished), None
            )
            if missing is not None and name not in out and name not in finished:
                out.add(name)
                cannot[name] = missing
    left = {others: tuple(one for one in others if one not in out) for others in set(plan.after.values())}
    after = {name: kept for name, others in plan.after.items() if (kept := left[others])}
    if plan.by_waves:
        return Skipping(replace(plan, after=after), (), cannot)
    dropped = tuple((name, other) for name, others in plan.after.items() for other in others if other in out)
    return Skipping(replace(plan, after=after), dropped, cannot)
