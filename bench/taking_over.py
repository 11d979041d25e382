"""A host dies in the middle of a turn: how soon the agent of its successor is asked to go on, and where that time goes.

The four parts are read from the shared store, whose records have the time of each step; all hosts are on one machine,
so their clocks are the same.
"""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median

from bench.fleet import fleet
from bench.measured import Disagreement, Measured, rounded
from bench.stage import Stage

#: What may be added to the time after which the engine takes a host for dead.
_ALLOWED = 2.0
_ROUNDS = 5
_PARTS = ("detect", "fetch", "restore", "first request")
_WHEN = """
    SELECT
        (SELECT since FROM placements WHERE session = %s AND since > %s),
        (SELECT min(at) FROM facts WHERE subject = %s AND kind = 'taken_over' AND at > %s),
        (SELECT min(at) FROM facts WHERE subject = %s AND kind = 'opened' AND at > %s),
        (SELECT min(at) FROM facts WHERE subject = %s AND kind = 'prompt_sent' AND at > %s)
"""


def by_the_engine(stage: Stage) -> Measured:
    """kill -9 of a worker with its whole tree, until the same conversation is asked to go on at another host."""
    parts: list[list[float]] = []
    with fleet("a", "b") as yard:
        from tests.fleet.proving import begun, proved
        from tests.fleet.yard import HEARTBEAT, until

        yard.start("a", "b")
        for _ in range(_ROUNDS if stage.sizes.heavy > 2 else 1):
            job, told = begun(yard, "a", "b")
            session, lost = told["session"], told["host"]
            killed = time.time()
            yard.kill_host(lost)

            def when(session: str = session, job: str = job, killed: float = killed) -> list[float] | None:
                [found] = yard.rows(_WHEN, job, killed, *(3 * (session, killed)))
                return list(found) if None not in found else None

            steps = [killed, *until(when, f"the first request after {lost} was lost")]
            if steps != sorted(steps):
                raise Disagreement(f"the steps of a takeover are not in order: {steps}")
            if proved(yard, job, told)["host"] == lost:
                raise Disagreement(f"{lost} went on itself")
            parts.append([after - before for before, after in pairwise(steps)])
            yard.start(lost)
    facts = {
        f"{name}, ms": rounded(1000 * median(part)) for name, part in zip(_PARTS, zip(*parts, strict=True), strict=True)
    }
    whole = [sum(one) for one in parts]
    return Measured([HEARTBEAT + _ALLOWED] * len(whole), whole, {"heartbeat timeout, s": HEARTBEAT, **facts})
