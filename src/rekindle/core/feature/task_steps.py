"""The life of one task, read backwards from its end: what it needs next, given the current state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rekindle.core.feature import effects as e
from rekindle.core.feature import prompts
from rekindle.core.feature.conversing import converse, wait
from rekindle.core.feature.evidence import TalkState, WorkBranch, WorkTree
from rekindle.core.feature.merge_steps import merge
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.quality import check
from rekindle.core.feature.situation import ROUNDS, Situation
from rekindle.core.feature.strays import Stray, unanswered
from rekindle.core.feature.talks import round_prompt
from rekindle.core.feature.task_outcome import has_passed, is_complete_by_word, is_contained, is_said_finished, merge_of
from rekindle.core.journal.run import COMPLETE, FAILED, SKIPPED

#: A task that needs nothing now: it is over (well, badly, or until a person does something), somebody works on it,
#: or it is ready to be merged and others come first.
Rests = Literal["settled", "failed", "stuck", "waiting", "ready"]
#: How often an agent's uncommitted work is committed in one round. After that, somebody else keeps writing there.
COMMITS = 4


@dataclass(frozen=True)
class Leave:
    """What a task of this wave may do just now."""

    wave: int
    may_start: bool
    may_merge: bool


def next_step(now: Situation, name: str, leave: Leave) -> e.Effect | Rests:
    """The next step of one task. The order of the questions is the order of its life, backwards."""
    known = now.progress[name]
    branch = now.git.branches.get(known.branch)
    if known.status == SKIPPED:
        return "settled"
    how = merge_of(name, known, now.git)
    if how in ("ours", "said", "nothing"):
        return _settle(now, name, known, unchanged=how == "nothing")
    if known.status == FAILED:
        return "failed"
    if name in now.memory.problems:
        return "stuck"
    if how == "gone" and name not in now.memory.restored and (tip := now.git.done[name].tip) is not None:
        why = f"our merge of task {name} is no longer in {now.target}: its commit {tip[:10]} is merged again"
        return e.Restore(name, known.branch, tip, why)
    if branch is None and how == "no" and known.qa is not None and now.git.fallen.get(name) == known.qa.commit:
        tip = now.git.fallen[name]
        why = f"{known.branch} is gone: it is made again at {tip[:10]}, which had passed its checks"
        return e.Restore(name, known.branch, tip, why)
    if is_complete_by_word(known, now.git):
        return "settled"  # somebody did it without a branch: there is nothing to merge
    if name in now.git.checking and name not in now.memory.checking and now.tree_of(name) is not None:
        return e.CloseChecks(name)
    if is_contained(name, known, now.git) and name not in now.memory.noticed:
        return e.Notice(name, _by_another_hand(now, name))
    return _work(now, name, leave)


def _settle(now: Situation, name: str, known: TaskProgress, *, unchanged: bool) -> e.Effect | Rests:
    gone = known.branch not in now.git.branches and now.tree_of(name) is None and name not in now.git.copies
    if name in now.memory.settled or (gone and known.status == COMPLETE and (known.merged or unchanged)):
        return "settled"
    return "stuck" if name in now.memory.problems else e.Settle(name, known.branch, unchanged)


def _by_another_hand(now: Situation, name: str) -> str:
    known, target = now.progress[name], now.target
    tip = now.git.branches[known.branch].tip[:10]
    if has_passed(known, now.git):
        return f"task {name} ({tip}) passed its checks and was brought into {target} by somebody other than rekindle"
    return (
        f"work on task {name} ({tip}) was brought into {target} by somebody else, before it was checked: "
        "its agent continues, and the work is checked after the fact"
    )


def _work(now: Situation, name: str, leave: Leave) -> e.Effect | Rests:
    known = now.progress[name]
    work = now.talk_with(name, "work", round_prompt(1, known.told))
    round_ = _round(known, work)
    rounds = ROUNDS[now.mode]
    if round_ - known.rounds_before > rounds:
        return e.Fail(name, f"quality assurance failed {rounds} rounds: {_issues(known)}{_inside(now, name)}", rounds)
    work = now.talk_with(name, "work", round_prompt(round_, known.told))
    branch, tree = now.git.branches.get(known.branch), now.tree_of(name)
    is_over = (work.phase == "done" and not work.up) or (work.phase == "absent" and not known.told)
    has_work = branch is not None and branch.commits > 0
    if branch is not None and branch.unrelated and is_over:
        return e.Block(name, _unrelated(now, branch), is_blocker=True)
    has_passed_whole = has_passed(known, now.git) and not _astray(now, name)
    if branch is not None and tree is None and has_work and is_over and has_passed_whole:
        return merge(now, name, branch, may_merge=leave.may_merge, may_start=leave.may_start)
    if (branch is None or tree is None) and work.up and work.phase in ("working", "asking"):
        return wait(now, name, work)  # while it works, what it does with its own worktree is its business
    if name in now.git.away and (step := _elsewhere(now, name, work, round_, leave)) is not None:
        return step
    if tree is None and work.phase == "done" and name in now.git.removed and work.session not in now.kept:
        return e.Rest(name, work.session) if work.up else e.Block(name, _unseen(now, name), is_blocker=True)
    if branch is None or tree is None:
        wave = f"{now.root}-{leave.wave}" if known.epoch == now.root else ""
        return e.Prepare(name, known.branch, work.session, wave) if leave.may_start else "waiting"
    if not (work.phase == "absent" and is_over and has_work and is_said_finished(known)):
        step = converse(now, name, work, _say(now, name, branch, tree, work, round_), may_start=leave.may_start)
        if step is not None:
            return step
    return _judge(now, name, branch, tree, round_, leave)


def _unrelated(now: Situation, branch: WorkBranch) -> str:
    return (
        f"{branch.name} has no commit in common with {now.target} and cannot be merged: somebody deleted it while its "
        "agent worked, or the agent began a history of its own"
    )


def _unseen(now: Situation, name: str) -> str:
    """Its agent has finished, and nobody has seen all that it did: what is on the branch may not be everything."""
    known = now.progress[name]
    branch = now.git.branches.get(known.branch)
    number = branch.commits if branch is not None else 0
    has = f"{known.branch} has {number} commit{'' if number == 1 else 's'}" if branch else f"{known.branch} is gone too"
    return (
        f"somebody removed its worktree {now.git.homes.get(name, '')} before its agent had finished: {has}, "
        "and what else the agent did there is in no commit and in no snapshot"
    )


def _astray(now: Situation, name: str) -> tuple[Stray, ...]:
    """Work of a task that is not on its branch, and that nobody has decided about."""
    return unanswered(now.git.strays.get(name, ()), now.progress[name].answered)


def _elsewhere(now: Situation, name: str, work: TalkState, round_: int, leave: Leave) -> e.Effect | Rests | None:
    """Its worktree has something else checked out: its agent continues there, and a person is asked about that."""
    if work.phase != "absent":
        step = converse(now, name, work, _say(now, name, None, None, work, round_), may_start=leave.may_start)
        if step is not None:
            return step
    astray = _astray(now, name)
    return e.AskStrays(name, now.progress[name].branch, astray) if astray else None


def _judge(
    now: Situation, name: str, branch: WorkBranch, tree: WorkTree, round_: int, leave: Leave
) -> e.Effect | Rests:
    """The agent has finished: what it left is committed, checked, reviewed, and merged."""
    if tree.conflicts:
        found = f"there are unresolved conflicts in its worktree: {', '.join(tree.conflicts)}"
        return e.Judge(name, round_, branch.tip, (found,))
    if tree.uncommitted and name not in now.git.checking:
        before = now.memory.committed.get((name, round_), ())
        if branch.tip not in before and len(before) >= COMMITS:
            return e.Block(name, f"somebody keeps writing to {tree.path} although its agent has finished")
        if branch.tip not in before:
            return e.Commit(name, branch.name, round_, branch.tip)
    if astray := _astray(now, name):
        return e.AskStrays(name, branch.name, astray)
    if not branch.commits and (tree.withheld or (tree.uncommitted and name not in now.git.checking)):
        return e.Judge(name, round_, branch.tip, ("its branch is empty: its changes could not be committed",))
    if has_passed(now.progress[name], now.git):
        if not branch.commits:
            return e.Settle(name, branch.name, unchanged=True)
        return merge(now, name, branch, may_merge=leave.may_merge, may_start=leave.may_start)
    return check(now, name, branch, round_, may_start=leave.may_start)


def _round(known: TaskProgress, work: TalkState) -> int:
    """The round that a task is in, by the journal or by what its agent was asked, whichever is further."""
    said = 0
    if known.qa is not None:
        said = (known.qa.round or 1) + (known.qa.result == "failed")
    return max(said, work.rounds, known.rounds_before + 1)


def _issues(known: TaskProgress) -> str:
    issues = known.qa.issues if known.qa is not None else []
    return "; ".join(str(issue) for issue in issues) or "no issues were given"


def _inside(now: Situation, name: str) -> str:
    """What to add if work that did not pass is in the feature's branch anyway."""
    if not is_contained(name, now.progress[name], now.git):
        return ""
    return f" (this work is in {now.target} already, by somebody else)"


def _say(
    now: Situation, name: str, branch: WorkBranch | None, tree: WorkTree | None, work: TalkState, round_: int
) -> e.Assign:
    known, task = now.progress[name], now.plan.task(name)
    issues = [str(one) for one in known.qa.issues] if known.qa is not None and known.qa.result == "failed" else []
    begins = work.phase in ("absent", "unsaid")
    number = 0 if begins else work.tries + 1
    if not begins:
        text = prompts.retry(now.feature, task, known.branch, work.message, fresh=work.fresh)
    elif issues or known.told:
        fresh = work.phase == "absent" or work.fresh
        text = prompts.again(now.feature, task, known.branch, issues, known.instructions, fresh=fresh)
    else:
        text = prompts.work(now.feature, task, known.branch, known.instructions)
    if work.phase == "absent" and branch and tree and (branch.commits or tree.uncommitted):
        text = "\n".join((text, prompts.holds(branch.commits, branch.subjects, uncommitted=tree.uncommitted)))
    asked = round_prompt(round_, known.told, number)
    return e.Assign(name, work.session, "work", task.agent, asked, text, round_, first=begins)
