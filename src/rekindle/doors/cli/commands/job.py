"""`rekindle job`: work that runs unattended, is tried again within a budget, and ends once."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.app.job_submitting import JobTerms
from rekindle.app.time_travel import RestoreRequest
from rekindle.core.job.order import JOB_POLICIES
from rekindle.core.session.choices import PERMISSIONS
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import jobs
from rekindle.doors.cli.first_run import agent_for
from rekindle.doors.cli.limits import Dollars, limit_options, typed
from rekindle.doors.cli.live import LiveView
from rekindle.doors.cli.options import json_option, print_json, who
from rekindle.doors.cli.reading import read_file
from rekindle.doors.cli.run_defaults import JobWithDefaults
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError, UsageError

_LOOK_SECONDS = 1.0
_TYPED = ParameterSource.COMMANDLINE
_LONGEST = 1 << 20


def complete_jobs(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of jobs, for the shell."""
    try:
        found = use_cases().jobs().listed(every=True)
    except RekindleError:
        return []
    return [
        CompletionItem(one["id"], help=f"{one['status']}: {one['title']}")
        for one in found
        if one["id"].startswith(incomplete)
    ]


@click.group()
def job() -> None:
    """Run work unattended: a job is tried again by itself, and ends once, whatever dies meanwhile."""


@job.command(cls=JobWithDefaults, short_help="Submit a job: a prompt, a file or a runbook.")
@click.argument("words", nargs=-1, metavar="[PROMPT]")
@click.option("--file", "file", type=click.Path(), metavar="FILE", help="Read the prompt from this file.")
@click.option("--agent", default=DEFAULT, show_default=True, type=click.Choice(list(AGENTS)), help="Which agent.")
@click.option("--model", help="The model for the agent, in all attempts.")
@click.option(
    "--permission", type=click.Choice(PERMISSIONS), help="How its requests for permission are answered (edits)."
)
@click.option(
    "--runbook",
    type=click.Path(),
    metavar="FILE",
    help="Use this runbook: all its steps, or [AGENT|STEP] [PROMPT] of it.",
)
@click.option("--cwd", type=click.Path(), default=".", help="The folder the agents work in.")
@click.option(
    "--worktree",
    metavar="[NAME]",
    is_flag=False,
    flag_value="",
    help="Work in a separate git worktree, on the branch rekindle/NAME (default: the job's id).",
)
@click.option("--title", default="", help="The title shown in lists; default: the prompt's first line.")
@click.option("--retries", type=click.IntRange(min=0), default=3, show_default=True, help="Tries after the first one.")
@click.option(
    "--policy",
    type=click.Choice(JOB_POLICIES),
    default="continue",
    show_default=True,
    help="After a timeout, a death or an error: continue (try again), ask (you decide) or never (it has failed).",
)
@click.option("--resume/--fresh", default=True, show_default=True, help="How it is tried again, if both are possible.")
@limit_options
@click.option("--at", "at", metavar="TIME", help="Start then: 03:00, 2026-11-18T03:00, or 2h (from now).")
@click.option("--every", metavar="CRON", help="Start a job at each of these times, e.g. '30 2 * * 1-5'.")
@click.option("--zone", default="", metavar="ZONE", help="The time zone of --at and --every; default: yours.")
@click.option("--fleet", is_flag=True, help="Let any host of the fleet do it, in its own clone of the repository here.")
@click.option(
    "--needs",
    multiple=True,
    metavar="LABEL",
    help="With --fleet: only a host with this label (gpu, account:work), memory:16g, or a clone: repository:shop.",
)
@click.option("--wait", "waits", is_flag=True, help="Follow it until it ends; the exit status says how.")
@json_option
def submit(
    words: tuple[str, ...], file: str | None, runbook: str | None, waits: bool, as_json: bool, **about: Any
) -> int:
    """Submit a job with PROMPT (- reads standard input), or with the steps of a runbook.

    A try that times out, dies or fails is followed by another one: in the same conversation if that is known, young
    enough (--max-age) and was not resumed too often (--max-resumes); otherwise fresh with the original prompt, once.
    """
    given = (runbook, read_file(runbook, "runbook", _LONGEST)) if runbook is not None else None
    words = _words(words, file, needs_one=given is None)
    source = click.get_current_context().get_parameter_source("agent")
    if given is not None and source is _TYPED:
        raise UsageError("--agent and --runbook cannot be combined", "name the runbook's agent behind the file")
    if given is not None and click.get_current_context().get_parameter_source("permission") is not _TYPED:
        about["permission"] = None  # the runbook's own is stronger than a setting
    if given is None:
        about["agent"] = agent_for(about["agent"], may_ask=not as_json)
    if about["needs"] and not about["fleet"]:
        raise UsageError("--needs is about hosts of a fleet", "add --fleet")
    limits = about.pop("limits")
    told = use_cases().jobs().submit(JobTerms(words=words, runbook=given, limits=typed(limits), usual=limits, **about))
    if as_json:
        print_json({"job": told})
        return 0
    if waits:
        print(f"Job {told['id']}; Ctrl-C leaves it running.", file=sys.stderr)
        return jobs.follow(told["id"])
    print(told["id"])
    is_typed = click.get_current_context().get_parameter_source("policy") is _TYPED
    relies = bool(about["every"]) or (is_typed and about["policy"] == "continue")
    if (about["at"] or about["every"]) and told["next_at"] is not None:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(told["next_at"]))
        is_over = told["next_at"] <= time.time()
        print(f"That time is over ({when}): it starts now." if is_over else f"It starts at {when}.", file=sys.stderr)
        relies = relies or not is_over
    if told["status"] == "queued" and told["why"]:
        why = printable(told["why"])
        print(f"rekindle: {why}; it waits until one can take it: rekindle fleet status", file=sys.stderr)
    if relies and (hint := use_cases().booting().hint()) is not None:
        print(f"rekindle: {hint}", file=sys.stderr)
    return 0


