"""A small plan with gates, and how it is brought to the moment at which somebody meddles."""

from __future__ import annotations

from collections.abc import Callable

from tests.crash.feature_verdict import Allows, Outcome, outcome
from tests.crash.feature_yard import Yard, a_yard
from tests.crash.meddling import TARGETS, Habit, Meddling, Moment
from tests.e2e.features import task

GATES = ("a", "c")


def plan(yard: Yard, habit: Habit | None = None, *, conflict: bool = False) -> str:
    """Tasks a and b side by side, then c; each has a first half, which its agent commits, and a second one."""
    wave = habit.wave(yard) if habit is not None and habit.wave is not None else f"sh {yard.hands / 'wave.sh'}"
    tasks = []
    for name in "abc":
        special = habit if name == "b" else None
        lines = [yard.hand("effect", name), f"write {name}.txt {name}"]
        lines += [f"write same.txt {name}\\n"] if name == "a" or (conflict and name == "b") else []
        lines += [yard.hand("commit", f"{name}-first"), *(special.lines(yard) if special is not None else ())]
        lines += [yard.hand("gate", name)] if name in GATES else []
        lines += [f"write {name}-2.txt more", f"say {name} is done"]
        check = f"sh {yard.hands / 'check.sh'} {name} 0"
        more: dict[str, object] = {"checks": [check]}
        if special is not None and special.check is not None:
            more["checks"] = [special.check(yard)]
        if special is not None and special.review is not None:
            more |= {"reviewer": "scripted", "review": "\n".join(special.review(yard))}
        more |= {"after": ["b"]} if conflict and name == "c" else {"needs": ["a", "b"]} if name == "c" else {}
        tasks.append(task(name, *lines, **more))
    return yard.shop.plan(*tasks, head=f'lint = ["{wave}"]')


def undisturbed() -> Outcome:
    """What the plan leads to when nobody meddles."""
    with a_yard() as yard:
        yard.open_gates(*GATES)
        status, told = yard.run("run", "--plan", plan(yard))
        assert status == 0, told
        found = outcome(yard)
        assert found.ended and found.merges == [f"Merge task {name}: Task {name}" for name in "abc"]
        return found


def bring_to(yard: Yard, moment: Moment) -> None:
    """Begin the plan, and wait for the moment."""
    if moment == "conflict":
        yard.open_gates("a")
        yard.run("run", "--plan", plan(yard, conflict=True))
        return
    yard.start("run", "--plan", plan(yard))
    yard.until_at("a")
    if moment == "held":
        yard.until_event("qa.passed", "b")
        return
    yard.open_gates("a")
    yard.until_at("c")


def meddle(yard: Yard, name: str, act: Callable[[Yard, str], None], task_: str) -> None:
    """Let somebody do something; what that changes in the user's own checkout is theirs."""
    yard.tell(f"{name} ({task_})")
    assert yard.look() == yard.checkout, "the user's checkout changed before anybody meddled"
    act(yard, task_)
    yard.checkout = yard.look()


def disturb(yard: Yard, entry: Meddling, *, undo: bool) -> Allows:
    """One entry at its moment, then resumes until it ends or asks; what is allowed then."""
    bring_to(yard, entry.moment)
    if entry.down:
        yard.down()
    name = TARGETS[entry.moment]
    meddle(yard, entry.name, entry.act, name)
    yard.open_gates(*GATES)
    yard.wait()
    yard.resume_to_the_end(*entry.answers)
    if undo and entry.undo is not None and not yard.is_complete:
        meddle(yard, f"undone: {entry.name}", entry.undo, name)
        yard.resume_to_the_end(*entry.answers)
        return entry.undone
    return entry.allows


def have(yard: Yard, habit: Habit) -> Allows:
    """The plan with a habit, until it ends or asks."""
    yard.open_gates(*GATES)
    yard.tell(habit.name)
    yard.run("run", "--plan", plan(yard, habit))
    if not yard.is_complete:
        yard.resume_to_the_end(*habit.answers)
    return habit.allows
