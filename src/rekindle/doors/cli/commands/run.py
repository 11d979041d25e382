"""rekindle run."""

from __future__ import annotations

import sys
from typing import Any

import click

from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.app.running import RunRequest
from rekindle.app.service import PERMISSIONS, POLICIES
from rekindle.core.feature.plan_file import MODES
from rekindle.doors.cli.first_run import agent_for
from rekindle.doors.cli.limits import limit_options
from rekindle.doors.cli.moved import follow_moved, warn_of
from rekindle.doors.cli.options import daemon, json_option, print_json
from rekindle.doors.cli.run_defaults import CommandWithDefaults
from rekindle.doors.cli.use_cases import use_cases
from rekindle.doors.cli.watching import watch
from rekindle.ports.errors import UsageError


@click.command(cls=CommandWithDefaults, context_settings={"ignore_unknown_options": False})
@click.argument("prompt", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--agent", default=DEFAULT, show_default=True, type=click.Choice(list(AGENTS)), help="Which agent.")
@click.option("--detach", "-d", is_flag=True, help="Print the session's id and leave it working.")
@click.option("--cwd", type=click.Path(), default=".", help="The folder that the agent works in.")
@click.option(
    "--worktree",
    metavar="[NAME]",
    is_flag=False,
    flag_value="",
    help="Work in a git worktree of its own, on the branch rekindle/NAME (by default the session's id).",
)
@click.option("--task", metavar="ID", help="The task of the feature that it works on.")
@click.option("--title", default="", help="A name for lists; by default the prompt's first line.")
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default="ask",
    show_default=True,
    help="When it dies: ask waits for `resume`, continue brings it back (3 times), never forbids that.",
)
@click.option(
    "--permission",
    type=click.Choice(PERMISSIONS),
    default="edits",
    show_default=True,
    help="How its requests for permission are answered.",
)
@click.option("--model", help="The model that the agent uses, in all attempts.")
@limit_options
@click.option("--one-shot", is_flag=True, help="End the agent after each turn; the next prompt brings it back.")
@click.option("--terminal", is_flag=True, help="Use the agent as an interactive program, in a terminal (needs tmux).")
@click.option("--plan", "plan_file", type=click.Path(), metavar="FILE", help="Run a whole feature by this plan.")
@click.option("--mode", type=click.Choice(MODES), help="How strictly a plan's work is checked (the plan says it too).")
@click.option(
    "--parallel", "--jobs", "jobs", type=click.IntRange(min=1), metavar="N", help="Maximum tasks in parallel."
)
@click.option("--again", is_flag=True, help="Run a plan again that was finished before; its agents are paid again.")
@json_option
def run(
    prompt: str | None,
    arguments: tuple[str, ...],
    detach: bool,
    plan_file: str | None,
    mode: str | None,
    jobs: int | None,
    again: bool,
    as_json: bool,
    **about: Any,
) -> int:
    """Give PROMPT (- reads standard input) to an agent in a new session, and show what it does.

    The agent lives on if this command, the terminal or the daemon dies. Behind -- come arguments for the agent itself.
    With --plan FILE there is no prompt: the tasks of the plan are given to agents, checked and merged.
    """
    warn_of(follow_moved(about["cwd"]))
    if plan_file is not None:
        from rekindle.doors.cli.features import run_plan

        if prompt is not None:
            raise UsageError("a plan and a prompt do not go together", "give one of them")
        how = {"again": again, "detach": detach, "as_json": as_json}
        return run_plan(about["cwd"], plan_file, mode, jobs, about["permission"], **how)
    if mode is not None or jobs is not None or again:
        raise UsageError("--mode, --parallel and --again are for plans", "give a plan with --plan FILE")
    if arguments and "--" not in sys.argv:
        raise UsageError(
            f"unexpected argument {arguments[0]!r}", "put the prompt in quotes; arguments for the agent go behind --"
        )
    text = _text(prompt, about["worktree"])
    about["agent"] = agent_for(about["agent"], may_ask=not as_json)
    asked = RunRequest(prompt=text, arguments=arguments, **about)
    session = use_cases().running().begin(asked)
    if asked.terminal and sys.stdin.isatty() and not (detach or as_json):
        from rekindle.doors.cli.terminals import enter

        return enter(session["id"])
    if detach or as_json or asked.terminal:
        print_json(session) if as_json else print(session["id"])
        return 0
    print(f"Session {session['id']}; rekindle attach {session['id']} comes back to it.", file=sys.stderr)
    return watch(daemon(), session["id"], put_to_sleep=True)


def _text(prompt: str | None, worktree: str | None) -> str:
    """What the agent is told; - is what standard input has."""
    if prompt is None:
        taken = f": {worktree!r} was taken for the name of the worktree" if worktree else ""
        raise UsageError(
            f"there is no prompt{taken}",
            "say what the agent should do, or give --plan FILE; write --worktree=NAME, or --worktree at the end",
        )
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise UsageError("the prompt is empty", "say what the agent should do")
    return text
