"""The plan as a person writes it: TOML. Every complaint names the file, the key and, if known, the line."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Sequence

import msgspec

from rekindle.core.feature.modes import MODES, Mode
from rekindle.core.feature.plan import BadPlan, Plan, Task, Waves, arrange
from rekindle.core.feature.plan_complaint import PlanText, complaint
from rekindle.core.feature.shell_syntax import shell_syntax
from rekindle.core.names import why_not

#: How many tasks run at once if nobody says otherwise.
PARALLEL = 4
#: A command in a file: words as in a shell, or a list of arguments.
_Command = str | list[str]


class _Task(msgspec.Struct, forbid_unknown_fields=True):
    id: str | int
    summary: str = ""
    prompt: str = ""
    agent: str = ""
    files: list[str] = []
    checks: list[_Command] = []
    needs: list[str | int] = []
    after: list[str | int] = []
    wave: int | None = None
    reviewer: str = ""
    review: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    feature: str
    task: list[_Task]
    mode: Mode = "standard"
    parallel: int | msgspec.UnsetType = msgspec.UNSET
    jobs: int | msgspec.UnsetType = msgspec.UNSET  # the old name of `parallel`
    base: str = ""
    agent: str = ""
    reviewer: str = ""
    review: str = ""
    lint: list[_Command] = []
    checks: list[_Command] = []
    waves: list[list[str | int]] | None = None


class PlanFile(msgspec.Struct, frozen=True):
    """What a plan file says: the plan, and how to run it."""

    feature: str
    plan: Plan
    mode: Mode = "standard"
    parallel: int = PARALLEL
    base: str = ""


_KEYS = {"task": _Task.__struct_fields__, "": tuple(key for key in _File.__struct_fields__ if key != "jobs")}
_VALUES = {"mode": f"it is one of: {', '.join(MODES)}"}


def parse(content: bytes, name: str) -> PlanFile:
    """Read a plan file. `name` is what complaints call it."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadPlan(f"{name}, line {line}: is not valid UTF-8", "write it in UTF-8") from error
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadPlan(f"{name}: is not valid TOML ({error})", "fix it; docs/features.md shows a plan") from error
    if "tasks" in table and "task" not in table:
        table["task"] = table.pop("tasks")
    lines = PlanText(name, text)
    try:
        given = msgspec.convert(table, _File)
    except msgspec.ValidationError as error:
        raise complaint(str(error), lines, _KEYS, _VALUES) from error
    for number, task in enumerate(given.task):
        _check_task(task, number, lines)
    if why_not(given.feature) is not None:
        raise BadPlan(
            f"{lines.place(key='feature')}: feature {given.feature!r} {why_not(given.feature)}",
            "use letters, digits, dashes and dots",
        )
    parallel = _parallel(given, lines)
    _check_commands(given.lint, lines.place(key="lint"))
    _check_commands(given.checks, lines.place(key="checks"))
    try:
        plan = _plan(given)
    except BadPlan as error:
        last = max((number for number, one in enumerate(given.task) if str(one.id) == error.task), default=None)
        raise BadPlan(f"{lines.place(last)}: {error.message}", error.hint) from error
    return PlanFile(given.feature, plan, given.mode, parallel, given.base)


def _parallel(given: _File, lines: PlanText) -> int:
    """How many tasks run at once, by the key or by its old name."""
    if given.parallel is not msgspec.UNSET and given.jobs is not msgspec.UNSET:
        raise BadPlan(
            f"{lines.place(key='jobs')}: jobs and parallel are the same key", "remove jobs, it is the old name"
        )
    key, found = ("jobs", given.jobs) if given.jobs is not msgspec.UNSET else ("parallel", given.parallel)
    if found is not msgspec.UNSET and found < 1:
        raise BadPlan(f"{lines.place(key=key)}: {key} is {found}", "it must be 1 or more")
    return PARALLEL if found is msgspec.UNSET else found


def _plan(given: _File) -> Plan:
    tasks = [
        Task(
            str(one.id),
            one.summary or (one.prompt.strip().splitlines() or [""])[0][:80],
            one.prompt,
            one.agent or given.agent,
            tuple(one.files),
            _commands(one.checks),
            one.reviewer or given.reviewer,
            one.review or given.review,
        )
        for one in given.task
    ]
    needs = {str(one.id): tuple(map(str, one.needs)) for one in given.task if one.needs}
    after = {str(one.id): tuple(map(str, one.after)) for one in given.task if one.after}
    lint, checks = _commands(given.lint), _commands(given.checks)
    return arrange(tasks, needs=needs, after=after, waves=_waves(given), lint=lint, checks=checks)


def _waves(given: _File) -> Waves | None:
    if given.waves is not None:
        return tuple(tuple(map(str, wave)) for wave in given.waves)
    numbered = {one.wave for one in given.task}
    if numbered == {None}:
        return None
    if None in numbered:
        without = next(str(one.id) for one in given.task if one.wave is None)
        raise BadPlan(f"task {without!r} has no wave, but others have one", "give every task one, or none", without)
    waves: dict[int, list[str]] = {number: [] for number in sorted(number for number in numbered if number is not None)}
    for one in given.task:
        if one.wave is not None:
            waves[one.wave].append(str(one.id))
    return tuple(map(tuple, waves.values()))


def _check_task(task: _Task, number: int, lines: PlanText) -> None:
    problem = why_not(str(task.id))
    if problem is not None:
        raise BadPlan(
            f"{lines.place(number)}: the task id {str(task.id)[:40]!r} {problem}",
            "use letters, digits, dashes and dots",
        )
    if not task.prompt.strip() and not task.summary.strip():
        place = lines.place(number)
        raise BadPlan(f"{place}: task {task.id!r} has neither prompt nor summary", "say what its agent should do")
    _check_commands(task.checks, lines.place(number, "checks"))
    for file in task.files:
        if not file or file.startswith("/") or ".." in file.split("/"):
            raise BadPlan(
                f"{lines.place(number, 'files')}: the file {file!r} is not inside the repository",
                "give its path from the top of the repository",
            )


def _commands(given: Sequence[_Command]) -> tuple[str, ...]:
    """Commands as the plan keeps them: as words, quoted as in a shell."""
    return tuple(one if isinstance(one, str) else shlex.join(one) for one in given)


def _check_commands(commands: Sequence[_Command], place: str) -> None:
    for command in commands:
        if isinstance(command, list):
            words = command
        elif (found := shell_syntax(command)) is not None:
            shown = "a line break" if found == "\n" else repr(found)
            as_list = json.dumps(["sh", "-c", command.strip()], ensure_ascii=False)
            raise BadPlan(
                f"{place}: the check {command!r} has {shown}, and checks run without a shell",
                f"run it with a shell: {as_list}; or put it into a script; or quote it if it is meant literally",
            )
        else:
            words = _split(command, place)
        if not words or not words[0]:
            raise BadPlan(f"{place}: a check is empty", "give a command, or remove it")


def _split(command: str, place: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BadPlan(f"{place}: the check {command!r} cannot be read ({error})", "quote it as in a shell") from error
