"""What agents are told: their task, what quality assurance found, which conflicts to resolve."""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.core.feature.plan import Task

PASS, FAIL = "VERDICT: PASS", "VERDICT: FAIL"
_VERDICT = "VERDICT:"
#: What people who write Markdown put around a line.
_MARKS = "*_`#> "


def work(feature: str, task: Task, branch: str, instructions: str) -> str:
    """The first prompt of a task."""
    lines = [task.prompt.strip() or task.summary.strip(), "", f"(This is task {task.id} of the feature {feature}, in a"]
    lines.append(f"worktree of its own on the branch {branch}. Commit there, or leave your changes to be committed.)")
    if task.files:
        lines.append(f"(Files that it is about: {', '.join(task.files)}.)")
    return "\n".join(lines + _told(instructions))


def holds(commits: int, subjects: Sequence[str], *, uncommitted: bool) -> str:
    """What an agent is told when it takes over a branch from an agent whose conversation nobody knows."""
    lines = ["", "(Somebody has worked on this before, and what they said is lost. Look at it first, keep what is"]
    lines.append("good, and finish what is missing. Do not do again what is done.")
    if commits:
        lines += [f"The branch has {commits} {'commit' if commits == 1 else 'commits'}:", *_listed(subjects)]
        lines += [f"- and {commits - len(subjects)} older ones"] if commits > len(subjects) else []
    lines += ["There are uncommitted changes in the worktree."] if uncommitted else []
    return "\n".join(lines) + ")"


def again(feature: str, task: Task, branch: str, issues: Sequence[str], instructions: str, *, fresh: bool) -> str:
    """The prompt of a further round; a conversation without history gets the task again."""
    begin = [work(feature, task, branch, ""), ""] if fresh else []
    found = [f"Quality assurance of task {task.id} found problems. Mend them:", *_listed(issues)] if issues else []
    return "\n".join(begin + found + _told(instructions)) or work(feature, task, branch, instructions)


def retry(feature: str, task: Task, branch: str, error: str, *, fresh: bool) -> str:
    """What is said after a turn that ended with an error."""
    begin = [work(feature, task, branch, ""), ""] if fresh else []
    told = [f"Your last turn ended with an error: {_one_line(error)}"] if error else []
    return "\n".join(
        [*begin, *told, "Check the state of the files before you repeat anything, then go on with your task."]
    )


def review(task: Task, branch: str, tip: str, target: str) -> str:
    """What a reviewer is asked."""
    return "\n".join(
        [
            task.review.strip() or f"Review the work on task {task.id}: {task.summary}",
            "",
            f"(It is the commit {tip[:12]} of {branch}. This folder is a copy of it; compare it with {target}.",
            "Change nothing: what you change here gets into nobody's work.",
            f"End with a line `{PASS}`, or with `{FAIL}` and a line `- …` for each problem.)",
        ]
    )


def verdict(said: str) -> tuple[str, ...]:
    """The issues that a reviewer has found; none if it passed. A reviewer without a verdict has not passed anything.

    Its last verdict counts, even in bold or with more text after it; only one that says nothing but PASS passes.
    """
    lines = [line.strip() for line in said.splitlines()]
    verdicts = [plain for line in lines if (plain := line.strip(_MARKS)).upper().startswith(_VERDICT)]
    if not verdicts:
        return ("the reviewer gave no verdict",)
    if verdicts[-1] == PASS:
        return ()
    listed = tuple(line.removeprefix("- ") for line in lines if line.startswith("- "))
    return listed or ("the reviewer refused it without saying why",)


def resolve(feature: str, task: Task, conflicts: Sequence[str], instructions: str = "") -> str:
    """What an agent is asked when a merge has conflicts, with the answer of a person who was asked before."""
    return "\n".join(
        [
            f"The work on task {task.id} ({task.summary}) conflicts with what is merged into the feature {feature}.",
            "The merge is under way in this folder. Resolve the conflicts in these files, so that both sides keep",
            "their meaning, and `git add` each of them. Do not commit, do not abort the merge:",
            *_listed(conflicts),
            *_told(instructions),
        ]
    )


def _listed(items: Sequence[str]) -> list[str]:
    return [f"- {_one_line(item)}" for item in items]


def _told(instructions: str) -> list[str]:
    return ["", "A person has added:", instructions.strip()] if instructions else []


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
