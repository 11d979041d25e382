"""A feature's run on the terminal: start it, watch it, resume it; the questions, and their answers by flag."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import click
import msgspec

from rekindle.app.feature_resume import check_yes
from rekindle.app.feature_resuming import FeatureResuming
from rekindle.app.requests import Choice, FeatureResumeRequest, PlanRequest
from rekindle.core.feature.plan import BadPlan
from rekindle.core.feature.plan_file import parse
from rekindle.core.feature.staffing import RunTerms
from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli import feature_screens, staffing
from rekindle.doors.cli.feature_progress import Board
from rekindle.doors.cli.leaving import still_running
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import print_json
from rekindle.doors.cli.outcome import INTERRUPTED
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.reading import read_file
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.daemon import NoDaemon
from rekindle.ports.errors import NoRepository, OwnedError, QuestionError, RekindleError

_PAUSE = 0.15
_LONGEST_PLAN = 4 << 20


@dataclass(frozen=True)
class Resume:
    """The flags of a resume."""

    choice: Choice | None = None
    instructions: str = ""
    plan_file: str | None = None
    jobs: int | None = None
    detach: bool = False
    trust: str = ""
    take: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    remove_locks: bool = False

    @property
    def is_answered(self) -> bool:
        """Whether something was answered that only a feature asks."""
        answers = (self.choice, self.instructions, self.plan_file, self.jobs, self.trust, self.take, self.leave)
        return any(answers) or self.remove_locks


FLAGS = tuple(field.name for field in fields(Resume))


def run_plan(
    cwd: str,
    plan_file: str,
    mode: str | None,
    jobs: int | None,
    terms: RunTerms,
    *,
    again: bool,
    detach: bool,
    as_json: bool,
) -> int:
    """Run a plan to its end, or leave it working. One that was finished before is only reported."""
    text = _read(plan_file)
    terms = staffing.chosen(text, plan_file, terms, may_ask=not as_json)
    asked = PlanRequest(
        cwd=os.path.realpath(cwd),
        plan=text,
        name=plan_file,
        env=dict(os.environ),
        mode=mode,
        jobs=jobs,
        again=again,
        **msgspec.to_builtins(terms),
    )
    try:
        return _begin(asked, detach=detach, as_json=as_json)
    except KeyboardInterrupt:  # before watching began; the daemon may already have the request
        name = _name_in(asked)
        print_lines(["Interrupted while the run was being started. If it has begun:", *still_running(name)], err=True)
        return INTERRUPTED


def _name_in(asked: PlanRequest) -> str:
    """The feature that a plan is about; an invalid plan starts none."""
    try:
        return parse(asked.plan.encode("utf-8", "surrogateescape"), asked.name).feature
    except BadPlan:
        return "FEATURE"


def _begin(asked: PlanRequest, *, detach: bool, as_json: bool) -> int:
    resuming = use_cases().feature_resuming()
    begun = resuming.begin(asked)
    before = begun.pop("finished", None)
    if before is not None:
        print_json({**before, "already_finished": True}) if as_json else print_lines(
            feature_screens.finished(before, asked.name)
        )
        return 0
    if detach:
        print_json(begun) if as_json else print(_under_way(begun["feature"], begun["sid"]))
        return 0
    if not as_json:
        tasks, waves = (f"{begun[what]} {what if begun[what] != 1 else what[:-1]}" for what in ("tasks", "waves"))
        about = f"{tasks} in {waves}"
        print(f"Feature {printable(begun['feature'])}, run {begun['sid']}: {about}.", file=sys.stderr)
    return watch(resuming, asked.cwd, begun["feature"], as_json=as_json)


def resume(feature: str, asked: Resume, terms: RunTerms, *, only_explain: bool, as_json: bool) -> int:
    """Resume one feature; with `only_explain`, only say what would be done. `terms` are what the flags set."""
    cwd = os.getcwd()
    found = use_cases().moved().moved() if only_explain else None
    if found is not None:  # what git says about its worktrees is not true yet
        about = {"before": found.before, "now": found.now, "next": found.next}
        print_json({"feature": feature, "moved": about}) if as_json else print(printable(found.next))
        return 0
    resuming = use_cases().feature_resuming()
    if not only_explain and resuming.admit(feature, asked.trust):
        asked = replace(asked, trust="")  # that run's instructions are asked about next
    told = msgspec.to_builtins(resuming.explain(feature))
    if only_explain:
        print_json(told) if as_json else print_lines(feature_screens.explanation(told))
        return 0
    terms = staffing.of_resume(told, terms, may_ask=not as_json)
    trust = _yes_to_orders(told, asked, terms.permission, as_json=as_json)
    choice, instructions = asked.choice, asked.instructions
    asks = told["case"] in ("B", "C") and choice is None and not instructions
    if not as_json:
        print_lines(feature_screens.question(told) if told["case"] in ("B", "C") else feature_screens.onward(told))
    if asks and sys.stdin.isatty() and not as_json:
        typed = click.prompt("Your choice", type=click.Choice(["A", "B", "C"], case_sensitive=False))
        choice = next(one for one in get_args(Choice) if one == typed.upper())
    if choice == "C" and not instructions and told["case"] in ("B", "C") and sys.stdin.isatty() and not as_json:
        instructions = click.prompt("How should it continue")
    take, leave = _strays_answered(told, asked, choice, instructions, as_json=as_json)
    remove_locks = asked.remove_locks or _yes_to_removal(told, as_json=as_json)
    begun = resuming.resume(
        FeatureResumeRequest(
            cwd=cwd,
            feature=feature,
            env=dict(os.environ),
            choice=choice,
            instructions=instructions,
            plan=_read(asked.plan_file) if asked.plan_file else None,
            name=asked.plan_file or "",
            jobs=asked.jobs,
            **msgspec.to_builtins(terms),
            seen=told["run"],
            trust=trust,
            take=tuple(take),
            leave=tuple(leave),
            remove_locks=remove_locks,
        )
    )
    if not as_json:
        print_lines(feature_screens.decided(begun))
        if choice in ("A", "B") and begun["choice"] == "auto":
            print(f"  --choose {choice} was not used: there was no question, so no task starts over or is skipped")
    if asked.detach:
        print_json(begun) if as_json else print(_under_way(feature, begun["sid"]))
        return 0
    return watch(resuming, cwd, feature, as_json=as_json)


def _under_way(feature: str, sid: str) -> str:
    return f"{printable(feature)}: run {sid} is under way; watch it: rekindle attach {quoted(feature)}"


def _yes_to_orders(told: dict[str, Any], asked: Resume, permission: str, *, as_json: bool) -> str:
    """The approval of a journal that was written elsewhere, after showing all its commands and prompts."""
    found = told["unapproved"]
    if found is None:
        return ""
    if not as_json:
        print_lines(feature_screens.foreign(told, permission))
    if not asked.trust and not as_json and sys.stdin.isatty():
        if not click.confirm("Run all of this?", default=False):
            raise QuestionError(
                "nothing was run", f"to look again: rekindle resume {quoted(told['feature'])} --explain"
            )
        return str(found)
    check_yes(told["feature"], found, asked.trust)
    return asked.trust


def _strays_answered(
    told: dict[str, Any], asked: Resume, choice: str | None, instructions: str, *, as_json: bool
) -> tuple[list[str], list[str]]:
    """The tasks whose work elsewhere is taken, and those whose is left: by flag, or by an answer on the terminal."""
    take, leave = list(asked.take), list(asked.leave)
    moot = told["affected"] if choice in ("A", "B") else []
    names = dict.fromkeys(row["task"] for row in told["strays"] if row["state"] == "asked")
    if instructions or as_json or not sys.stdin.isatty() or (told["case"] == "C" and choice in ("A", "B")):
        return take, leave
    for name in (one for one in names if one not in (*take, *leave, *moot)):
        print_lines(feature_screens.strays(told, name))
        typed = click.prompt("Take it or leave it", type=click.Choice(["take", "leave"], case_sensitive=False))
        (take if typed.lower() == "take" else leave).append(name)
    return take, leave


def _yes_to_removal(told: dict[str, Any], *, as_json: bool) -> bool:
    """The approval to remove locks that a killed git left, if somebody can be asked."""
    if not told["locks"] or as_json or not sys.stdin.isatty():
        return False
    print("A killed git left lock files:")
    print_lines(f"  {printable(lock)}" for lock in told["locks"])
    return click.confirm("Remove them?", default=False)


def resume_all(*, as_json: bool) -> tuple[list[str], bool]:
    """Resume every interrupted feature here that needs no answer; name the others, with what a person has to do.

    Returns the folders of their worktrees (agents that work there come back with their feature, or not at all), and
    whether any feature continues.
    """
    say = (lambda text: print(text, file=sys.stderr)) if as_json else print
    resuming = use_cases().feature_resuming()
    found = resuming.interrupted()
    goes_on = False
    for one in resuming.resume_each(found):
        goes_on = goes_on or one.goes_on
        say(f"{printable(one.feature)}: {one.about}")
    return resuming.worktrees_of(found), goes_on


def watch(resuming: FeatureResuming, cwd: str, feature: str, *, as_json: bool) -> int:
    """Show a run until it ends. Ctrl-C leaves it working."""
    board = Board(sys.stdout.isatty() and not as_json, quiet=as_json)
    waiting = use_cases().waiting()
    told: dict[str, Any] = {}
    try:
        with board:
            while not told.get("over"):
                told = resuming.state(cwd, feature)
                board.show(told, waiting.questions(told))
                if not told["over"]:
                    time.sleep(_PAUSE)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C: the person is told what goes on first
        print_lines(["", *still_running(feature)], err=True)
        return INTERRUPTED
    except NoDaemon:
        raise RekindleError(
            f"the daemon is gone, and so is the run of {feature}", f"rekindle resume {quoted(feature)}"
        ) from None
    except RekindleError as error:
        if error.code != NoRepository.code or os.path.isdir(cwd):
            raise
        raise RekindleError(
            f"{cwd} is gone: the repository was moved or renamed while {feature} was running",
            f"go to its new folder and continue there: rekindle resume {quoted(feature)}",
        ) from error
    if as_json:
        print_json(told)
    else:
        print_lines(feature_screens.ended(told))
    return 0 if told["reason"] == "completed" else 1


def attach(feature: str) -> int:
    """Show the board of a feature's run again; if no daemon knows the run, show what its journal says."""
    cwd, waiting = os.getcwd(), use_cases().waiting()
    if waiting.run(cwd, feature) is not None:
        return watch(use_cases().feature_resuming(), cwd, feature, as_json=False)
    found = waiting.feature(cwd, feature)
    if found is None:
        raise OwnedError(f"another process runs {feature}", f"see its events: rekindle follow {quoted(feature)}")
    why = f": {printable(found.why)}" if found.why else ""
    newest = f"{printable(feature)}: no run is under way. The newest one: {printable(found.how)}{why}."
    print_lines([newest, f"  {next_step(found.next)}"])
    return 0 if found.is_well else 1


def _read(path: str) -> str:
    return read_file(path, "plan", _LONGEST_PLAN).decode("utf-8", "surrogateescape")