def _words(words: tuple[str, ...], file: str | None, *, needs_one: bool) -> tuple[str, ...]:
    """The prompt, wherever it comes from; with a runbook, the words for it."""
    if file is not None:
        text = read_file(file, "prompt", _LONGEST).decode(errors="replace")
        if words and needs_one:
            raise UsageError("there are two prompts", "give one, as an argument or with --file")
        words = (*words, text)
    if words and words[-1] == "-":
        words = (*words[:-1], sys.stdin.read())
    if needs_one and len(words) > 1:
        raise UsageError(f"unexpected argument {words[1]!r}", "put the prompt in quotes")
    if needs_one and not (words and words[0].strip()):
        raise UsageError("there is no prompt", "say what the agent should do, or give --file or --runbook")
    return words


@job.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that have ended.")
@json_option
def list_(every: bool, as_json: bool) -> None:
    """List jobs that have not ended, oldest first."""
    found = use_cases().jobs().listed(every=every)
    if as_json:
        print_json({"jobs": found})
        return
    for one in found:
        print(jobs.line(one, time.time()))
    if not found:
        print("No jobs." if every else "No open jobs; --all shows those that have ended.")


@job.command()
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@json_option
def show(name: str, as_json: bool) -> None:
    """Show everything about JOB.

    Its terms, its steps, how it went on, and the snapshots of its files.
    """
    found = use_cases().jobs().show(name)
    kept = jobs.snapshots(found)
    if as_json:
        print_json({"job": found, "snapshots": kept})
        return
    for text in (*jobs.lines(found, time.time()), *jobs.snapshot_lines(found, kept, time.time())):
        print(text)


@job.command()
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@click.option("--resume/--fresh", default=None, help="In the same conversation, or fresh with the original prompt.")
@click.option("--max-cost", type=Dollars(), help="What the job may cost in all (USD), if its limit was reached.")
@click.option("--from", "snapshot", metavar="SNAPSHOT", help="First put its files back as in this snapshot.")
@json_option
def retry(name: str, resume: bool | None, max_cost: float | None, snapshot: str | None, as_json: bool) -> None:
    """Try JOB again, now: one that has failed, was cancelled, or waits. It gets all its retries back.

    Without --resume or --fresh it resumes the conversation if it can, and otherwise starts fresh. Later steps follow.
    """
    if snapshot is not None:
        _put_back(use_cases().jobs().show(name), snapshot)
    found = use_cases().jobs().retry(name, who(), resume=resume, max_cost=max_cost)
    print_json({"job": found}) if as_json else print(
        f"Job {found['id']} is tried again: rekindle job show {found['id']}"
    )


def _put_back(found: dict[str, Any], snapshot: str) -> None:
    """Restore a snapshot of the job's session. Nobody may be working there."""
    if found["status"] not in ("failed", "cancelled") or found["session"] is None:
        hint = f"cancel it first: rekindle job cancel {found['id']}"
        raise UsageError(f"job {found['id']} is {found['status']}: its files cannot be put back", hint)
    done = use_cases().time_travel().restore(RestoreRequest(found["session"], snapshot, None)).done
    print(f"{done.snapshot.id[:10]} is in {printable(done.to)}.", file=sys.stderr)
    if done.before is not None:
        before = f"rekindle restore {found['session']} --at {done.before[:10]}"
        print(f"  what was there before: {before}", file=sys.stderr)


@job.command()
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@json_option
def cancel(name: str, as_json: bool) -> int:
    """End JOB and its agent. A schedule starts no more jobs; the one that runs goes on."""
    found = use_cases().jobs().cancel(name, who())
    print_json({"job": found}) if as_json else print(f"Job {found['id']}: {found['status']}.")
    return 0 if found["status"] == "cancelled" else 1


@job.command(short_help="Show what the agents of JOB said and did.")
@click.argument("name", metavar="JOB", shell_complete=complete_jobs)
@click.argument("step", required=False)
@click.option("--follow", "-f", is_flag=True, help="Keep printing until the job ends.")
@json_option
def logs(name: str, step: str | None, follow: bool, as_json: bool) -> int:
    """Show what the agents of JOB said and did, step by step, or of one STEP."""
    found = use_cases().jobs().show(name)
    names = [one["name"] for one in found["steps"]]
    if step is not None and step not in names:
        raise UsageError(f"job {found['id']} has no step {step!r}", f"it has: {', '.join(names)}")
    if follow and not as_json:
        return jobs.follow(found["id"])
    steps = [one for one in found["steps"] if one["session"] is not None and step in (None, one["name"])]
    told: list[dict[str, Any]] = []
    for one in steps:
        entries = use_cases().conversations().follow(one["session"]).poll()
        told.append(
            {
                "step": one["name"],
                "session": one["session"],
                "entries": [{"attempt": each.attempt, "kind": each.kind, "text": each.text} for each in entries],
            }
        )
        if not as_json:
            if len(names) > 1:
                print(f"Step {one['name']}: session {one['session']}.", file=sys.stderr)
            view = LiveView()
            view.show(entries)
            view.rest()
    if as_json:
        print_json({"id": found["id"], "steps": told})
    return 0
