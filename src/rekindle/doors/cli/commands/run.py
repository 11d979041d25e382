"""rekindle run."""

from __future__ import annotations

import sys
from typing import Any

import click
from click.core import ParameterSource

from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.app.running import RunRequest
from rekindle.core.feature.modes import MODES
from rekindle.core.session.choices import PERMISSIONS, POLICIES, SWITCH
from rekindle.doors.cli.first_run import agent_for
from rekindle.doors.cli.limits import limit_options, over_runbook, typed
from rekindle.doors.cli.moved import follow_moved, warn_of
from rekindle.doors.cli.options import daemon, json_option, print_json
from rekindle.doors.cli.reading import read_file
from rekindle.doors.cli.run_defaults import CommandWithDefaults
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import UsageError


@click.command(cls=CommandWithDefaults, context_settings={"ignore_unknown_options": False})
@click.argument("prompt", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--agent", default=DEFAULT, show_default=True, type=click.Choice(list(AGENTS)), help="Which agent.")
@click.option("--detach", "-d", is_flag=True, help="Print the session's id and return; the agent keeps working.")
@click.option("--cwd", type=click.Path(), default=".", help="The folder the agent works in.")
@click.option(
    "--worktree",
    metavar="[NAME]",
    is_flag=False,
    flag_value="",
    help="Work in a separate git worktree, on the branch rekindle/NAME (default: the session's id).",
)
@click.option("--task", metavar="ID", help="The feature's task that the agent works on.")
@click.option("--title", default="", help="The title shown in lists; default: the prompt's first line.")
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default="ask",
    show_default=True,
    help="What to do if the agent dies: ask (wait for `resume`), continue (bring it back, 3 times) or never.",
)
@click.option(
    "--permission",
    type=click.Choice(PERMISSIONS),
    default="edits",
    show_default=True,
    help="How its requests for permission are answered.",
)
@click.option("--model", help="The model for the agent, in all attempts.")
@limit_options
@click.option(
    "--stable-prompt",
    type=click.Choice(SWITCH),
    default="off",
    show_default=True,
    help="Keep the state of git out of the agent's system prompt (Claude Code), so that a resume can use its cache.",
)
@click.option("--one-shot", is_flag=True, help="End the agent after each turn; the next prompt brings it back.")
@click.option("--terminal", is_flag=True, help="Run the agent as an interactive program in a terminal (needs tmux).")
@click.option("--plan", "plan_file", type=click.Path(), metavar="FILE", help="Run a whole feature from this plan.")
@click.option("--mode", type=click.Choice(MODES), help="How strictly the plan's work is checked; overrides the plan.")
@click.option(
    "--parallel", "--jobs", "jobs", type=click.IntRange(min=1), metavar="N", help="Maximum tasks in parallel."
)
@click.option(
    "--runbook",
    type=click.Path(),
    metavar="FILE",
    help="Run an agent or a step of this runbook, with its rules: [AGENT|STEP] [PROMPT]; or all its steps, as a job.",
)
@click.option("--again", is_flag=True, help="Run a finished plan again; you pay for its agents again.")
@json_option
def run(
    prompt: str | None,
    arguments: tuple[str, ...],
    detach: bool,
    plan_file: str | None,
    mode: str | None,
    jobs: int | None,
    again: bool,
    runbook: str | None,
    as_json: bool,
    **about: Any,
) -> int:
    """Start an agent with PROMPT (- reads standard input) in a new session, and show its output.

    The agent keeps working if this command, the terminal or the daemon dies. Put arguments for the agent itself after
    --. With --plan FILE there is no prompt: agents work on the plan's tasks, which are checked and merged.
    """
    warn_of(follow_moved(about["cwd"]))
    if plan_file is not None:
        from rekindle.core.feature.staffing import RunTerms
        from rekindle.doors.cli.features import run_plan

        if prompt is not None:
            raise UsageError("a plan and a prompt cannot be combined", "give one of them")
        how = {"again": again, "detach": detach, "as_json": as_json}
        terms = RunTerms(about["agent"], about["permission"], about["limits"] or None)
        return run_plan(about["cwd"], plan_file, mode, jobs, terms, **how)
    if mode is not None or jobs is not None or again:
        raise UsageError("--mode, --parallel and --again are for plans", "give a plan with --plan FILE")
    if runbook is not None and prompt is None:
        content = read_file(runbook, "runbook", 1 << 20)
        if use_cases().jobs().is_pipeline(runbook, content):
            return _as_job(runbook, content, about, detach=detach, as_json=as_json)
    if runbook is not None:
        text, arguments = _by_runbook(runbook, prompt, arguments, about)
    elif arguments and "--" not in sys.argv:
        raise UsageError(
            f"unexpected argument {arguments[0]!r}", "put the prompt in quotes; put arguments for the agent after --"
        )
    else:
        text = _text(prompt, about["worktree"])
    if runbook is None:
        about["agent"] = agent_for(about["agent"], may_ask=not as_json)
    about["policy_given"] = _is_given("policy")
    asked = RunRequest(prompt=text, arguments=arguments, **about)
    session = use_cases().running().begin(asked)
    if asked.policy == "continue" and about["policy_given"] and (hint := use_cases().booting().hint()) is not None:
        print(f"rekindle: {hint}", file=sys.stderr)
    if asked.terminal and sys.stdin.isatty() and not (detach or as_json):
        from rekindle.doors.cli.terminals import enter

        return enter(session["id"])
    if detach or as_json or asked.terminal:
        print_json(session) if as_json else print(session["id"])
        return 0
    print(f"Session {session['id']}; rekindle attach {session['id']} reconnects to it.", file=sys.stderr)
    from rekindle.doors.cli.watching import watch  # only now: the agent is starting, so nobody waits for imports

    return watch(daemon(), session["id"], put_to_sleep=runbook is None)


