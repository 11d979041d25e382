"""Figures for Prometheus at /metrics: what sessions, recoveries, budgets and the disk are like now.

They are taken from the store when they are asked for, so that they are right after a restart of the daemon too.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from typing import Final

import litestar
from litestar import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from rekindle.app.governance import GovernorView
from rekindle.app.recoveries import Recoveries
from rekindle.app.session_view import SessionView
from rekindle.doors.http.guard import admitted
from rekindle.doors.http.house import House

_STEPS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)


class _Figures:
    """What Prometheus collects, once."""

    def __init__(self, figures: Iterable[Metric]) -> None:
        self._figures = list(figures)

    def collect(self) -> Iterable[Metric]:
        return self._figures


@litestar.get("/metrics", include_in_schema=False, guards=[admitted])
async def metrics(house: House) -> Response[bytes]:
    """The figures as text. A secret for reading is enough."""
    listed = await house.service.list_sessions()
    recoveries = await house.recoveries.counted()
    disk = shutil.disk_usage(house.state_dir)
    registry = CollectorRegistry()
    figures = [*_sessions(listed.sessions), *_recoveries(recoveries), *_governor(listed.governor)]
    room = GaugeMetricFamily("rekindle_disk_bytes", "Bytes on the disk of the state folder.", labels=["kind"])
    room.add_metric(["free"], disk.free)
    room.add_metric(["total"], disk.total)
    registry.register(_Figures([*figures, room]))
    return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})


def _sessions(sessions: list[SessionView]) -> Iterable[Metric]:
    found = GaugeMetricFamily("rekindle_sessions", "Sessions by what they are doing.", labels=["agent", "status"])
    for (agent, status), number in Counter((one.agent, one.status) for one in sessions).items():
        found.add_metric([agent, status], number)
    yield found
    yield GaugeMetricFamily(
        "rekindle_sessions_need_you", "Sessions that a person has to act on.", sum(one.needs_you for one in sessions)
    )
    yield GaugeMetricFamily(
        "rekindle_sessions_waiting",
        "Sessions that go on by themselves at a certain time.",
        sum(one.waits_until is not None for one in sessions),
    )
    tokens = CounterMetricFamily("rekindle_tokens", "Tokens used by all sessions that are kept.", labels=["agent"])
    cost = CounterMetricFamily("rekindle_cost_dollars", "Dollars, as far as agents report them.", labels=["agent"])
    for agent in sorted({one.agent for one in sessions}):
        mine = [one.usage for one in sessions if one.agent == agent]
        tokens.add_metric([agent], sum(one.tokens for one in mine))
        cost.add_metric([agent], sum(one.cost or 0.0 for one in mine))
    yield tokens
    yield cost


def _recoveries(counted: Recoveries) -> Iterable[Metric]:
    found = CounterMetricFamily("rekindle_recoveries", "Agents that came back, by what was proved.", labels=["verdict"])
    for verdict, number in sorted(counted.verdicts.items()):
        found.add_metric([verdict], number)
    yield found
    cuts = CounterMetricFamily("rekindle_interruptions", "Agents that ended without being asked to.")
    cuts.add_metric([], counted.interruptions)
    yield cuts
    restarts = CounterMetricFamily("rekindle_restarts", "Automatic restarts that spent a budget.")
    restarts.add_metric([], counted.restarts)
    yield restarts
    yield _histogram(
        "rekindle_recovery_seconds", "From the end of an agent to its conversation being open again.", counted.seconds
    )
    yield _histogram("rekindle_question_wait_seconds", "How long questions waited for an answer.", counted.waited)


def _histogram(name: str, told: str, values: list[float]) -> Metric:
    buckets = [(f"{step:g}", float(sum(one <= step for one in values))) for step in _STEPS]
    found = HistogramMetricFamily(name, told)
    found.add_metric([], [*buckets, ("+Inf", float(len(values)))], sum_value=sum(values))
    return found


def _governor(view: GovernorView) -> Iterable[Metric]:
    spent = GaugeMetricFamily("rekindle_spent_dollars", "Spent in the current time.", labels=["time"])
    limit = GaugeMetricFamily("rekindle_spending_limit_dollars", "The cap for the current time.", labels=["time"])
    for one in view.spending:
        spent.add_metric([one.name], one.spent)
        if one.limit is not None:
            limit.add_metric([one.name], one.limit)
    yield spent
    yield limit
    yield GaugeMetricFamily("rekindle_restarts_recent", "Restarts without progress.", len(view.restarts))
    yield GaugeMetricFamily(
        "rekindle_restarts_stopped", "1 while restarts are stopped.", view.stopped_since is not None
    )
    yield GaugeMetricFamily("rekindle_agents_at_work", "Agents that work now.", view.places.at_work)
    yield GaugeMetricFamily("rekindle_agents_waiting", "Sessions that wait for a place.", len(view.places.waiting))
