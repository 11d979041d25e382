"""The options that limit what a session may use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from rekindle.core.quantities import dollars_in, seconds_in
from rekindle.core.runbook.limits import OVERFLOWS, PRIORITIES, is_share
from rekindle.core.setting_keys import LIMITS

#: The limits that were given, by name.
Limits = dict[str, float | int]


class Duration(click.ParamType[float]):
    """90, 90s, 15m, 2h or 1d."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The duration in seconds."""
        if isinstance(value, float):
            return value
        found = seconds_in(str(value))
        if found is None:
            self.fail(f"{value!r} is not a valid duration: use 90s, 15m, 2h or 1d", param, ctx)
        return found


class Dollars(click.ParamType[float]):
    """A limit that can be reached: nothing is ever above `nan` or `inf`."""

    name = "dollars"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount."""
        found = dollars_in(str(value))
        if found is None:
            self.fail(f"{value!r} is not a valid amount of money: use 0.5 or 20", param, ctx)
        return found


class ContextShare(click.ParamType[float]):
    """A share of the context window."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share; 0 means never."""
        try:
            found = float(str(value))
        except ValueError:
            found = -1.0
        if not is_share(found):
            self.fail(f"{value!r} is not a share of the context window: use 0.05 to 0.95, or 0 for never", param, ctx)
        return found


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, and passes those that were used to the command as `limits`."""

    @functools.wraps(command)
    def limited(*args: Any, **values: Any) -> Any:
        given = {limit: values.pop(option) for option, limit in LIMITS.items()}
        return command(*args, limits={limit: value for limit, value in given.items() if value is not None}, **values)

    for option in reversed(
        (
            click.option("--max-cost", type=Dollars(), help="Stop after spending this much (USD)."),
            click.option("--max-tokens", type=click.IntRange(min=1), help="Stop after using this many tokens."),
            click.option("--timeout", type=Duration(), help="The longest time for one turn, e.g. 30m."),
            click.option("--stall", type=Duration(), help="How long a turn may be silent with no tool running."),
            click.option("--max-age", type=Duration(), help="Do not resume a conversation older than this."),
            click.option(
                "--max-windows",
                type=click.IntRange(min=0),
                help="How many limits of the agent's service to wait for before you are asked.",
            ),
            click.option(
                "--priority",
                type=click.Choice(list(PRIORITIES)),
                callback=lambda _ctx, _param, word: None if word is None else PRIORITIES[word],
                help="Who comes back first from a limit that several sessions wait for (normal).",
            ),
            click.option(
                "--dehydrate-at",
                type=ContextShare(),
                help="How full the context window is when the conversation is dehydrated (0.76; 0: never).",
            ),
            click.option(
                "--overflow",
                type=click.Choice(list(OVERFLOWS)),
                callback=lambda _ctx, _param, word: None if word is None else OVERFLOWS[word],
                help="What comes first if it is too long: the agent's own compaction (agent), or dehydrate.",
            ),
            click.option(
                "--max-resumes", type=click.IntRange(min=0), help="Do not resume a conversation more often than this."
            ),
        )
    ):
        limited = option(limited)
    return limited


def over_runbook(given: Mapping[str, Any], of_runbook: Mapping[str, Any]) -> dict[str, Any]:
    """The limits that hold for an agent of a runbook: what was typed, then the runbook's, then the user's settings."""
    return {**given, **of_runbook, **typed(given)}


def typed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the limits that were typed; the others come from the user's settings."""
    source = click.get_current_context().get_parameter_source
    return {
        name: given[name]
        for option, name in LIMITS.items()
        if name in given and source(option) is ParameterSource.COMMANDLINE
    }
