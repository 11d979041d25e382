"""Short jobs over three workers that are killed at random, against the same jobs on one machine where nobody dies.

All hosts share the cores of one machine, so a fleet cannot be faster here: the row shows what it costs that any host
may die. Before the time counts, every job has to have ended well, with its prompt given once.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING, Any

from bench.fleet import fleet
from bench.measured import Disagreement, Measured
from bench.stage import Stage

if TYPE_CHECKING:
    from tests.e2e.daemon import Machine
    from tests.fleet.yard import Yard

SOME, MANY = 100, 1_000
_QUICK = 12
_HOSTS = ("a", "b", "c")
#: How many agents work at once: two on each host of the fleet, and all of them on the one machine.
_EACH = 2
#: After how many jobs that were done somebody is killed, as shares of all.
_KILLS = (0.15, 0.3, 0.45, 0.6, 0.75)
#: How many seconds the last jobs may take after they are all submitted: so many, and so many for each job.
_LONGEST, _LONGEST_EACH = 230.0, 1.0
_SEED = 20
#: After so many submissions somebody looks whether it is time for a kill.
_EVERY = 10


def some(stage: Stage) -> Measured:
    """As many as fit into a run of all rows."""
    return _with_kills(SOME if stage.sizes.heavy > 2 else _QUICK)


def a_thousand(stage: Stage) -> Measured:
    """Enough that what grows with their number shows."""
    return _with_kills(MANY if stage.sizes.heavy > 2 else _QUICK)


def _with_kills(jobs: int) -> Measured:
    """From the first submission until the last job is over."""
    with fleet(*_HOSTS) as yard:
        alone = _alone(yard.folder, jobs)
        facts: dict[str, Any] = {"jobs": jobs, "agents at once": _EACH * len(_HOSTS)}
        spent = _over_hosts(yard, jobs, facts)
    return Measured([alone], [spent], facts)


def _alone(folder: Path, jobs: int) -> float:
    from tests.e2e.daemon import Machine
    from tests.fleet.hosts import git

    machine = Machine(folder / "alone" / "home", folder / "alone" / "work")
    machine.home.mkdir(parents=True)
    git(folder, "clone", "-q", str(folder / "origin.git"), str(machine.work))
    machine.ok("config", "set", "max_agents", str(_EACH * len(_HOSTS)))
    machine.ok("inbox")  # starts the daemon
    try:
        begun = perf_counter()
        names = [_submitted(machine, number, "--worktree") for number in range(jobs)]
        _until_over(machine, jobs)
        spent = perf_counter() - begun
        _check(machine, names)
    finally:
        machine.clean_up()
    return spent


def _over_hosts(yard: Yard, jobs: int, facts: dict[str, Any]) -> float:
    chance, kills = random.Random(_SEED), [round(jobs * share) for share in _KILLS]
    killed: Counter[str] = Counter()
    yard.start(*_HOSTS, options=("--capacity", str(_EACH)))
    yard.desk.ok("inbox")

    def look(left: int) -> None:
        """Kill a worker when it is time: alone, so that its agents live on for a while, or with all of its host."""
        if not kills or jobs - left < kills[0]:
            return
        kills.pop(0)
        host, is_whole = chance.choice(_HOSTS), chance.random() < 0.5
        if is_whole:
            yard.kill_host(host)
        else:
            yard.signal(host)
        killed["with agents and keepers" if is_whole else "alone"] += 1
        yard.start(host, options=("--capacity", str(_EACH)))

    begun = perf_counter()
    names = []
    for number in range(jobs):
        names.append(_submitted(yard.desk, number, "--fleet"))
        if number % _EVERY == _EVERY - 1:  # many are over before the last one is submitted
            look(jobs - len(names) + len(_open(yard.desk)))
    _until_over(yard.desk, jobs, look)
    spent = perf_counter() - begun
    told = _check(yard.desk, names)
    again = [one for one in told if len(yard.stored(one["session"])["attempts"]) > 1]
    for one in told:
        given = [said for said in yard.stored(one["session"])["prompts"] if said.get("by", "user") == "user"]
        if len(given) != 1:
            raise Disagreement(f"{one['id']} was given {len(given)} prompts")
    facts |= {
        "workers killed": dict(killed),
        "jobs by host": dict(Counter(one["host"] for one in told)),
        "jobs with more than one attempt": len(again),
        "their receipts": dict(Counter(one["receipt"]["kind"] for one in again if one["receipt"])),
    }
    return spent


def _submitted(machine: Machine, number: int, how: str) -> str:
    script = f"say this is job {number}\nwrite {number}.txt {number}\nsay done"
    return machine.look("job", "submit", "--agent", "scripted", how, "--title", f"job {number}", script).strip()


def _until_over(machine: Machine, jobs: int, look: Callable[[int], None] = lambda _left: None) -> None:
    longest = _LONGEST + jobs * _LONGEST_EACH
    deadline = monotonic() + longest
    while left := _open(machine):
        if monotonic() > deadline:
            raise Disagreement(f"{len(left)} jobs are not over after {longest:g} s: {left[:2]}")
        look(len(left))
        sleep(0.25)


def _open(machine: Machine) -> list[Any]:
    found: list[Any] = json.loads(machine.look("job", "list", "--json"))["jobs"]
    return found


def _check(machine: Machine, names: list[str]) -> list[Any]:
    told = machine.json("job", "list", "--all")["jobs"]
    bad = [(one["id"], one["status"]) for one in told if one["status"] != "done"]
    if bad or sorted(names) != sorted(one["id"] for one in told):
        raise Disagreement(f"of {len(names)} jobs {len(told)} are known; not done: {bad[:5]}")
    return list(told)
