"""What to do next in a feature's run: a pure function of journal, git and sessions, level-triggered.

It never asks what happened last, only how things stand, so beginning, continuing and resuming are the same call.
Waves run one after another, the tasks of a wave in parallel. Tasks are merged in the order of the plan, so that the
history does not depend on which was faster, and no task overtakes one that only waits for a person. The life of one
task is in task_steps.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rekindle.core.feature import effects as e
from rekindle.core.feature.modes import Mode
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.situation import Situation
from rekindle.core.feature.task_steps import Leave, Rests, next_step


def due(now: Situation, busy: frozenset[str] = frozenset()) -> list[e.Effect]:
    """The effects to run now; at most one per task, none for those in `busy` (they have an effect under way)."""
    if "" in busy:
        return []
    if now.git.tip is None:
        return [] if busy else [e.MakeFeature()]
    if now.marked is None:
        return [e.MarkWave(0)]
    for number, wave in enumerate(now.plan.waves, start=1):
        steps = dict(_wave(now, number, wave, busy))
        wanted = [step for step in steps.values() if not isinstance(step, str)]
        rests = set(steps.values()) - set(wanted)
        if wanted:
            return wanted
        if busy or "waiting" in rests:
            return []
        if rests - {"settled"}:
            return [e.Finish("error", _reasons(now, steps))]
        if number > now.marked:
            return [_close_wave(now, number)]
        if (again := _check_again(now, number, wave)) is not None:
            return [again]
    return [e.Finish("completed")]


def _wave(
    now: Situation, number: int, wave: tuple[str, ...], busy: frozenset[str]
) -> Iterator[tuple[str, e.Effect | Rests]]:
    at_work = len(busy)
    may_merge = True
    for name in wave:
        if name in busy:
            may_merge = False
            yield name, "waiting"
            continue
        may_start = at_work < now.jobs and (may_merge or not now.shared_tree)
        step = next_step(now, name, Leave(number, may_start=may_start, may_merge=may_merge))
        yield name, step
        if step == "stuck" and not now.shared_tree:
            may_merge = False  # a resume puts it back in its place in the order
        elif step not in ("settled", "failed", "stuck"):
            may_merge = False
            at_work += step != "ready" and not isinstance(step, e.Merge | e.Settle)


def _close_wave(now: Situation, number: int) -> e.Effect:
    tip = now.git.tip or ""
    commands = wave_commands(now.plan, now.mode)
    found = now.memory.waves.get((number, tip)) if commands else ()
    if found is None:
        return e.CheckWave(number, tip, commands)
    if found:
        return e.Finish("error", f"wave {number} does not pass: {found[0]}")
    return e.MarkWave(number)


def _check_again(now: Situation, number: int, wave: tuple[str, ...]) -> e.Effect | None:
    """If part of a wave was merged again, on top of something else, the whole wave is checked again."""
    commands = wave_commands(now.plan, now.mode)
    if not commands or now.memory.restored.isdisjoint(wave):
        return None
    found = [issues for (checked, _), issues in now.memory.waves.items() if checked == number]
    if not found:
        return e.CheckWave(number, now.git.tip or "", commands)
    return e.Finish("error", f"wave {number} does not pass: {found[-1][0]}") if found[-1] else None


def wave_commands(plan: Plan, mode: Mode) -> tuple[str, ...]:
    """The commands to run on the whole tree after each wave."""
    return {"strict": (*plan.lint, *plan.checks), "standard": plan.lint, "fast": ()}[mode]


def _why(now: Situation, name: str) -> str:
    """What quality assurance found last, or else why the task failed, as the end of a sentence."""
    known = now.progress[name]
    if known.qa is not None and known.qa.result == "failed":
        return f": {', '.join(map(str, known.qa.issues))}"
    return f": {known.error}" if known.error else ""


def _reasons(now: Situation, steps: Mapping[str, object]) -> str:
    failed = [name for name, step in steps.items() if step == "failed"]
    told = [f"task {name} failed{_why(now, name)}" for name in failed]
    told += [f"task {name}: {now.memory.problems[name]}" for name, step in steps.items() if step == "stuck"]
    return "; ".join(told)
