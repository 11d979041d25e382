"""`rekindle agent`: the agents on this machine, whether they work, and dead ones brought back."""

from __future__ import annotations

import click
import msgspec

from rekindle.agents.base.kind import AgentKind
from rekindle.agents.registry import AGENTS
from rekindle.app.agent_overview import AgentRow
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_sessions, json_option, print_json, who
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.agent_programs import DryStart
from rekindle.ports.errors import UsageError

_REMEDIES = {
    "no account": "log in with the agent's own program, or put its key into the environment",
    "ended": "start it by hand in an empty folder, and read its messages",
    "silent": "start it by hand in an empty folder, and see what it is waiting for",
}


@click.group()
def agent() -> None:
    """List and check the agents that rekindle knows."""


@agent.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the agents: version, and what each can do."""
    rows = use_cases().agents().listed()
    if as_json:
        print_json({"agents": msgspec.to_builtins(rows)})
        return
    for row in rows:
        version = (row.version or "version unknown") if row.installed else "not installed"
        print_lines([f"{row.name:10} {version:22} {_resumes(row)}"], 11)
        if row.missing:
            print_lines([f"{'':10} {row.missing}"])


@agent.command("check", short_help="Start AGENT without a prompt: what can it do?")
@click.argument("name", metavar="AGENT", type=click.Choice(list(AGENTS)))
@json_option
def check_(name: str, as_json: bool) -> int:
    """Start AGENT in an empty folder, without a prompt: does it answer, what can it do, what is missing?

    Exits with 1 if a session with it could not start.
    """
    checked = use_cases().agents().check(name)
    kind, path, found = checked.kind, checked.program, checked.found
    if as_json:
        told = {"agent": name, "program": path, **msgspec.to_builtins(found)}
        print_json({**told, "faults": list(kind.faults), "untested": kind.untested})
    else:
        _print(kind, path, found)
    return 0 if found.state == "ready" else 1


@agent.command("resume")
@click.argument("session", metavar="[ID]", required=False, shell_complete=complete_sessions)
@click.option("--kill", is_flag=True, help="End a live agent first.")
@click.option("--all", "every", is_flag=True, help="Resume every agent that has died.")
@json_option
def resume_(session: str | None, kill: bool, every: bool, as_json: bool) -> int:
    """Resume a dead agent in the same conversation. ID is a session's id, or the beginning of one.

    An agent that is alive is skipped, unless --kill is given. Exit status 1 if one did not come back.
    """
    if every == (session is not None):
        raise UsageError("Either provide an agent ID or use --all", "`rekindle ps` lists the sessions")
    told = use_cases().session_resuming().resume_agents(session, who(), kill=kill)
    if as_json:
        print_json({"resumed": told["resumed"], "skipped": told["skipped"]})
    else:
        for name in told["resumed"]:
            print(f"{name}: resumed")
        for name, reason in told["skipped"]:
            print(f"{name}: skipped, {printable(reason)}")
        if not told["resumed"] and not told["skipped"]:
            print("No agent has died.")
    return 1 if told["failed"] else 0


def _resumes(row: AgentRow) -> str:
    native = f"resumes with {row.resumes}" if row.native else "is told its history"
    checked = "; its record is checked and repaired" if row.record_checked else ""
    return native + checked + ("; untested: needs an account" if row.untested else "")


def _print(kind: AgentKind, path: str | None, found: DryStart) -> None:
    print(f"{kind.title}: {found.state}" + (f" ({printable(found.problem)})" if found.problem else ""))
    if path is not None:
        print(f"  program   {printable(path)}" + (f", version {printable(found.version)}" if found.version else ""))
    if found.state == "ready" or found.can_load or found.auth_methods:
        can = [word for word, able in _abilities(found) if able]
        print(f"  it can    {', '.join(can) or 'nothing: it cannot load, resume or list conversations'}")
    if found.auth_methods:
        print(f"  accounts  {printable(', '.join(found.auth_methods))}")
    if found.old_node:
        print(f"  Node      {printable(found.old_node)}: put a newer one first on the PATH")
    if found.state in _REMEDIES:
        print(f"  to do     {_REMEDIES[found.state]}")
    for fault in kind.faults:
        print(f"  fault     {fault}")
    if kind.untested:
        print(f"  untested  {kind.untested}")


def _abilities(found: DryStart) -> list[tuple[str, bool]]:
    return [("load", found.can_load), ("resume", found.can_resume), ("list", found.can_list)]
