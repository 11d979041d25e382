"""Plans of a story: how one is written in an action, and what its commands and agents do.

A plan is `MODE PARALLEL LINT` and then its tasks, each `NAME/PIECES/CHECK/REVIEW/NEEDS`, all joined by semicolons. What
an agent does is in the pieces of its task (a `fickle` one leaves the conflicts of its merge as they are), what a
reviewer says in `REVIEW`, and what a check finds in `CHECK`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

FEATURE = "shop"
MODES = ("strict", "standard", "standard", "fast")
#: What a check does: it passes, fails always, passes what was written twice, takes long, or leaves files behind.
CHECKS = ("good", "good", "-", "twice", "bad", "slow", "leaves")
#: What a reviewer says: nothing is wrong, something is wrong at first, or always; or it gives no verdict.
REVIEWS = ("-", "-", "-", "pass", "pass", "doubt", "refuse", "mumble")
_PIECES = ("write", "write", "clash", "clash", "say", "build", "ask", "fickle")
#: The pieces of turns that change files: of the task's own file, of one that all tasks share.
WRITES = {"write": "", "clash": "shared.txt"}
_TASK = re.compile(r"^task (\w+): ([a-z ]+)$", re.MULTILINE)
_REVIEW = re.compile(r"^review (\w+): (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class PlannedTask:
    """A task of a plan."""

    name: str
    pieces: str
    check: str
    review: str
    needs: str

    @property
    def command(self) -> str:
        """Its check, as words."""
        return f"./check {self.check} {self.name}"

    def toml(self) -> str:
        """As a plan file has it."""
        lines = ["[[task]]", f'id = "{self.name}"', f'prompt = "task {self.name}: {self.pieces}"']
        lines += [f'checks = ["{self.command}"]'] if self.check != "-" else []
        if self.review != "-":
            lines += ['reviewer = "scripted"', f'review = "review {self.name}: {self.review}"']
        lines += [f'needs = ["{self.needs}"]'] if self.needs else []
        return "\n".join(lines)


@dataclass(frozen=True)
class StoryPlan:
    """A plan."""

    mode: str
    parallel: int
    lint: str
    tasks: tuple[PlannedTask, ...]

    @classmethod
    def of(cls, told: str) -> StoryPlan:
        """From an action."""
        head, *tasks = told.split(";")
        mode, parallel, lint = head.split()
        return cls(mode, int(parallel), lint, tuple(PlannedTask(*one.split("/")) for one in tasks))

    def toml(self) -> str:
        """As a plan file has it."""
        lint = f'lint = ["./check {self.lint} all"]' if self.lint != "-" else ""
        head = (f'feature = "{FEATURE}"', f'mode = "{self.mode}"', f"parallel = {self.parallel}", lint)
        return "\n".join([*head, *(one.toml() for one in self.tasks)])


def some_plan(random: Random) -> str:
    """A plan for an action."""
    names = "abcd"[: random.randint(1, 4)]
    tasks = []
    for number, name in enumerate(names):
        pieces = [random.choice(_PIECES) for _ in range(random.randint(1, 3))]
        needs = random.choice(names[:number]) if number and random.random() < 0.35 else ""
        tasks.append("/".join((name, " ".join(pieces), random.choice(CHECKS), random.choice(REVIEWS), needs)))
    lint = random.choice(("-", "-", "good", "bad"))
    return ";".join((f"{random.choice(MODES)} {random.randint(1, 3)} {lint}", *tasks))


def fewer_tasks(told: str) -> list[str]:
    """The same plan with less in it, for shrinking."""
    head, *tasks = told.split(";")
    found = []
    for number in range(len(tasks) if len(tasks) > 1 else 0):
        left = [one for at, one in enumerate(tasks) if at != number]
        gone = tasks[number].partition("/")[0]
        found.append(";".join((head, *(re.sub(f"/{gone}$", "/", one) for one in left))))
    for number, task in enumerate(tasks):
        name, pieces, check, review, needs = task.split("/")
        words = pieces.split()
        less = [(" ".join(words[:at] + words[at + 1 :]), check, review, needs) for at in range(len(words))]
        less = less if len(words) > 1 else []
        less += [(pieces, "-", review, needs)] if check != "-" else []
        less += [(pieces, check, "-", needs)] if review != "-" else []
        less += [(pieces, check, review, "")] if needs else []
        rest = tasks[number + 1 :]
        found += [";".join((head, *tasks[:number], "/".join((name, *one)), *rest)) for one in less]
    return found


def pieces_in(text: str, folder: str) -> list[str] | None:
    """What an agent in a worktree of a feature does about a prompt; None: it is nobody's worktree."""
    name = folder.rpartition("/")[2]
    if "/.worktrees/" not in folder:
        return None
    if name == ".integration":
        return ["say"] if "fickle" in text else ["say", "resolve"]
    if (review := _REVIEW.search(text)) is not None:
        return [review[2]]
    if (task := _TASK.search(text)) is not None:
        return [one for one in task[2].split() if one != "fickle"]
    return ["write"]  # it is told to go on, to mend something, or to look again


def check_passes(words: Sequence[str], files: Mapping[str, str]) -> bool:
    """How a check of these files ends."""
    _, how, name = words
    if how == "twice":
        written = [text for file, text in files.items() if file in (f"{name}.txt", "shared.txt")]
        return any(not text.endswith(".1\n") for text in written)
    return how != "bad"


def verdict(how: str, task: str, files: Mapping[str, str]) -> str:
    """What a reviewer says about these files."""
    if how == "mumble":
        return "It looks interesting.\n"
    is_good = how == "pass" or (how == "doubt" and not files.get(f"{task}.txt", "").endswith(".1\n"))
    return "VERDICT: PASS\n" if is_good else "VERDICT: FAIL\n- it is not good\n"
