"""Why nobody takes a job of the fleet, in words that name what is missing."""

from __future__ import annotations

import pytest

from rekindle.core.fleet.needs import queue_of
from rekindle.core.fleet.unclaimed import Worker, why_stalled, why_unclaimed

A = Worker("a", "ready", ("gpu",), ("claude", "scripted"))
B = Worker("b", "ready", (), ("scripted",))


@pytest.mark.parametrize(
    ("agents", "labels", "workers", "why"),
    [
        (["scripted"], [], [A, B], ""),
        (["claude"], ["gpu"], [A, B], ""),
        (["scripted"], [], [], "no worker is running"),
        (["scripted"], ["tpu"], [A, B], "no worker has the label tpu"),
        (
            ["scripted"],
            ["memory:16g"],
            [Worker("a", "ready", ("memory:15g",), ("scripted",)), B],
            "no worker has the label memory:16g",
        ),
        (["scripted"], ["memory:16g"], [Worker("a", "ready", ("memory:67g",), ("scripted",)), B], ""),
        (
            ["scripted"],
            ["account:work"],
            [Worker("a", "ready", ("account:own",), ("scripted",))],
            "no worker has the label account:work",
        ),
        (["codex"], [], [A, B], "no worker has the agent codex"),
        (["codex"], ["tpu"], [A, B], "no worker has the agent codex or the label tpu"),
        (
            ["claude"],
            ["big"],
            [A, Worker("c", "ready", ("big",), ("scripted",))],
            "no worker has all of: the agent claude, the label big",
        ),
        (
            ["claude"],
            [],
            [Worker("a", "draining", (), ("claude",)), B],
            "no worker that fits takes jobs now: a is draining",
        ),
        (
            ["scripted"],
            [],
            [Worker("a", "ready", (), ("scripted",), "the engine is away")],
            "no worker that fits takes jobs now: a says that the engine is away",
        ),
        (["scripted"], [], [Worker("a", "ready", (), ("scripted",), "the engine is away"), B], ""),
        (["codex"], [], [Worker("old", "ready")], ""),  # an earlier version does not tell which agents it has
    ],
)
def test_what_keeps_a_job_waiting(agents: list[str], labels: list[str], workers: list[Worker], why: str) -> None:
    assert why_unclaimed(queue_of(agents, labels), workers) == why


@pytest.mark.parametrize(
    ("seconds", "workers", "why"),
    [
        (605.0, [A, B], "host b was last seen 10 min 5 s ago; another host continues the job"),
        (20.0, [B], "host b was last seen 20 s ago; no worker is running"),
        (None, [A], "host b was never seen; another host continues the job"),
    ],
)
def test_a_job_whose_host_is_silent_says_so_and_whether_another_can_take_it(
    seconds: float | None, workers: list[Worker], why: str
) -> None:
    assert why_stalled(queue_of(["scripted"], []), "b", seconds, workers) == why