def _as_job(runbook: str, content: bytes, about: dict[str, Any], *, detach: bool, as_json: bool) -> int:
    """Run all steps of a runbook, one after the other, as a job."""
    from rekindle.app.job_submitting import JobTerms
    from rekindle.doors.cli import jobs

    named = {name: about[name] if _is_given(name) else None for name in ("model", "permission")}
    limits = {"limits": typed(about["limits"]), "usual": about["limits"]}
    about = {**{name: about[name] for name in ("cwd", "title", "worktree")}, **named, **limits}
    told = use_cases().jobs().submit(JobTerms(runbook=(runbook, content), **about))
    if detach or as_json:
        print_json({"job": told}) if as_json else print(told["id"])
        return 0
    print(f"Job {told['id']}; Ctrl-C leaves it running.", file=sys.stderr)
    return jobs.follow(told["id"])


def _is_given(option: str) -> bool:
    """Whether an option was typed, not just set as a default."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def _by_runbook(
    file: str, prompt: str | None, words: tuple[str, ...], about: dict[str, Any]
) -> tuple[str, tuple[str, ...]]:
    """What a runbook says about the session, under what was typed. Returns the prompt and the agent's arguments."""
    given = [prompt, *words] if prompt is not None else []
    before = len(given)
    if "--" in sys.argv:
        before -= len(sys.argv) - sys.argv.index("--") - 1
    found = use_cases().runbooks().given(read_file(file, "runbook", 1 << 20), file, given[:before])
    agent = found.agent
    assert agent is not None
    about["runbook"] = found
    about["agent"] = agent.kind
    about["limits"] = over_runbook(about["limits"], agent.limits)
    said = {"permission": agent.permission, "model": agent.model, "cwd": agent.cwd}
    about.update({name: value for name, value in said.items() if value and not _is_given(name)})
    return found.prompt, (*agent.arguments, *given[before:])


def _text(prompt: str | None, worktree: str | None) -> str:
    """The prompt; - means standard input."""
    if prompt is None:
        if worktree:
            taken = f"there is no prompt: {worktree!r} was taken for the name of the worktree"
            raise UsageError(taken, "write --worktree=NAME, or put --worktree at the end")
        raise UsageError("there is no prompt", 'rekindle run "what to do"; a plan of several tasks: --plan FILE')
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise UsageError("the prompt is empty", "say what the agent should do")
    return text
