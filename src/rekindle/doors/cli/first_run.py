"""Chooses the agent when none was named: an installed one, if somebody at a terminal picks it.

Without a terminal nobody is asked, and the built-in practice agent does it, as always; it says on standard error what
it is, because a script that is followed to the letter looks like an answer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from click.core import ParameterSource

from rekindle.agents.registry import DEFAULT
from rekindle.doors.cli.use_cases import use_cases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.app.agent_overview import InstalledAgent

_PRACTICE = "practice agent: built in, follows a script, needs no account"


def agent_for(named: str, *, may_ask: bool) -> str:
    """The agent of a new session: the one that was named, by option or setting, or the one that is picked now."""
    if click.get_current_context().get_parameter_source("agent") is not ParameterSource.DEFAULT:
        return named
    installed = use_cases().agents().installed()
    if installed and may_ask and sys.stdin.isatty() and sys.stderr.isatty():
        from rekindle.app.agent_overview import InstalledAgent  # imported only when picking

        return _pick([*installed, InstalledAgent(DEFAULT, _PRACTICE)])
    click.echo(about_practice(installed), err=True)
    return named


def about_practice(installed: Sequence[InstalledAgent]) -> str:
    """What the practice agent is, and how to use a real one."""
    what = "No agent is set, so the built-in practice agent does this: it follows a script\n"
    what += "(say, write, run, ask ...) and understands nothing else."
    if not installed:
        return f"{what}\nTo use a real one, install it; rekindle agent list says how."
    name = installed[0].name
    return f"{what}\nUse a real one: --agent {name}, or rekindle config set agent {name}"


def menu(offered: Sequence[InstalledAgent]) -> str:
    """The agents to pick from."""
    lines = [f"  {number}  {one.name:10} {one.title}" for number, one in enumerate(offered, 1)]
    return "\n".join(["No agent is set yet. These are installed:", *lines])


def _pick(offered: Sequence[InstalledAgent]) -> str:
    click.echo(menu(offered), err=True)
    number = click.prompt("Which one should do this", type=click.IntRange(1, len(offered)), default=1, err=True)
    picked = offered[number - 1].name
    if click.confirm(f"Always use {picked}, unless --agent says otherwise?", default=False, err=True):
        settings = use_cases().user_settings()
        settings.set("agent", picked)
        click.echo(f"Saved in {settings.path}. To change it: rekindle config set agent NAME", err=True)
    else:
        click.echo(f"To set it later: rekindle config set agent {picked}", err=True)
    return picked
