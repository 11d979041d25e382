"""Quality assurance of one commit of a task: its checks, then its reviewer. Every verdict is about that commit."""

from __future__ import annotations

from rekindle.core.feature import effects as e
from rekindle.core.feature import prompts
from rekindle.core.feature.conversing import converse
from rekindle.core.feature.evidence import WorkBranch
from rekindle.core.feature.modes import Mode
from rekindle.core.feature.plan import Task
from rekindle.core.feature.situation import Situation
from rekindle.core.feature.talks import further_try, review_prompt

#: How many commits of one round are checked. After that, somebody, or a check itself, keeps committing.
CHECKED = 4


def looked_at(task: Task, mode: Mode) -> tuple[str, ...]:
    """What has looked at the work of a task that has passed."""
    number = len(task.checks) if mode != "fast" else 0
    checks = (f"{number} check{'' if number == 1 else 's'}",) if number else ()
    return (*checks, f"reviewed by {task.reviewer}") if task.reviewer else checks


def unchanged(task: Task, mode: Mode) -> str:
    """What a person is told about a task that is done without a change."""
    looked = ", ".join(looked_at(task, mode))
    passed = f"that passed ({looked})" if looked else "nothing checks it"
    return f"task {task.id} is done without a change: its agent finished its turn and changed nothing, and {passed}"


def check(now: Situation, name: str, branch: WorkBranch, round_: int, *, may_start: bool) -> e.Effect | e.Waiting:
    """The next step of a round of quality assurance."""
    task = now.plan.task(name)
    commands = task.checks if now.mode != "fast" else ()
    found = now.memory.checks.get((name, round_, branch.tip)) if commands else ()
    if found is None:
        before = sum(task_ == name and number == round_ for task_, number, _ in now.memory.checks)
        if before >= CHECKED:
            return e.Judge(name, round_, branch.tip, (f"{branch.name} gets new commits every time it is checked",))
        return e.RunChecks(name, round_, branch.tip, commands)
    if found or not task.reviewer:
        return e.Judge(name, round_, branch.tip, found)
    return _review(now, name, branch, round_, may_start=may_start)


def _review(now: Situation, name: str, branch: WorkBranch, round_: int, *, may_start: bool) -> e.Effect | e.Waiting:
    """Ask the reviewer about this commit, in a copy of it: what happens there affects nobody's work."""
    task = now.plan.task(name)
    asked = review_prompt(branch.tip)
    review = now.talk_with(name, f"review-{round_}", asked)
    is_about_to_work = review.phase in ("absent", "unsaid", "cut", "failed")
    if is_about_to_work and now.git.copies.get(name) != branch.tip:
        if review.up:  # it has another commit before it, which it was asked about earlier
            return e.Rest(name, review.session)
        return e.MakeCopy(name, branch.tip) if may_start else "waiting"
    again = asked if review.phase in ("absent", "unsaid") else further_try(asked, review.tries + 1)
    text = prompts.review(task, branch.name, branch.tip, now.target)
    say = e.Assign(name, review.session, "review", task.reviewer, again, text, round_)
    step = converse(now, name, review, say, may_start=may_start)
    if step is not None:
        return step
    verdict = now.memory.verdicts.get((name, round_, branch.tip))
    if verdict is None:
        return e.ReadVerdict(name, review.session, round_, branch.tip)
    return e.Judge(name, round_, branch.tip, verdict)
