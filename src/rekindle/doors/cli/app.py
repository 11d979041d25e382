"""The tree of commands. A command's module is imported when it is called, so that no call pays for the others."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from rekindle import __version__
from rekindle.doors.cli import colours
from rekindle.doors.cli.outcome import report

_COMMANDS = {
    "status": ("status", "status", "Show what is interrupted in this repository (same as running no command)."),
    "run": ("run", "run", "Start an agent with a prompt, in a session that survives interruptions."),
    "ps": ("ps", "ps", "List sessions: working, waiting, interrupted."),
    "resume": ("resume", "resume", "Resume a session or a feature, in the same conversation."),
    "send": ("sessions", "send", "Send a prompt to a session's agent."),
    "attach": ("logs", "attach", "Reconnect to a session or a feature's run: watch it and talk to it."),
    "wait": ("wait", "wait", "Wait until a session, a job or a feature's run is over."),
    "capture": ("terminals", "capture", "Print the screen of an agent in a terminal."),
    "logs": ("logs", "logs", "Show the conversation of a session."),
    "search": ("search", "search", "Search all conversations."),
    "show": ("sessions", "show", "Show everything about a session."),
    "stop": ("sessions", "stop", "Stop a session's agent and its whole process tree."),
    "queue": ("queue", "queue", "Show and change the prompts that are not sent yet."),
    "cancel": ("sessions", "cancel", "Cancel the current turn, not the session."),
    "hold": ("sessions", "hold", "Keep a session from going on by itself."),
    "hurry": ("sessions", "hurry", "Let a session that waits go on now."),
    "governor": ("governor", "governor", "Show what spans sessions: restarts, spending, who waits for which limit."),
    "inbox": ("questions", "inbox", "List everything that waits for you."),
    "answer": ("questions", "answer", "Answer a question."),
    "decide": ("questions", "answer", "Same as answer."),
    "job": ("job", "job", "Jobs that run unattended, with retries: submit, list, show, retry, cancel, logs."),
    "report": ("report", "report", "Report what was asked, done, cut off, resumed and spent, and what proves it."),
    "runbook": ("runbook", "runbook", "Say what happens by itself when an agent is idle, dies or fails."),
    "snapshots": ("snapshots", "snapshots", "List the snapshots of a session's work tree."),
    "restore": ("snapshots", "restore", "Restore a snapshot, in place or into a new folder."),
    "diff": ("snapshots", "diff", "Show changes between snapshots, or since the last one."),
    "vault": ("vault", "vault", "Verify rekindle's copies of conversations; show what a pre-flight changed."),
    "gc": ("gc", "gc", "Free space taken by redundant copies."),
    "export": ("export", "export", "Write a session to one file, for another machine."),
    "import": ("import_", "import_", "Import an exported session."),
    "fleet": ("fleet", "fleet", "Hosts that share a store: which has which session; take one over."),
    "worker": ("worker", "worker", "Take jobs of the fleet on this host; drain it, or cordon it."),
    "serve": ("serve", "serve", "Run the daemon that owns your sessions."),
    "open": ("open", "open_", "Open the page: what needs you, and everything else, in a browser."),
    "analyze": ("analyze", "analyze", "Show what a journal says, and what a resume would do."),
    "track": ("track", "track", "Append an event to a feature's journal."),
    "session": ("session", "session", "Skill sessions; conversations are `ps`, `show`, `resume`."),
    "checkpoint": ("track", "checkpoint", "Mark a point where it is safe to resume."),
    "features": ("features", "features", "List all features that have a journal."),
    "history": ("history", "history", "Show what happened, by date."),
    "follow": ("follow", "follow", "Show a feature's events as they happen."),
    "abandon": ("abandon", "abandon", "End an interrupted run for good."),
    "journal": ("journal", "journal", "Verify or repair a journal file."),
    "hooks": ("hooks", "hooks", "Install or remove the Claude Code hooks of a project."),
    "trust": ("trust", "trust", "Approve programs that this repository configures: its git filters."),
    "agent": ("agent", "agent", "List the agents on this machine, and check whether they work."),
    "notify": ("notify", "notify", "Test how you are told outside the terminal."),
    "boot": ("boot", "boot", "Start rekindle with the machine, so that agents come back after a reboot."),
    "config": ("config", "config", "Show and change your settings, such as the defaults of `run`."),
    "doctor": ("doctor", "doctor", "Check this machine and this repository."),
    "completion": ("completion", "completion", "Print the shell completion script."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        loaded = importlib.import_module(f"rekindle.doors.cli.commands.{module}")
        command: click.Command = getattr(loaded, attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, _, help_) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]}?", ctx) from error


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="rekindle %(version)s")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def app(ctx: click.Context, as_json: bool) -> None:
    """Run coding agents so that no interruption loses work or repeats it.

    Without a command: show what is interrupted in this repository, and what a resume would do.
    """
    if not colours.are_wanted(sys.stdout.isatty(), os.environ):
        ctx.color = False  # of every command below, and of what click prints itself
    if as_json and ctx.invoked_subcommand is not None:
        raise click.UsageError("Put --json after the command.", ctx)
    if ctx.invoked_subcommand is not None:
        _refuse_inside(ctx, ctx.invoked_subcommand)
    if ctx.invoked_subcommand is None:
        from rekindle.doors.cli.commands.status import print_status

        print_status(as_json=as_json)


def _refuse_inside(ctx: click.Context, command: str) -> None:
    """Refuse, inside an agent, the commands that only a person may run, even if they ask no daemon.

    Help is for everybody. Inside an agent it is shown from here: in `--output --help` the word is a file's name, and
    only running the command could tell.
    """
    from rekindle.core.inside import COMMANDS

    if command in COMMANDS or command not in _COMMANDS:
        return
    import shlex

    from rekindle.doors.cli.use_cases import use_cases
    from rekindle.ports.errors import InsideAgent

    try:
        use_cases().ancestry().refuse_inside(f"use `rekindle {command}`", shlex.join(["rekindle", *sys.argv[1:]]))
    except InsideAgent:
        if not {"--help", "-h"} & set(sys.argv):
            raise
        _print_help(ctx, sys.argv[1:])
        ctx.exit()


def _print_help(ctx: click.Context, words: list[str]) -> None:
    """Print the help of the command that the words name, however deep it is. Runs nothing."""
    for word in words:
        if not isinstance(ctx.command, click.Group):
            break
        below = ctx.command.get_command(ctx, word)
        if below is not None:
            ctx = click.Context(below, parent=ctx, info_name=word)
    click.echo(ctx.get_help())


def run() -> int:
    """Parse the command line and run it; click's own complaints become exit status 2."""
    try:
        result: Any = app.main(prog_name="rekindle", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx else error.format_message(), file=sys.stderr)
        return 2
    except click.UsageError as error:
        where = f"see `{error.ctx.command_path} --help`" if error.ctx else "see `rekindle --help`"
        as_json = any(word in ("--json", "--jsonl") for word in sys.argv)
        return report(2, "usage", error.format_message(), where, as_json=as_json)
    except click.Abort:
        return 130
    except click.exceptions.Exit as leave:
        return leave.exit_code
