"""Who works on a plan's tasks that name no agent: the one that was named or set, else as at a first run.

This is reported before anything starts.
"""

from __future__ import annotations

from typing import Any

import click
import msgspec
from click.core import ParameterSource
from msgspec.structs import replace

from rekindle.core.feature.plan import BadPlan
from rekindle.core.feature.plan_file import parse
from rekindle.core.feature.staffing import RunTerms
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.feature_screens import allowed
from rekindle.doors.cli.first_run import agent_for
from rekindle.doors.cli.printing import print_lines

_NAMED = 5


def chosen(plan: str, name: str, terms: RunTerms, *, may_ask: bool) -> RunTerms:
    """The terms of a new run, reported before it starts. A plan that cannot be read is refused later, by the run."""
    try:
        given = parse(plan.encode("utf-8", "surrogateescape"), name).plan
    except BadPlan:
        return terms
    tasks = [task.id for task in given.tasks if not task.agent]
    if not tasks:
        return terms
    source = click.get_current_context().get_parameter_source("agent")
    terms = replace(terms, agent=agent_for(terms.agent, may_ask=may_ask))
    why = {ParameterSource.DEFAULT: "", ParameterSource.DEFAULT_MAP: ", as your settings say"}
    _say(tasks, terms, why.get(source, "") if source is not None else "")
    return terms


def of_resume(told: dict[str, Any], given: RunTerms, *, may_ask: bool) -> RunTerms:
    """The terms of a resume: what the flags say, then what `--explain` shows."""
    known = msgspec.convert(told["terms"], RunTerms)
    if not told["unstaffed"]:
        return given.over(known)
    if not given.agent and told["agent_from"] == "built in":
        known = replace(known, agent=agent_for(known.agent, may_ask=may_ask))
    terms = given.over(known)
    _say(told["unstaffed"], terms, "")
    return terms


def _say(tasks: tuple[str, ...] | list[str], terms: RunTerms, why: str) -> None:
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    named = ", ".join(map(printable, tasks[:_NAMED])) + more
    what = "task names" if len(tasks) == 1 else "tasks name"
    print_lines(
        [
            f"{terms.agent} works on the {what.split()[0]} that {what.split()[1]} no agent ({named}){why}; "
            f"{allowed(msgspec.to_builtins(terms))}."
        ],
        err=True,
    )
