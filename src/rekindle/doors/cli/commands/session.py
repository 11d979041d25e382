"""`rekindle session`: skill sessions, folders with a `.state.json` that an agent walks through phase by phase."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec
from click.shell_completion import CompletionItem

from rekindle.core.skill import plain_json
from rekindle.core.skill.decision import choice_for_tool
from rekindle.core.skill.state import SkillState
from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli import questions
from rekindle.doors.cli.commands.session_dropped import dropped
from rekindle.doors.cli.commands.session_resume import resume
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.reading import read_file
from rekindle.doors.cli.skill_screens import found_line, shown_lines, title_of
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError, UsageError

#: Larger than any proof, summary or entry of a log.
LONGEST = 1 << 20


@click.group()
def session() -> None:
    """Work through skills, phase by phase (for conversations: `ps`, `show`, `resume`).

    \b
    rekindle session activate sessions/login build    begin the skill `build` in a folder
    rekindle session phase 1                          move on (`show` says which moves are open)
    rekindle session log sessions/login/BUILD_LOG.md  add a log entry, from standard input
    rekindle session resume                           continue after an interruption, at the same phase

    A skill is .claude/skills/NAME/SKILL.md in the repository or in your home; its front matter declares its phases.
    """


session.add_command(resume)
session.add_command(dropped)


def _complete_folders(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        sessions = use_cases().skill_sessions()
        found = sessions.find()[1]
    except RekindleError:
        return []
    every = [(sessions.folders.shown(one.folder), title_of(one)) for one in found]
    return [CompletionItem(name, help=printable(about)) for name, about in every if name.startswith(incomplete)]


def _complete_skills(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        found = use_cases().skill_sessions().skills.names()
    except RekindleError:
        return []
    return [CompletionItem(name, help=printable(about)) for name, about in found.items() if name.startswith(incomplete)]


def _complete_labels(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        sessions = use_cases().skill_sessions()
        state = sessions.load(sessions.at_work(ctx.params.get("dir_")))
    except RekindleError:
        return []
    return [CompletionItem(one.label, help=one.name) for one in state.phases if one.label.startswith(incomplete)]


def _folder(function: click.decorators.FC) -> click.decorators.FC:
    return click.argument("dir_", metavar="[DIR]", required=False, shell_complete=_complete_folders)(function)


def _dir_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--dir", "dir_", metavar="DIR", shell_complete=_complete_folders, help="The folder; default: the one you hold."
    )(function)


def _pid_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option("--pid", type=int, help="The process that holds it; default: the calling agent or shell.")(
        function
    )


@session.command()
@click.argument("dir_", metavar="DIR", shell_complete=_complete_folders)
@click.argument("skill", shell_complete=_complete_skills)
@click.option("--parameters", metavar="FILE", help="A JSON object to keep with a new session; - reads standard input.")
@_pid_option
@json_option
def activate(dir_: str, skill: str, parameters: str | None, pid: int | None, as_json: bool) -> None:
    """Begin SKILL in the folder DIR, or activate it again.

    A new process takes over the stored state; nothing is lost.
    """
    given = _json_object(parameters) if parameters is not None else None
    sessions = use_cases().skill_sessions()
    done = sessions.activate(dir_, skill, given, pid)
    if as_json:
        print_json({**sessions.shown(done.folder), "how": done.how})
        return
    what = {"begun": "begun", "reactivated": "activated again", "switched": "switched to this skill"}[done.how]
    _tell(done.folder, done.state, what)


@session.command("continue")
@_folder
@_pid_option
@json_option
def continue_(dir_: str | None, pid: int | None, as_json: bool) -> None:
    """Claim a session for this process and continue at its saved phase.

    Without DIR it takes the session that this process holds, the one of this terminal pane, or the newest that
    nobody holds. It acknowledges the dehydrated context, if there is one.
    """
    sessions = use_cases().skill_sessions()
    done = sessions.proceed(sessions.to_continue(dir_), pid)
    if as_json:
        print_json({**sessions.shown(done.folder), "proof": done.proof})
        return
    if done.context is not None:
        from rekindle.core.skill.telling import announcement

        print_lines(map(printable, announcement(done.state.skill, done.state.current_phase, done.context)))
    _tell(done.folder, done.state, "continued")


@session.command()
@click.argument("label", shell_complete=_complete_labels)
@click.option("--proof", metavar="FILE", help="The proof that the current phase asks for, as JSON; - reads stdin.")
@click.option("--approve", metavar="REASON", help="Approve a move that goes back or skips a phase.")
@_dir_option
@json_option
def phase(label: str, proof: str | None, approve: str | None, dir_: str | None, as_json: bool) -> None:
    """Move to the phase LABEL, such as 4.2.

    You may stay in the current phase or move to the next one. Going back or skipping a phase needs --approve with a
    reason; a sub-phase can never be skipped. Every refusal says which moves are open.
    """
    from rekindle.app.skill_moves import SkillMoves

    sessions = use_cases().skill_sessions()
    content = None if proof is None else _read(proof, "proof")
    done = SkillMoves(sessions).move(dir_, label, content, approve)
    if as_json:
        print_json({**sessions.shown(done.folder), "move": done.kind, "approvedBy": done.approved_by})
        return
    if done.approved_by:
        by = "you" if done.approved_by == "person" else "the agent, which only claims it"
        print(f"Approved by {by}.")
    _tell(done.folder, done.state, "still" if done.kind == "same" else "moved", "at" if done.kind == "same" else "to")


@session.command()
@_folder
@click.option("--choose", type=click.Choice(["proceed", "stay"]), help="Answer the gate.")
@json_option
def gate(dir_: str | None, choose: str | None, as_json: bool) -> None:
    """Ask whether to move on to the next phase.

    --choose answers the question.
    Inside an agent the question comes back with exit status 3, to be put to the person with the agent's own question
    tool.
    """
    from rekindle.app.skill_moves import SkillMoves

    moves = SkillMoves(use_cases().skill_sessions())
    found, question = moves.gate(dir_, "proceed" if choose == "proceed" else "stay" if choose == "stay" else None)
    if question is not None:
        shown = question.document
        if not questions.can_ask():
            raise _unasked_gate(shown, found.folder)
        option = questions.ask(shown)
        found, _ = moves.gate(found.folder, "proceed" if option == "proceed" else "stay")
    passed = found.state.gate_passed == found.state.label
    if as_json:
        print_json({"phase": found.state.current_phase, "gatePassed": passed})
    elif passed:
        print(f"{printable(found.state.current_phase)}: the gate is open; move on with `rekindle session phase LABEL`.")
    else:
        print(f"{printable(found.state.current_phase)}: stay; there is more to do in this phase.")


@session.command()
@click.argument("file", type=click.Path())
@json_option
def log(file: str, as_json: bool) -> None:
    """Append standard input to FILE, a log of the session."""
    if sys.stdin.isatty():
        print("Write the entry, then press Ctrl-D:", file=sys.stderr)
    text = sys.stdin.buffer.read(LONGEST + 1).decode("utf-8", "replace")
    found = use_cases().skill_sessions().write_log(file, text)
    if as_json:
        print_json({"file": file, "toolCallsSinceLastLog": found.state.tool_calls_since_last_log})
    else:
        print(f"{printable(file)}: written.")


@session.command()
@_folder
@json_option
def dehydrate(dir_: str | None, as_json: bool) -> None:
    """Keep a summary for the agent that takes over.

    It is a JSON object on standard input:
    {summary, lastAction, nextSteps, requiredFiles (at most 8), handoverInstructions, userHistory}
    """
    sessions = use_cases().skill_sessions()
    found = sessions.dehydrate(dir_, sys.stdin.buffer.read(LONGEST + 1))
    if as_json:
        print_json(sessions.shown(found.folder))
    else:
        _tell(found.folder, found.state, "dehydrated; a restart follows")


@session.command()
@_folder
@json_option
def idle(dir_: str | None, as_json: bool) -> None:
    """Put a session whose work is done aside.

    `rekindle session continue` takes it up again.
    """
    sessions = use_cases().skill_sessions()
    found = sessions.idle(dir_)
    if as_json:
        print_json(sessions.shown(found.folder))
    else:
        _tell(found.folder, found.state, "idle")


@session.command("next")
@_folder
@json_option
def next_(dir_: str | None, as_json: bool) -> None:
    """Show the skills that may follow in this folder."""
    sessions = use_cases().skill_sessions()
    folder = sessions.to_show(dir_)
    state = sessions.load(folder)
    if as_json:
        asked = choice_for_tool("Which skill should follow?", "Next skill", [(name, "") for name in state.next_skills])
        print_json({"folder": folder, "nextSkills": state.next_skills, "askUserQuestion": [asked]})
        return
    if not state.next_skills:
        print(f"The skill {printable(state.skill)} names no next skill.")
    there = sessions.skills.names()
    for number, name in enumerate(state.next_skills, 1):
        typed = f"rekindle session activate {sessions.named(folder)} {quoted(name)}"
        missing = f"not installed: there is no .claude/skills/{quoted(name)}/SKILL.md"
        how = next_step(typed) if name in there else missing
        print_lines([f"{number}. {printable(name)}  {printable(how)}"])


@session.command()
@_folder
@click.option("--approve", metavar="REASON", help="Abandon it before its last phase, for this reason.")
@json_option
def close(dir_: str | None, approve: str | None, as_json: bool) -> None:
    """End a session. It is never activated again; its folder and its files stay."""
    sessions = use_cases().skill_sessions()
    found = sessions.close(dir_, approve or "")
    if as_json:
        print_json(sessions.shown(found.folder))
    else:
        _tell(found.folder, found.state, "abandoned" if found.state.abandoned else "completed")


@session.command()
@click.option("--all", "every", is_flag=True, help="List all, the newest first.")
@json_option
def find(every: bool, as_json: bool) -> None:
    """Print the folder of the session that `continue` would take."""
    sessions = use_cases().skill_sessions()
    best, found = sessions.find()
    if as_json:
        rows = [msgspec.to_builtins(one) for one in found]
        print_json({"folder": best.folder if best is not None else None, "sessions": rows})
        return
    if every:
        print_lines([found_line(one, sessions.folders.shown(one.folder)) for one in found] or ["No skill sessions."])
    else:
        print(printable(sessions.folders.shown(sessions.to_continue(None))))


@session.command()
@_folder
@json_option
def show(dir_: str | None, as_json: bool) -> None:
    """Show a session: phase, open moves, who holds it.

    It also shows how the session was resumed.
    """
    sessions = use_cases().skill_sessions()
    folder = sessions.to_show(dir_)
    found = sessions.shown(folder)
    if as_json:
        print_json(found)
    else:
        state = sessions.load(folder)
        print_lines(shown_lines(state, sessions.folders.shown(folder), found["heldBy"], sessions.moves(state)))


def _tell(folder: str, state: SkillState, what: str, where: str = "at") -> None:
    sessions = use_cases().skill_sessions()
    at = f" {where} {state.current_phase}" if state.current_phase else ""
    print_lines([printable(f"{sessions.folders.shown(folder)}: {what}{at} ({state.skill}, {state.lifecycle}).")])


def _unasked_gate(question: dict[str, object], folder: str) -> RekindleError:
    from rekindle.ports.errors import QuestionError

    options: Any = question["options"]
    asked = choice_for_tool(
        str(question["title"]), "Phase gate", [(str(one["id"]), str(one["label"])) for one in options]
    )
    again = f"rekindle session gate {use_cases().skill_sessions().named(folder)} --choose proceed"
    return QuestionError(
        f"{question['title']} (options: proceed, stay)",
        f"{again}; inside Claude Code ask with the AskUserQuestion tool first",
        details={"question": question, "askUserQuestion": [asked]},
    )


def _read(name: str, what: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(LONGEST + 1)
    return read_file(name, what, LONGEST)


def _json_object(name: str) -> dict[str, object]:
    try:
        found = plain_json.loads(_read(name, "file of parameters"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the parameters are not JSON ({error})", "give one JSON object") from error
    if not isinstance(found, dict):
        raise UsageError("the parameters are not a JSON object", 'give something such as {"goal": "…"}')
    return found
