"""The user's settings as defaults of a command's options: an option that was given wins, then the settings."""

from __future__ import annotations

import click
from click.core import ParameterSource

from rekindle.core.setting_keys import SettingValue
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError


class CommandWithDefaults(click.Command):
    """A command with options that have the same names as settings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give the settings to click as defaults. Completion does not need them."""
        if not ctx.resilient_parsing:
            ctx.default_map = dict(_defaults(wants_help=bool({"-h", "--help"} & set(args))))
        rest = super().parse_args(ctx, args)
        # In a terminal, a silent agent may be waiting for a person: stop it only if asked to for this session.
        if ctx.params.get("terminal") and ctx.get_parameter_source("stall") is ParameterSource.DEFAULT_MAP:
            ctx.params["stall"] = None
        return rest


def _defaults(*, wants_help: bool) -> dict[str, SettingValue]:
    """Help is for everybody, and most of all for those whose settings are wrong."""
    try:
        return use_cases().user_settings().run_defaults()
    except RekindleError:
        if wants_help:
            return {}
        raise
