"""rekindle resume: sessions by asking the daemon here, features by `rekindle.doors.cli.features`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import click

from rekindle.agents.registry import AGENTS
from rekindle.app.requests import ResumeRequest
from rekindle.core.session.choices import PERMISSIONS
from rekindle.core.session.words import CUT
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import other_hosts
from rekindle.doors.cli.explain import shown
from rekindle.doors.cli.fork import fork
from rekindle.doors.cli.limits import Limits, limit_options
from rekindle.doors.cli.moved import follow_moved, tell_moved, warn_of
from rekindle.doors.cli.options import complete_resumable, daemon, json_option, print_json, who
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.reading import read_file
from rekindle.doors.cli.receipts import print_receipt
from rekindle.doors.cli.use_cases import use_cases
from rekindle.doors.cli.watching import read_so_far, watch
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import RekindleError, UsageError


@click.command()
@click.argument("what", required=False, shell_complete=complete_resumable)
@click.option("--runbook", type=click.Path(), metavar="FILE", help="Give the session new rules, from this runbook.")
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Resume every feature that needs no answer, and every session whose agent died.",
)
@click.option("--kill", is_flag=True, help="Stop a live agent first.")
@click.option(
    "--explain",
    "only_explain",
    is_flag=True,
    help="Print the evidence, the decision and the reasons, and change nothing.",
)
@click.option("--follow", "-f", is_flag=True, help="Show the agent's output.")
@click.option(
    "--at", metavar="N|ID", help="Fork the session after an earlier answer (a new session); `list` lists the answers."
)
@click.option("--prompt", default="", metavar="TEXT", help="The first prompt for the fork (with --at).")
@click.option(
    "--agent",
    type=click.Choice(list(AGENTS)),
    help="Hand the session over to another agent, which is told the history.",
)
@click.option("--model", help="The model for the new agent (with --agent).")
@click.option(
    "--native/--told",
    default=None,
    help="Load the agent's own record, or begin a new conversation and tell it the history.",
)
@limit_options
@click.option(
    "--choose", "choice", type=click.Choice(["A", "B", "C"]), help="Your answer if the resume of a feature asks."
)
@click.option(
    "--instructions", default="", metavar="TEXT", help="How the feature should continue, in your own words (answer C)."
)
@click.option("--take", multiple=True, metavar="TASK", help="Take the task's work that is not on its branch.")
@click.option("--leave", multiple=True, metavar="TASK", help="Leave that work out of the feature; it is kept.")
@click.option(
    "--plan", "plan_file", type=click.Path(), metavar="FILE", help="A new plan for a feature that starts over."
)
@click.option(
    "--parallel", "--jobs", "jobs", type=click.IntRange(min=1), metavar="N", help="Maximum tasks in parallel."
)
@click.option(
    "--permission", type=click.Choice(PERMISSIONS), help="For new sessions of a feature; by default as it began."
)
@click.option("--detach", "-d", is_flag=True, help="Do not wait for the end of a feature's run.")
@click.option("--trust", default="", metavar="ID", help="Approve a journal from elsewhere, as shown by --explain.")
@click.option("--remove-locks", is_flag=True, help="Remove lock files that a killed git left in the feature's way.")
@json_option
def resume(what: str | None, every: bool, only_explain: bool, as_json: bool, limits: Limits, **flags: Any) -> int:
    """Resume WHAT: a feature, to its end, or a session, in the same conversation if possible. Prints a receipt.

    Without WHAT, resumes the only one that is interrupted. Answer a feature's questions with --choose, --take, --leave.
    """
    from rekindle.core.feature.staffing import RunTerms
    from rekindle.doors.cli import features

    if every and what is not None:
        raise UsageError("--all and a name cannot be combined", "give one of them")
    for_feature = features.Resume(**{name: flags.pop(name) for name in features.FLAGS})
    permission = flags.pop("permission")
    refusal = None if only_explain else follow_moved()
    if refusal is not None and what is None and not every:
        raise refusal
    feature = use_cases().feature_resuming().meant(what, every=every)
    if feature is not None:
        if refusal is not None:
            raise refusal
        terms = RunTerms(flags["agent"] or "", permission or "", limits or None)
        return features.resume(feature, for_feature, terms, only_explain=only_explain, as_json=as_json)
    warn_of(refusal)
    if only_explain:
        tell_moved()
    if for_feature.is_answered:
        flags_named = "--choose, --instructions, --take, --leave, --plan, --parallel, --trust and --remove-locks"
        raise UsageError(f"{flags_named} are for features", "name the feature")
    asked = _Flags(**flags, limits=limits)
    if (every and (asked.agent or asked.native is not None or asked.runbook)) or (asked.model and not asked.agent):
        problem = "--agent, --native and --runbook are for one session, and --model is for --agent"
        raise UsageError(problem, "see --help")
    if every:
        return _explain_each(as_json) if only_explain else _resume_all(asked, as_json=as_json)
    chosen = what if what is not None else use_cases().session_resuming().only_interrupted()
    if asked.at is not None:
        return fork(chosen, asked.at, asked.prompt, as_json=as_json)
    if only_explain:
        found = shown(use_cases().session_resuming().explain(chosen))
        print_json(found) if as_json else print_lines(found["text"])
        return 0
    return _resume_session(chosen, asked, as_json=as_json)


@dataclass(frozen=True)
class _Flags:
    """The flags of a session's resume."""

    kill: bool
    follow: bool
    at: str | None
    prompt: str
    agent: str | None
    model: str | None
    native: bool | None
    runbook: str | None
    limits: Limits


