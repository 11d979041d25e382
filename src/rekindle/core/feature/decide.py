"""What is due in a feature's run: a pure function of journal, git and sessions, level-triggered.

It never asks what happened last, only how things stand, so that beginning, going on and resuming are the same call.
Waves go one after another, the tasks of a wave side by side; they are merged in the order of the plan, so that the
history does not depend on who was faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from rekindle.core.feature import effects as e
from rekindle.core.feature import prompts
from rekindle.core.feature.evidence import GitEvidence, Memory, Talk, WorkBranch, WorkTree
from rekindle.core.feature.naming import feature_branch, session_id
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.plan_file import Mode
from rekindle.core.feature.progress import Progress, has_passed, is_merged
from rekindle.core.feature.talks import prompt_id, talk
from rekindle.core.journal.run import COMPLETE, FAILED, SKIPPED
from rekindle.core.reconcile import tasks as table
from rekindle.core.session.state import Session

#: Rounds of quality assurance before a task has failed.
ROUNDS: dict[Mode, int] = {"strict": 3, "standard": 2, "fast": 1}
#: So often an agent is brought back in one run of the feature, and so often a failed turn is tried again.
REVIVALS = 3
TRIES = 2

#: A task that asks for nothing now: it is over (well, badly, or until a person does something), somebody works on it,
#: or it is ready to be merged and others come first.
Rests = Literal["settled", "failed", "stuck", "waiting", "ready"]


@dataclass(frozen=True)
class Situation:
    """Everything that the decision looks at. `marked` is the last wave with a checkpoint, None without any."""

    repository: str
    feature: str
    plan: Plan
    progress: Mapping[str, Progress]
    git: GitEvidence
    sessions: Mapping[str, Session]
    memory: Memory
    mode: Mode = "standard"
    jobs: int = 4
    marked: int | None = None
    shared_tree: bool = False
    now: float = 0.0

    def session_of(self, task: str, role: str) -> str:
        """The id of a task's session."""
        return session_id(self.repository, self.feature, self.progress[task].epoch, task, role)

    def sessions_of(self, task: str) -> list[str]:
        """All sessions that there are for a task."""
        last = self.progress[task].rounds_before + max(ROUNDS.values())
        roles = ("work", "merge", *(f"review-{number}" for number in range(1, last + 1)))
        return [name for role in roles if (name := self.session_of(task, role)) in self.sessions]

    def tree_of(self, task: str) -> WorkTree | None:
        """The worktree that has the task's branch checked out."""
        branch, home = self.progress[task].branch, self.git.homes.get(task)
        found = (tree for tree in self.git.trees.values() if tree.branch == branch and home in (None, tree.path))
        return next(found, None)

    def talk_with(self, task: str, role: str, prompt: str) -> Talk:
        """How a task's session stands."""
        name = self.session_of(task, role)
        return talk(name, self.sessions.get(name), prompt)


def due(now: Situation, busy: frozenset[str] = frozenset()) -> list[e.Effect]:
    """The effects that are due; at most one per task, none for those in `busy` (an effect of them is under way)."""
    if "" in busy:
        return []
    if now.git.tip is None:
        return [] if busy else [e.MakeFeature()]
    if now.marked is None:
        return [e.MarkWave(0)]
    for number, wave in enumerate(now.plan.waves, start=1):
        steps = dict(_wave(now, wave, busy))
        wanted = [step for step in steps.values() if not isinstance(step, str)]
        rests = set(steps.values()) - set(wanted)
        if wanted:
            return wanted
        if busy or rests & {"waiting", "ready"}:
            return []
        if rests - {"settled"}:
            return [e.Finish("error", _reasons(now, steps))]
        if number > now.marked:
            return [_close_wave(now, number)]
    return [e.Finish("completed")]


def _close_wave(now: Situation, number: int) -> e.Effect:
    tip = now.git.tip or ""
    commands = wave_commands(now.plan, now.mode)
    found = now.memory.waves.get((number, tip)) if commands else ()
    if found is None:
        return e.CheckWave(number, tip, commands)
    if found:
        return e.Finish("error", f"wave {number} does not pass: {found[0]}")
    return e.MarkWave(number)


def wave_commands(plan: Plan, mode: Mode) -> tuple[str, ...]:
    """What is run on the whole tree behind each wave."""
    return {"strict": (*plan.lint, *plan.checks), "standard": plan.lint, "fast": ()}[mode]


