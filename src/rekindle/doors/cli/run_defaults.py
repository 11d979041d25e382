"""The user's settings as defaults of a command's options: an option that was given wins, then the settings."""

from __future__ import annotations

from typing import ClassVar

import click
from click.core import ParameterSource

from rekindle.core.setting_keys import SettingValue
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError


class CommandWithDefaults(click.Command):
    """A command with options that have the same names as settings."""

    #: Options that mean something else here than in `run`.
    of_its_own: ClassVar[frozenset[str]] = frozenset()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give the settings to click as defaults. Completion does not need them."""
        if not ctx.resilient_parsing:
            found = _defaults(wants_help=bool({"-h", "--help"} & set(args)))
            ctx.default_map = {name: value for name, value in found.items() if name not in self.of_its_own}
        rest = super().parse_args(ctx, args)
        # In a terminal, a silent agent may be waiting for a person: stop it only if asked to for this session.
        if ctx.params.get("terminal") and ctx.get_parameter_source("stall") is ParameterSource.DEFAULT_MAP:
            ctx.params["stall"] = None
        return rest


class JobWithDefaults(CommandWithDefaults):
    """A job is tried again unless its own command says otherwise, whatever `run` does about a dead agent."""

    of_its_own = frozenset({"policy"})


def _defaults(*, wants_help: bool) -> dict[str, SettingValue]:
    """Help is for everybody, and most of all for those whose settings are wrong."""
    try:
        return use_cases().user_settings().run_defaults()
    except RekindleError:
        if wants_help:
            return {}
        raise