def _explain_each(as_json: bool) -> int:
    each = [shown(one) for one in use_cases().session_resuming().explain_each()]
    between = [line for one in each for line in ("", *one["text"])]
    print_json({"sessions": each}) if as_json else print_lines(between[1:])
    return 0


def _resume_all(asked: _Flags, *, as_json: bool) -> int:
    from rekindle.doors.cli import features

    apart, goes_on = features.resume_all(as_json=as_json)
    told = use_cases().session_resuming().resume_all(who(), kill=asked.kill, apart=apart)
    others = other_hosts.elsewhere(*CUT, "queued")
    if as_json:
        print_json({**told, "elsewhere": others} if others else told)
    else:
        _print_resumed(daemon(), told, is_any_back=goes_on)
        other_hosts.say(others, "Interrupted agents were brought back", "rekindle ps; rekindle resume SESSION")
    return 1 if told["failed"] else 0


def _resume_session(chosen: str, asked: _Flags, *, as_json: bool) -> int:
    client = daemon()
    before = read_so_far(client.ask("show", session=chosen)["id"]) if asked.follow else None
    request = ResumeRequest(
        session=chosen,
        by=who(),
        kill=asked.kill,
        limits=asked.limits,
        native=asked.native,
        agent=asked.agent,
        model=asked.model,
        env=dict(os.environ) if asked.agent is not None else None,
        **_new_rules(asked.runbook, chosen),
    )
    told = use_cases().session_resuming().resume(request)
    if as_json:
        print_json(told)
    elif not told["is_back"]:
        raise RekindleError(f"{told['id']} did not come back: {told['why'] or told['status']}", told["next"])
    else:
        if told["by_itself"]:
            print(f"{told['id']}: it has already come back by itself.")
        print_receipt(told)
        if asked.runbook is not None:
            print(f"  It has the rules of {printable(os.path.abspath(asked.runbook))} now.")
    if asked.follow and told["is_back"]:
        return watch(client, told["id"], put_to_sleep=False, known=told, conversation=before)
    return 0 if told["is_back"] else 1


def _new_rules(file: str | None, session: str) -> dict[str, Any]:
    """The rules of a runbook, as the daemon takes them."""
    if file is None:
        return {}
    import msgspec

    from rekindle.core.session.rules import ruled

    found = use_cases().sessions().shown(session)["session"]
    given = use_cases().runbooks().for_session(read_file(file, "runbook", 1 << 20), file, found["agent"])
    rules = ruled(found["rules"]["policy"], given.reactions)
    if rules is None:
        raise UsageError(f"{file} has no rules for {found['agent']}", "give it on_dead, on_error, or another reaction")
    return {
        "rules": msgspec.to_builtins(rules),
        "rules_source": os.path.abspath(file),
        "rules_digest": given.digest,
    }


def _print_resumed(client: Daemon, told: dict[str, Any], *, is_any_back: bool) -> None:
    for name in told["resumed"]:
        print_receipt(client.ask("show", session=name))
    for one in (one for one in told["skipped"] if not one.get("is_over")):
        print(f"{one['id']}: skipped, {printable(one['reason'])}")
    for one in told["failed"]:
        print(f"{one['id']}: did not come back: {printable(one['reason'])}")
    if not told["resumed"] and not is_any_back:
        print("Nothing was brought back.")