def _reasons(now: Situation, steps: Mapping[str, object]) -> str:
    failed = [name for name, step in steps.items() if step == "failed"]
    told = [f"task {name} failed" for name in failed]
    told += [f"task {name}: {now.memory.problems[name]}" for name, step in steps.items() if step == "stuck"]
    return "; ".join(told)


def _wave(now: Situation, wave: tuple[str, ...], busy: frozenset[str]) -> Iterator[tuple[str, e.Effect | Rests]]:
    at_work = len(busy)
    may_merge = True
    for name in wave:
        if name in busy:
            may_merge = False
            yield name, "waiting"
            continue
        step = _task(
            now, name, may_start=at_work < now.jobs and (may_merge or not now.shared_tree), may_merge=may_merge
        )
        yield name, step
        if step not in ("settled", "failed", "stuck"):
            may_merge = False
            at_work += step != "ready" and not isinstance(step, e.Merge | e.Settle)


def _task(now: Situation, name: str, *, may_start: bool, may_merge: bool) -> e.Effect | Rests:
    """The next step of one task. The order of the questions is the order of its life, read from the end."""
    known = now.progress[name]
    branch = now.git.branches.get(known.branch)
    if known.status == SKIPPED:
        return "settled"
    if is_merged(name, known, now.git):
        cleared = branch is None and now.tree_of(name) is None and known.status == COMPLETE and known.merged
        if cleared or name in now.memory.settled:
            return "settled"
        return "stuck" if name in now.memory.problems else e.Settle(name, known.branch)
    if known.status == FAILED:
        return "failed"
    if name in now.memory.problems:
        return "stuck"
    if known.status == COMPLETE and branch is None and not known.has_branch:
        return "settled"  # somebody did it without a branch: there is nothing to merge
    work = now.talk_with(name, "work", prompt_id(1, known.told))
    round_ = _round(known, work)
    rounds = ROUNDS[now.mode]
    if round_ - known.rounds_before > rounds:
        return e.Fail(name, f"quality assurance failed {rounds} rounds: {_issues(known)}", rounds)
    tree = now.tree_of(name)
    work = now.talk_with(name, "work", prompt_id(round_, known.told))
    if (branch is None or tree is None) and work.up and work.phase in ("working", "asking"):
        return _wait(now, name, work)  # what it does with its own worktree is its business while it works
    if branch is None or tree is None:
        return e.Prepare(name, known.branch, work.session) if may_start else "waiting"
    worked = work.phase == "absent" and branch.commits > 0 and not known.told and round_ == 1
    if not worked:
        step = _converse(now, name, work, _say_work(now, name, branch, work, round_), may_start=may_start)
        if step is not None:
            return step
    if tree.conflicts:
        found = f"there are unresolved conflicts in its worktree: {', '.join(tree.conflicts)}"
        return e.Judge(name, round_, branch.tip, (found,))
    if tree.uncommitted and (name, branch.tip) not in now.memory.committed:
        return e.Commit(name, known.branch, round_, branch.tip)
    quality: table.Quality = "passed" if has_passed(name, known, now.git) else "none"
    match table.step(table.Task(False, True, branch.commits > 0, quality)):
        case "merge":
            return _merge(now, name, branch, may_merge=may_merge, may_start=may_start)
        case "start":
            return e.Judge(name, round_, branch.tip, ("nothing was changed on its branch",))
        case _:
            return _check(now, name, branch, round_, may_start=may_start)


def _round(known: Progress, work: Talk) -> int:
    """The round that a task is in, by the journal or by what was put to its agent, whichever knows more."""
    said = 0
    if known.qa is not None:
        said = (known.qa.round or 1) + (known.qa.result == "failed")
    return max(said, work.rounds, known.rounds_before + 1)


def _issues(known: Progress) -> str:
    issues = known.qa.issues if known.qa is not None else []
    return "; ".join(str(issue) for issue in issues) or "no issues were given"


