"""`rekindle session resume`: the way back into a skill session, with the question how, wherever it can be answered."""

from __future__ import annotations

from typing import Any

import click

from rekindle.app.skill_resume import FoundResume, ResumedSkill, SkillResuming, document_of
from rekindle.core.skill import decision, manual
from rekindle.core.skill.decision import ChosenWay
from rekindle.core.skill.state import SkillQuestion
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import questions
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import QuestionError, UsageError


@click.command()
@click.argument("dir_", metavar="[DIR]", required=False)
@click.option(
    "--choose",
    metavar="CODE",
    help="RSM resume, RST restart the phase, SWT switch skill, OTH/ABN abandon, OTH/INS inspect, OTH/custom:TEXT; "
    "A artifacts, B phase history, C newer sessions on the same topic.",
)
@click.option("--skill", metavar="NAME", help="The skill to switch to (with SWT, or with your own words).")
@json_option
def resume(dir_: str | None, choose: str | None, skill: str | None, as_json: bool) -> None:
    """Resume a skill session at the phase that was saved.

    With dehydrated context it goes on at once. Otherwise the session's files are scanned, and you choose how to go on:
    on the terminal, with --choose, or with `rekindle answer` (`rekindle inbox` lists the question). Inside Claude Code
    the agent puts the question to you with its question tool.
    """
    sessions = use_cases().skill_sessions()
    resuming = SkillResuming(sessions)
    found = resuming.look(dir_)
    way = _typed(choose)
    if not as_json:
        print_lines([*map(printable, found.intent), ""], 2)
    if found.is_fast and way is None:
        _told(resuming.fast(found), as_json=as_json)
        return
    way = way or resuming.answered(found)
    while way is None or way.shows:
        shown = _extra(resuming, found, way) if way is not None else {}
        if shown and not as_json:
            print_lines(map(printable, _lines(shown)))
        question = resuming.ask(found)
        if as_json or not questions.can_ask():
            raise _unasked(found, question, shown, sessions.named(found.folder))
        way = _asked(found)
    if way.choice == "SWT" and skill is None and questions.can_ask():
        skill = _picked([name for name in sessions.skills.names() if name != manual.NAME])
    _told(resuming.act(found, way, skill), as_json=as_json)


def _typed(choose: str | None) -> ChosenWay | None:
    if choose is None:
        return None
    way = decision.chosen(choose)
    if way is None:
        raise UsageError(
            f"{choose!r} is not an answer to this question", f"choose one of: {', '.join(decision.ALLOWED)}"
        )
    return way


def _extra(resuming: SkillResuming, found: FoundResume, way: ChosenWay) -> dict[str, Any]:
    """What an option shows before the question comes again."""
    match way.choice:
        case "B":
            return {"phaseHistory": found.state.history, "lastCompleted": found.state.last_completed}
        case "C":
            same = resuming.same_topic(found)
            return {"newerSessions": [{"folder": one.folder, "why": one.why, "score": one.score} for one in same]}
        case _:
            log = [f"{one.title}: {one.begins}" if one.begins else one.title for one in found.artifacts.log or ()]
            plan = found.artifacts.plan
            return {
                "files": list(found.artifacts.files),
                "lastLogEntries": log,
                "plan": None if plan is None else {"ticked": plan.ticked, "total": plan.total, "open": list(plan.open)},
                "debrief": found.artifacts.debrief,
            }


#: What is shown, in a person's words.
_NAMES = {
    "files": "files",
    "lastLogEntries": "last entries of the log",
    "plan": "plan",
    "debrief": "debrief",
    "phaseHistory": "phases entered",
    "lastCompleted": "last completed phase",
    "newerSessions": "newer sessions on the same topic",
}


def _lines(shown: dict[str, Any]) -> list[str]:
    told = []
    for name, value in shown.items():
        key = _NAMES[name]
        if isinstance(value, list):
            told.append(f"{key}:" + ("" if value else " none"))
            told += [f"  - {one}" if isinstance(one, str) else f"  - {one['folder']} ({one['why']})" for one in value]
        elif isinstance(value, dict):
            told.append(f"{key}: {value['ticked']} of {value['total']} steps ticked")
            told += [f"  - open: {one}" for one in value["open"]]
        else:
            told.append(f"{key}: {'none' if value in (None, False) else 'yes' if value is True else value}")
    return [*told, ""]


def _asked(found: FoundResume) -> ChosenWay:
    """Put the tree to the person at the terminal."""
    click.echo(printable(decision.asked_in_words(found.state.current_phase, found.progress.left)), err=True)
    for line in decision.tree_lines():
        click.echo(line, err=True)
    while True:
        typed: str = click.prompt("Your choice (or your own words)", err=True).strip()
        way = decision.chosen(typed)
        if way is not None:
            return way
        if " " in typed:
            return ChosenWay("OTH/custom", typed)
        click.echo(f"Choose one of: {', '.join(decision.ALLOWED)}", err=True)


def _picked(names: list[str]) -> str | None:
    if not names:
        return None
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}. {printable(name)}", err=True)
    typed = click.prompt("Skill", type=click.Choice([str(one) for one in range(1, len(names) + 1)]), err=True)
    return names[int(typed) - 1]


def _unasked(found: FoundResume, question: SkillQuestion, shown: dict[str, Any], folder: str) -> QuestionError:
    return QuestionError(
        f"{question.title} (options: {', '.join(decision.ALLOWED)})",
        f"rekindle session resume {folder} --choose RSM, or: rekindle answer {question.id} RSM; inside Claude Code ask "
        "with the AskUserQuestion tool, word for word, then give the answer with --choose",
        details={**document_of(found, question), "shown": shown, "question": question.id},
    )


def _told(done: ResumedSkill, *, as_json: bool) -> None:
    if as_json:
        sessions = use_cases().skill_sessions()
        print_json({**sessions.shown(done.folder), "proof": done.proof, "method": done.method, "told": done.told})
        return
    print_lines(map(printable, done.told))
    if done.proof is not None:
        print_lines(["", "Proof:", *(f"  {key}: {printable(value)}" for key, value in done.proof.items())])
