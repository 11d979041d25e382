"""The merge of a task whose work has passed: in the order of the plan, and with an agent's help if it conflicts."""

from __future__ import annotations

from typing import Literal

from rekindle.core.feature import effects as e
from rekindle.core.feature import prompts
from rekindle.core.feature.conversing import converse
from rekindle.core.feature.evidence import WorkBranch
from rekindle.core.feature.situation import Situation
from rekindle.core.feature.talks import further_try, merge_prompt

#: How many files a sentence names.
_NAMED = 5


def left_out(merge_: e.Merge, target: str, files: tuple[str, ...]) -> str:
    """What a person is told about work that is in the history of the feature's branch, but not in its files."""
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return (
        f"{merge_.tip[:10]} of {merge_.branch} is in the history of {target}, but its changes in "
        f"{', '.join(files[:_NAMED])}{more} are not there: somebody merged without it, or took it out of the merge"
    )


def merge(
    now: Situation, name: str, branch: WorkBranch, *, may_merge: bool, may_start: bool
) -> e.Effect | Literal["ready", "waiting"]:
    """The next step towards the merge of this commit."""
    known, task = now.progress[name], now.plan.task(name)
    if not may_merge:
        return "ready"
    merging = e.Merge(name, branch.name, branch.tip, known.epoch)
    under_way = now.git.merging
    conflicts = under_way.conflicts if under_way is not None and under_way.branch_tip == branch.tip else ()
    prompt = merge_prompt(branch.tip, known.told)
    helper = now.talk_with(name, "merge", prompt)
    if not conflicts and helper.phase in ("absent", "unsaid", "failed", "stopped"):
        return merging
    again = further_try(prompt, helper.tries + 1) if helper.phase == "failed" else prompt
    text = prompts.resolve(now.feature, task, conflicts, known.instructions)
    say = e.Assign(name, helper.session, "merge", task.agent, again, text, 0)
    step = converse(now, name, helper, say, may_start=may_start)
    if step is not None and not isinstance(step, e.Fail):
        return step  # files without conflicts are not a result yet while it works on them
    if not conflicts:
        return merging
    files, where = ", ".join(conflicts), under_way.path if under_way is not None else ""
    remedy = f"; resolve them in {where} and resume, or resume and choose what to do" if where else ""
    return e.Block(name, f"its merge has conflicts that no agent could resolve: {files}{remedy}", is_blocker=True)