def _say_work(now: Situation, name: str, branch: WorkBranch, work: Talk, round_: int) -> e.Say:
    known, task = now.progress[name], now.plan.task(name)
    issues = [str(one) for one in known.qa.issues] if known.qa is not None and known.qa.result == "failed" else []
    begins = work.phase in ("absent", "unsaid")
    number = 0 if begins else work.tries + 1
    if not begins:
        text = prompts.retry(now.feature, task, branch.name, work.message, fresh=work.fresh)
    elif issues or known.told:
        text = prompts.again(
            now.feature, task, branch.name, issues, known.instructions, fresh=work.phase == "absent" or work.fresh
        )
    else:
        text = prompts.work(now.feature, task, branch.name, known.instructions)
    asked = prompt_id(round_, known.told, number)
    return e.Say(name, work.session, "work", task.agent, asked, text, round_, first=begins)


def _converse(now: Situation, name: str, with_: Talk, say: e.Say, *, may_start: bool) -> e.Effect | Rests | None:
    """What a conversation needs; None when it has come to its end and the agent's process is gone."""
    match with_.phase:
        case "absent" | "unsaid":
            return say if may_start else "waiting"
        case "working" | "asking":
            return _wait(now, name, with_)
        case "cut":
            if now.memory.revived.get(with_.session, 0) >= REVIVALS:
                return e.Fail(name, with_.message or "its agent died again and again", REVIVALS)
            return e.Revive(name, with_.session)
        case "failed":
            if with_.tries >= TRIES:
                return e.Fail(name, with_.message or "its agent's turns failed", with_.tries + 1)
            if with_.retry_at is not None and with_.retry_at > now.now:
                return e.Wait(name, with_.retry_at)
            return say
        case "stopped":
            return e.Block(name, f"somebody stopped its session {with_.session}: {STOPPED_HINT}")
        case "done":
            return e.Rest(name, with_.session) if with_.up else None


def _wait(now: Situation, name: str, with_: Talk) -> e.Effect | Rests:
    if with_.phase == "asking" and (with_.session, with_.question) not in now.memory.asked:
        return e.Report(name, with_.session, with_.question)
    return "waiting"


STOPPED_HINT = "bring that back with `rekindle resume`, then resume the feature"


def _check(now: Situation, name: str, branch: WorkBranch, round_: int, *, may_start: bool) -> e.Effect | Rests:
    task = now.plan.task(name)
    commands = task.checks if now.mode != "fast" else ()
    found = now.memory.checks.get((name, round_, branch.tip)) if commands else ()
    if found is None:
        return e.RunChecks(name, round_, branch.tip, commands)
    if found or not task.reviewer:
        return e.Judge(name, round_, branch.tip, found)
    review = now.talk_with(name, f"review-{round_}", prompt_id(round_))
    text = prompts.review(task, branch.name, now.git.target or feature_branch(now.feature))
    asked = prompt_id(round_, attempt=0 if review.phase in ("absent", "unsaid") else review.tries + 1)
    say = e.Say(name, review.session, "review", task.reviewer, asked, text, round_)
    step = _converse(now, name, review, say, may_start=may_start)
    if step is not None:
        return step
    verdict = now.memory.verdicts.get((name, round_))
    if verdict is None:
        return e.ReadVerdict(name, review.session, round_)
    return e.Judge(name, round_, branch.tip, verdict)


def _merge(now: Situation, name: str, branch: WorkBranch, *, may_merge: bool, may_start: bool) -> e.Effect | Rests:
    known, task = now.progress[name], now.plan.task(name)
    if not may_merge:
        return "ready"
    merge = e.Merge(name, branch.name, branch.tip, known.epoch)
    under_way = now.git.merging
    conflicts = under_way.conflicts if under_way is not None and under_way.branch_tip == branch.tip else ()
    prompt = f"merge-{branch.tip[:12]}"
    helper = now.talk_with(name, "merge", prompt)
    if not conflicts and helper.phase in ("absent", "unsaid", "failed", "stopped"):
        return merge
    again = f"{prompt}~{helper.tries + 1}" if helper.phase == "failed" else prompt
    text = prompts.resolve(now.feature, task, conflicts)
    say = e.Say(name, helper.session, "merge", task.agent, again, text, 0)
    step = _converse(now, name, helper, say, may_start=may_start)
    if step is not None and not isinstance(step, e.Fail):
        return step  # files without conflicts are no result yet while it works on them
    if not conflicts:
        return merge
    files = ", ".join(conflicts)
    return e.Block(name, f"its merge conflicts, and no agent could resolve it: {files}", is_blocker=True)
