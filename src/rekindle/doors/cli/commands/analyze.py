"""`rekindle analyze`: the analysis of one journal, as an object or as a screen."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekindle.core.journal.analysis import Analysis, tasks_phrase
from rekindle.core.journal.document import document
from rekindle.core.journal.lineage import status_of
from rekindle.core.journal.next_planned import in_words
from rekindle.core.journal.run import Issue
from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import complete_features, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.argument("what", shell_complete=complete_features)
@json_option
def analyze(what: str, as_json: bool) -> None:
    """Show what the journal of WHAT says, and what a resume would do. Changes nothing.

    WHAT is a feature's name or the path of an events.jsonl. For a name, a run that a live process holds does not count
    as interrupted; for a path, this is not checked.
    """
    found = use_cases().journals().analyse(what)
    analysis, owner = found.analysis, found.owner
    if as_json:
        held = None if owner is None else {"sid": owner.sid, "pid": owner.pid, "state": owner.verdict}
        print_json({**document(analysis), "owner": held})
        return
    if owner is not None:
        print(f"Run {printable(owner.sid)} is {owner.verdict}: pid {owner.pid} holds it.\n")
    for line in screen(analysis, what):
        print_lines([line])


def screen(analysis: Analysis, what: str) -> Iterator[str]:
    """The analysis as a person reads it before deciding."""
    title = f'Resume analysis for feature "{printable(analysis.feature or what)}"'
    yield title
    yield "=" * len(title)
    if analysis.run is None:
        yield "The journal has no run."
        yield from _journal_notes(analysis)
        return
    run = analysis.run
    command = run.start.command if run.start is not None and run.start.command else "of unknown command"
    if analysis.is_interrupted:
        yield f"Run {printable(run.sid)} ({printable(command)}) never ended: interrupted after {run.events} events."
    elif run.ended:
        end = printable(run.end_reason or "no reason given").replace("user_cancelled", "stopped by a person")
        yield f"Run {printable(run.sid)} ({printable(command)}) ended: {end}. Nothing is interrupted."
    else:
        yield f"Run {printable(run.sid)} ({printable(command)}) is still running. Nothing is interrupted."
    if run.first_ts:
        yield f"From {printable(run.first_ts)} to {printable(run.last_ts or run.first_ts)}."
    if len(analysis.lineage) > 1:
        yield f"Continues {' <- '.join(printable(sid) for sid in reversed(analysis.lineage[:-1]))}."
    yield from _state(analysis)
    yield from _decision(analysis, what)
    yield from _journal_notes(analysis)


def _state(analysis: Analysis) -> Iterator[str]:
    state = analysis.state
    yield ""
    if state.checkpoint is not None:
        label, seq = printable(str(state.checkpoint.label)), state.checkpoint.seq
        yield f'Last checkpoint: "{label}"' + (f" (seq {seq})" if seq is not None else "")
    else:
        yield "No checkpoint: the run was interrupted early."
    yield from _later(analysis)
    if state.tasks:
        yield "Tasks:"
        width = max(len(printable(name)) for name in state.tasks)
        for name, task in state.tasks.items():
            more = [printable(text) for text in (task.summary, task.agent and f"agent {task.agent}") if text]
            if task.error:
                more.append(f"error: {printable(task.error)}")
            if task.attempts:
                more.append(f"attempts: {task.attempts}")
            qa = state.qa.get(name)
            if qa is not None:
                more.append(f"QA round {qa.round or '?'} {qa.result}")
            yield f"  #{printable(name):<{width}} {status_of(task):<12} {'; '.join(more)}".rstrip()
    if state.active_agents:
        ended = analysis.run is not None and analysis.run.ended
        when = " when it was interrupted" if analysis.is_interrupted else " when it ended" if ended else ""
        yield f"Agents at work{when}:"
        for name in state.active_agents:
            yield f"  - {printable(name)}"
    yield from _issues("Issues after the checkpoint" if state.checkpoint else "Issues", state.issues)
    yield from _issues("Settled issues", state.resolved_issues)
    yield from _issues("Warnings", state.warnings)
    if state.claims:
        yield "Claims by agents (not counted):"
        for claim in state.claims:
            about = f" task #{printable(claim.task)}" if claim.task else ""
            yield f"  - {printable(claim.type)}{about}"


#: The most events to show after the checkpoint.
_SHOWN = 10


def _later(analysis: Analysis) -> Iterator[str]:
    """What happened after the checkpoint, newest last."""
    state = analysis.state
    if state.checkpoint is None or not state.later:
        return
    shown = state.later[-_SHOWN:]
    more = state.later_count - len(shown)
    yield "Events after it" + (f" (the last {len(shown)} of {state.later_count}; --json has more):" if more else ":")
    for one in shown:
        about = [printable(one.agent)] if one.agent else []
        about += [f"task #{printable(one.task)}"] if one.task else []
        about += [f"resolved: {str(one.resolved).lower()}"] if one.resolved is not None else []
        number = f"seq {one.seq}" if one.seq is not None else "no seq"
        yield f"  {number}: {printable(one.type)}" + (f" ({', '.join(about)})" if about else "")


def _issues(title: str, issues: list[Issue]) -> Iterator[str]:
    if not issues:
        return
    yield f"{title}:"
    for number, issue in enumerate(issues, start=1):
        task = f" task #{printable(issue.task)}" if issue.task else ""
        place = f" {printable(issue.place)}:" if issue.place else ""
        yield f"  {number}. [{issue.type}]{task}{place} {printable(issue.message)}".rstrip()


def _decision(analysis: Analysis, what: str) -> Iterator[str]:
    decision = analysis.decision
    if decision.case == "none":
        if analysis.run is not None and analysis.run.end_reason == "error" and "/" not in what:
            yield ""
            yield f"You can still resume it; rekindle resume {quoted(what)} --explain shows what would be done."
        return
    yield ""
    if decision.case == "A":
        step = printable(str(decision.next_step or in_words(analysis.state) or "the next step"))
        if analysis.state.plan is None:
            yield f"The next step is {step}. The journal has no plan: continue by hand, with rekindle track."
        else:
            yield f"According to the journal alone, nothing is in the way: a resume continues at {step}."
        if decision.restart_tasks:
            yield f"It continues with {printable(tasks_phrase(decision.restart_tasks))}."
        if "/" not in what and analysis.state.plan is not None:
            yield f"To check git as well: rekindle resume {quoted(what)} --explain"
    else:
        if decision.case == "C" and (step := in_words(analysis.state)):
            yield f"The next planned step is {printable(step)}."
        yield "A resume has to ask you:"
        for option in decision.options:
            yield f"  {option.key}. {option.title}: {printable(option.effect)}"
    others = analysis.interrupted[1:]
    if others:
        yield f"Older runs that never ended: {', '.join(map(printable, others))}."
    if "/" not in what:
        if decision.case != "A" or analysis.state.plan is not None:
            yield next_step(f"rekindle resume {quoted(what)}")
        yield f"To end it for good instead: rekindle abandon {quoted(what)}"


def _journal_notes(analysis: Analysis) -> Iterator[str]:
    journal, gaps = analysis.journal, analysis.state.gaps
    notes = []
    if journal.malformed:
        notes.append(f"unreadable lines: {_some(journal.malformed)}")
    if journal.unknown_version:
        notes.append(f"lines of an unknown version, not used: {_some(journal.unknown_version)}")
    if journal.duplicates:
        notes.append(f"lines overridden by later ones: {journal.duplicates}")
    if journal.strays:
        notes.append(f"sids that are not runs: {', '.join(map(printable, journal.strays[:5]))}")
    missing = sum(gap.missing_count for gap in gaps)
    if missing:
        notes.append(f"events missing from the sequence: {missing}")
    if notes:
        yield ""
        yield "About the journal itself:"
        for note in notes:
            yield f"  {note}"


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return shown if len(numbers) <= 10 else f"{shown} and {len(numbers) - 10} more"
