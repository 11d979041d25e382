"""Who works on tasks that name no agent, and what a run's sessions may do: chosen once, recorded, kept by a resume.

Pure. What a person says now wins; then what an earlier run of the lineage recorded; then the user's settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rekindle.core.feature.plan import Plan
from rekindle.core.journal.run import RunState
from rekindle.core.runbook.limits import THRESHOLD
from rekindle.core.session.choices import PERMISSIONS
from rekindle.core.session.values import Limits
from rekindle.core.setting_keys import SettingValue, limits_in


class RunTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """The agent for tasks that name none of ours, and what the run's new sessions get. Empty: nobody has said."""

    agent: str = ""
    permission: str = ""
    limits: dict[str, float | int] | None = None

    @property
    def session_limits(self) -> Limits:
        """The limits of a new session. Raises ValidationError if one of them is not valid."""
        usual = Limits(dehydrate_at=THRESHOLD)
        return msgspec.convert({**msgspec.to_builtins(usual), **(self.limits or {})}, Limits)

    def over(self, earlier: RunTerms) -> RunTerms:
        """These terms; what they leave open comes from `earlier`. Limits are taken one by one."""
        limits = {**(earlier.limits or {}), **(self.limits or {})}
        return RunTerms(self.agent or earlier.agent, self.permission or earlier.permission, limits or None)


def set_terms(settings: Mapping[str, SettingValue]) -> RunTerms:
    """What the user's settings say."""
    return RunTerms(str(settings.get("agent", "")), str(settings.get("permission", "")), limits_in(settings) or None)


def recorded_terms(runs: Sequence[RunState], agents: Collection[str]) -> RunTerms:
    """What the newest run of a lineage (oldest first) that says so has recorded. What we do not know is left out."""
    starts = [run.start for run in reversed(runs) if run.start is not None]
    start = next((one for one in starts if one.permission in PERMISSIONS), None)
    agent = next((one.agent for one in starts if one.agent in agents), None)
    if start is None:
        return RunTerms(agent or "")
    return RunTerms(agent or "", start.permission or "", dict(_numbers(start.limits or {})) or None)


def _numbers(given: dict[str, Any]) -> Iterator[tuple[str, float | int]]:
    for name in Limits.__struct_fields__:
        try:
            limit = msgspec.convert(given.get(name), float | int | None)
            msgspec.convert({name: limit}, Limits)
        except msgspec.ValidationError:
            continue
        if limit is not None:
            yield name, limit


def terms_of_resume(recorded: RunTerms, settings: RunTerms) -> RunTerms:
    """The terms of a resume if nobody says otherwise: those on record, whatever the settings are now."""
    limits = recorded.limits if recorded.permission else settings.limits
    return RunTerms(recorded.agent or settings.agent, recorded.permission or settings.permission, limits)


def unstaffed(plan: Plan, agents: Collection[str]) -> tuple[str, ...]:
    """The tasks that name no agent of ours: a role of another orchestrator, or nothing at all."""
    return tuple(task.id for task in plan.tasks if task.agent not in agents)


def staffed(plan: Plan, agent: str) -> Plan:
    """The plan with this agent for every task that names none."""
    tasks = tuple(task if task.agent else replace(task, agent=agent) for task in plan.tasks)
    return replace(plan, tasks=tasks)
