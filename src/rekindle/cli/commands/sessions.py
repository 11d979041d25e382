"""The commands about sessions that ask the daemon: run, resume, send, stop, cancel, answer, show."""

from __future__ import annotations

import os
import secrets
import sys
from typing import Any

import click

from rekindle.adapters import repository
from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.api.client import DaemonClient
from rekindle.api.places import Places
from rekindle.api.service import PERMISSIONS, POLICIES
from rekindle.cli.explain import explain
from rekindle.cli.fork import fork
from rekindle.cli.limits import limit_options
from rekindle.cli.live import LiveView, follow_until
from rekindle.cli.options import complete_resumable, complete_sessions, json_option, print_json
from rekindle.cli.outcome import INTERRUPTED, printable
from rekindle.core.feature.plan_file import MODES
from rekindle.ports.errors import QuestionError, RekindleError, UsageError
from rekindle.settings import load


def places() -> Places:
    """Where the user's store is."""
    return Places(load(os.environ, None))


def who() -> str:
    """Who asks, for the record."""
    return f"pid {os.getpid()}"


@click.command(context_settings={"ignore_unknown_options": False})
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
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="So many tasks of a plan at once.")
@json_option
def run(
    prompt: str | None,
    arguments: tuple[str, ...],
    agent: str,
    detach: bool,
    cwd: str,
    worktree: str | None,
    task: str | None,
    title: str,
    policy: str,
    permission: str,
    model: str | None,
    limits: dict[str, float | int],
    one_shot: bool,
    terminal: bool,
    plan_file: str | None,
    mode: str | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Give PROMPT (- reads standard input) to an agent in a new session, and show what it does.

    The agent lives on if this command, the terminal or the daemon dies. Behind -- come arguments for the agent itself.
    With --plan FILE there is no prompt: the tasks of the plan are given to agents, checked and merged.
    """
    if plan_file is not None:
        from rekindle.cli.features import run_plan

        if prompt is not None:
            raise UsageError("a plan and a prompt do not go together", "give one of them")
        return run_plan(cwd, plan_file, mode, jobs, permission, detach=detach, as_json=as_json)
    if mode is not None or jobs is not None:
        raise UsageError("--mode and --jobs are for plans", "give a plan with --plan FILE")
    if arguments and "--" not in sys.argv:
        raise UsageError(
            f"unexpected argument {arguments[0]!r}", "put the prompt in quotes; arguments for the agent go behind --"
        )
    if prompt is None:
        taken = f": {worktree!r} was taken for the name of the worktree" if worktree else ""
        raise UsageError(
            f"there is no prompt{taken}",
            "say what it shall do (or give a plan); write --worktree=NAME, or --worktree at the end",
        )
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise UsageError("the prompt is empty", "say what the agent shall do")
    folder = os.path.realpath(cwd)
    repo = repository.find(folder) if os.path.isdir(folder) else None
    client = DaemonClient(places())
    session = client.ask(
        "run",
        agent=agent,
        cwd=folder,
        prompt=text,
        env=dict(os.environ),
        title=title,
        policy=policy,
        permission=permission,
        feature=repo.feature if repo is not None else None,
        task=task,
        arguments=list(arguments),
        model=model,
        limits=limits,
        one_shot=one_shot,
        terminal=terminal,
        worktree=worktree,
        worktrees_dir=load(os.environ, repo.root if repo is not None else None).worktrees_dir,
    )
    if terminal and sys.stdin.isatty() and not (detach or as_json):
        from rekindle.cli.terminals import enter

        return enter(places(), session["id"])
    if detach or as_json or terminal:
        print_json(session) if as_json else print(session["id"])
        return 0
    print(f"Session {session['id']}; rekindle attach {session['id']} comes back to it.", file=sys.stderr)
    return watch(client, session["id"], put_to_sleep=True)


@click.command()
@click.argument("what", required=False, shell_complete=complete_resumable)
@click.option("--all", "every", is_flag=True, help="Every feature that needs no answer, and every session that died.")
@click.option("--kill", is_flag=True, help="End a live agent first.")
@click.option("--explain", "only_explain", is_flag=True, help="Print evidence, decision and reasons, and do nothing.")
@click.option("--follow", "-f", is_flag=True, help="Show what the agent then does.")
@click.option("--at", metavar="N|ID", help="From an earlier answer, as a copy (a new session); `list` lists them.")
@click.option("--prompt", default="", metavar="TEXT", help="What the copy is told first (with --at).")
@click.option("--agent", type=click.Choice(list(AGENTS)), help="Hand over: another agent goes on, told the history.")
@click.option("--model", help="With --agent: the model that it uses.")
@click.option(
    "--native/--told", default=None, help="Load the agent's own record, or begin anew and tell it the history."
)
@limit_options
@click.option("--choose", type=click.Choice(["A", "B", "C"]), help="The answer to what the resume of a feature asks.")
@click.option("--instructions", default="", metavar="TEXT", help="Own words on how a feature goes on (answer C).")
@click.option(
    "--plan", "plan_file", type=click.Path(), metavar="FILE", help="A new plan for a feature that starts over."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="So many tasks of a feature at once.")
@click.option("--permission", type=click.Choice(PERMISSIONS), default="edits", help="For new sessions of a feature.")
@click.option("--detach", "-d", is_flag=True, help="Do not wait for the end of a feature's run.")
@json_option
def resume(
    what: str | None,
    every: bool,
    kill: bool,
    only_explain: bool,
    follow: bool,
    at: str | None,
    prompt: str,
    agent: str | None,
    model: str | None,
    native: bool | None,
    limits: dict[str, float | int],
    choose: str | None,
    instructions: str,
    plan_file: str | None,
    jobs: int | None,
    permission: str,
    detach: bool,
    as_json: bool,
) -> int:
    """Resume WHAT: a feature, to its end, or a session, in the same conversation if that can be; say what was proved.

    Without WHAT: the only one that is interrupted. A feature's questions can be answered with --choose.
    """
    from rekindle.cli import features

    session = what
    client = DaemonClient(places())
    if every and what is not None:
        raise UsageError("--all and a name do not go together", "give one of them")
    feature = features.meant(what, every=every)
    if feature is not None:
        asked = features.Resume(choose, instructions, plan_file, jobs, permission, detach)
        return features.resume(feature, asked, only_explain=only_explain, as_json=as_json)
    if choose or instructions or plan_file or jobs:
        raise UsageError("--choose, --instructions, --plan and --jobs are for features", "name the feature")
    if (every and (agent or native is not None)) or (model and not agent):
        raise UsageError("--agent and --native are for one session, and --model is for --agent", "see --help")
    if every and only_explain:
        each = [explain(client.ask("show", session=one["id"]), places().sessions) for one in _interrupted_ones(client)]
        print_json({"sessions": each}) if as_json else print("\n\n".join("\n".join(one["text"]) for one in each))
        return 0
    if every:
        apart = features.resume_all(as_json=as_json)
        told = client.ask("resume_all", by=who(), kill=kill, apart=apart)
        if as_json:
            print_json(told)
        else:
            _print_resumed(client, told)
        return 0
    chosen = session if session is not None else _only_interrupted(client)
    if at is not None:
        return fork(client, chosen, at, prompt, as_json=as_json)
    if only_explain:
        shown = explain(client.ask("show", session=chosen), places().sessions)
        print_json(shown) if as_json else print("\n".join(shown["text"]))
        return 0
    told = client.ask(
        "resume",
        session=chosen,
        by=who(),
        kill=kill,
        limits=limits,
        native=native,
        agent=agent,
        model=model,
        env=dict(os.environ) if agent is not None else None,
    )
    if as_json:
        print_json(told)
    else:
        print_receipt(told)
    if follow:
        return watch(client, told["id"], put_to_sleep=False)
    return 1 if told["status"] in ("failed", "interrupted", "asleep") else 0


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("text")
@click.option("--follow", "-f", is_flag=True, help="Show what the agent does about it.")
@json_option
def send(session: str, text: str, follow: bool, as_json: bool) -> int:
    """Say TEXT (- reads standard input) to the agent of SESSION. It is delivered once, in its turn.

    A session without an agent gets one first, in the same conversation.
    """
    client = DaemonClient(places())
    said = sys.stdin.read() if text == "-" else text
    told = client.ask("send", session=session, text=said, prompt_id=secrets.token_hex(4))
    if as_json:
        print_json(told)
    elif told["delivered"]:
        print(f"{told['id']}: delivered.")
    elif told["status"] == "working":
        print(f"{told['id']}: queued; it is delivered when the agent has finished its turn.")
    else:
        why = f" ({printable(told['message'])})" if told["message"] else ""
        print(f"{told['id']}: not delivered yet; it stays in the queue{why}.")
    if follow and (told["delivered"] or told["status"] == "working"):
        return watch(client, told["id"], put_to_sleep=False)
    return 0 if told["delivered"] or told["status"] == "working" else 1


@click.command()
@click.argument("session", metavar="[WHAT]", required=False, shell_complete=complete_resumable)
@click.option("--all", "every", is_flag=True, help="Every live agent.")
@click.option("--sleep", "to", flag_value="asleep", help="Only end the process; a prompt wakes the session.")
@click.option("--completed", "to", flag_value="completed", help="The session is finished.")
@json_option
def stop(session: str | None, every: bool, to: str | None, as_json: bool) -> None:
    """End WHAT: the agent of a session with its whole process tree, or a feature's run. Conversations are kept."""
    from rekindle.cli import features

    client = DaemonClient(places())
    feature = features.meant(session, every=True) if session is not None else None
    if feature is not None:
        told = client.ask("feature_stop", start=False, cwd=os.getcwd(), feature=feature)
        print_json(told) if as_json else print(f"{feature}: {told['reason']}; go on with: rekindle resume {feature}")
        return
    if every == (session is not None):
        raise UsageError("give a session, or --all", "`rekindle ps` lists them")
    if every:
        told = client.ask("stop_all", to=to or "cancelled", by=who())
        print_json(told) if as_json else print(f"Stopped: {', '.join(told['stopped']) or 'nothing was running'}.")
        return
    told = client.ask("stop", session=session, to=to or "cancelled", by=who())
    if told["is_running"]:
        raise RekindleError(f"{told['id']}: its agent has not ended yet", "see `rekindle ps`, and try again")
    print_json(told) if as_json else print(f"{told['id']}: {told['status']}.")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@json_option
def cancel(session: str, as_json: bool) -> None:
    """End the turn that the agent of SESSION is in. The agent stays."""
    told = DaemonClient(places()).ask("cancel", session=session)
    print_json(told) if as_json else print(f"{told['id']}: asked to end its turn.")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("choice")
@json_option
def answer(session: str, choice: str, as_json: bool) -> None:
    """Answer what the agent of SESSION asks: allow, deny, or one of the options that it offers."""
    told = DaemonClient(places()).ask("answer", session=session, choice=choice, by=who())
    print_json(told) if as_json else print(f"{told['id']}: answered.")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@json_option
def show(session: str, as_json: bool) -> None:
    """Everything about SESSION: its state, attempts, prompts and receipts."""
    told = DaemonClient(places()).ask("show", session=session)
    if as_json:
        print_json(told)
        return
    print(f"session   {told['id']}  ({told['agent']})")
    print(f"title     {printable(told['title'])}")
    print(
        f"state     {told['state']}, {told['status']}" + (f": {printable(told['message'])}" if told["message"] else "")
    )
    print(f"folder    {printable(told['cwd'])}")
    if told["branch"]:
        print(f"worktree  {printable(told['worktree'])} on {printable(told['branch'])}")
    if told["pid"]:
        print(f"agent     pid {told['pid']}")
    if told["model"]:
        print(f"model     {printable(told['model'])}")
    if told["usage"]["tokens"]:
        cost = told["usage"]["cost"]
        print(f"used      {told['usage']['tokens']} tokens" + (f", ${cost:.4f}" if cost is not None else ""))
    for attempt in told["session"]["attempts"]:
        end = f", {printable(attempt['how_ended'])}" if attempt["how_ended"] else ""
        print(f"attempt   {attempt['number']}: {attempt['how']}, {attempt['status']}{end}")
        if attempt["receipt"]:
            print(f"          {receipt_line(attempt['receipt'])}")
            for line in (*attempt["receipt"]["unknown"], *attempt["receipt"]["repeated"]):
                print(f"          - {printable(line)}")
    for prompt in told["session"]["prompts"]:
        state = prompt["outcome"] if prompt["state"] == "failed" else prompt["state"]
        print(f"prompt    {prompt['id']} [{printable(state)}] {printable(prompt['text'])[:80]}")
    for notice in told["notices"]:
        print(f"note      {printable(notice)}")
    if told["asks"]:
        print(f"asks      {printable(told['asks']['title'])}: " + ", ".join(one[0] for one in told["asks"]["options"]))


def watch(client: DaemonClient, session: str, *, put_to_sleep: bool) -> int:
    """Show a session until it comes to rest; Ctrl-C leaves it running or stops it."""
    view = LiveView()
    folder = os.path.join(places().sessions, session)
    try:
        while True:
            told = follow_until(folder, lambda: _rested(client, session), view)
            if told["asks"] is None:
                break
            _put_question(client, session, told)
    except KeyboardInterrupt:
        view.rest()
        return _interrupted(client, session)
    if told["message"]:
        print(f"rekindle: {printable(told['message'])}", file=sys.stderr)
    if told["status"] == "interrupted":
        print(f"The agent died. Bring it back with: rekindle resume {session}", file=sys.stderr)
        return 1
    if told["state"] == "FAILED" or told["message"]:
        return 1
    if put_to_sleep:
        client.ask("stop", session=session, to="asleep", by=who())
    return 0


def _rested(client: DaemonClient, session: str) -> dict[str, Any] | None:
    told = client.ask("wait", session=session, seconds=0.2)
    return told if told["rested"] else None


def _put_question(client: DaemonClient, session: str, told: dict[str, Any]) -> None:
    asks = told["asks"]
    options = {str(number): one for number, one in enumerate(asks["options"], start=1)}
    if not sys.stdin.isatty():
        offered = ", ".join(one[0] for one in asks["options"])
        raise QuestionError(
            f"the agent asks: {asks['title']} ({offered})", f"answer with: rekindle answer {session} allow|deny"
        )
    for number, one in options.items():
        click.echo(f"  {number}. {printable(one[1])}")
    choice = click.prompt("Your choice", type=click.Choice(list(options)))
    client.ask("answer", session=session, choice=options[choice][0], by=who())


def _interrupted(client: DaemonClient, session: str) -> int:
    if sys.stdin.isatty():
        click.echo("\n  l. leave it working   s. stop it")
        if click.prompt("Your choice", type=click.Choice(["l", "s"]), default="l") == "s":
            client.close()
            client.ask("stop", session=session, to="cancelled", by=who())
            print(f"{session}: stopped.", file=sys.stderr)
            return INTERRUPTED
    print(f"It goes on without you: rekindle attach {session}", file=sys.stderr)
    return INTERRUPTED


def _only_interrupted(client: DaemonClient) -> str:
    found = _interrupted_ones(client)
    if len(found) == 1:
        return str(found[0]["id"])
    if not found:
        raise UsageError("no session is interrupted", "`rekindle ps --all` lists all sessions")
    names = ", ".join(f"{one['id']} ({one['status']})" for one in found[:5])
    raise UsageError(f"{len(found)} sessions can be resumed: {names}", "name one, or use --all")


def _interrupted_ones(client: DaemonClient) -> list[dict[str, Any]]:
    return [one for one in client.ask("list")["sessions"] if one["status"] in ("interrupted", "dead", "queued")]


def _print_resumed(client: DaemonClient, told: dict[str, Any]) -> None:
    for name in told["resumed"]:
        print_receipt(client.ask("show", session=name))
    for one in told["skipped"]:
        print(f"{one['id']}: skipped, {printable(one['reason'])}")
    if not told["resumed"]:
        print("Nothing was brought back.")


def print_receipt(told: dict[str, Any]) -> None:
    """What a resume proved, in plain words."""
    if told["status"] == "failed":
        raise RekindleError(f"{told['id']}: {told['message']}", f"try again: rekindle resume {told['id']}")
    print(f"{told['id']}: {told['status']}, attempt {told['attempt']}.")
    if told["receipt"]:
        print(f"  {receipt_line(told['receipt'])}")
        for line in (*told["receipt"]["unknown"], *told["receipt"]["repeated"]):
            print(f"  - {printable(line)}")
    if told["message"]:
        print(f"  {printable(told['message'])}")


def receipt_line(receipt: dict[str, Any]) -> str:
    """A receipt's first line."""
    words = {
        "same": "the same conversation",
        "rebuilt": "a new conversation with the old history",
        "fresh": "a fresh start",
        "unproven": "not proved to be the same conversation",
    }
    return f"{words[receipt['kind']]}: {printable(receipt['reason'])}"
