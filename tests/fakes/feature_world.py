"""A feature's world in memory: journal, git and agents, for the pure decision to be played against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from rekindle.core.feature import effects as e
from rekindle.core.feature.decide import due
from rekindle.core.feature.evidence import Done, GitEvidence, Merging, RunMemory, WorkBranch, WorkTree
from rekindle.core.feature.modes import Mode
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.progress import TaskProgress, progress
from rekindle.core.feature.situation import Situation
from rekindle.core.journal.run import COMPLETE, FAILED, IN_PROGRESS, Qa
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from tests.sessions import told


@dataclass
class World:
    """Plays effects. `turn` says how a turn of an agent ends; `issues` what a check finds, by task and round."""

    plan: Plan
    mode: Mode = "standard"
    jobs: int = 2
    turn: Callable[[str], str] = lambda _prompt: "done"
    issues: Callable[[str, int], tuple[str, ...]] = lambda _task, _round: ()
    conflicts: frozenset[str] = frozenset()
    #: tasks whose agents find nothing to change
    idle: frozenset[str] = frozenset()
    git: GitEvidence = field(default_factory=GitEvidence)
    sessions: dict[str, Session] = field(default_factory=dict)
    memory: RunMemory = field(default_factory=RunMemory)
    marked: int | None = None
    merges: list[str] = field(default_factory=list)
    merged_tips: dict[str, tuple[str, str]] = field(default_factory=dict)
    said: list[tuple[str, str]] = field(default_factory=list)
    most_at_work: int = 0
    #: sessions of which a snapshot shows the end
    kept: frozenset[str] = frozenset()
    known: dict[str, TaskProgress] = field(init=False)

    def __post_init__(self) -> None:
        self.known = progress("shop", self.plan, [])

    def situation(self) -> Situation:
        return Situation(
            "/repo",
            "shop",
            self.plan,
            self.known,
            self.git,
            self.sessions,
            self.memory,
            self.mode,
            self.jobs,
            self.marked,
            kept=self.kept,
        )

    def due(self) -> list[e.Effect]:
        return due(self.situation())

    def kill(self) -> None:
        """Everything dies: what a run only remembers is gone, and every agent with it."""
        self.memory = RunMemory()
        for name, session in self.sessions.items():
            if session.is_up:
                self._facts(name, f.Exited(at=0, attempt=len(session.attempts), how_ended="killed", by_us=False))

    def work(self, branch: str) -> None:
        """Somebody changes a file in the worktree of a branch, and commits nothing."""
        tree = next(tree for tree in self.git.trees.values() if tree.branch == branch)
        self._git(trees={**self.git.trees, tree.path: replace(tree, uncommitted=True)})

    def take_out(self, task: str) -> None:
        """Somebody takes our merge of a task out of the feature's branch."""
        gone = replace(self.git.done[task], present=False, tip=self.merged_tips[task][1])
        self._git(done={**self.git.done, task: gone})

    def agents(self) -> None:
        """Every agent that is in a turn ends it; every one that is wanted comes up."""
        at_work = 0
        for name, session in list(self.sessions.items()):
            if session.resume_asked is not None or (session.queued and not session.is_up):
                self._come_up(name)
            turn = self.sessions[name].turn or next(iter(self.sessions[name].queued), None)
            if turn is None or not self.sessions[name].is_up:
                continue
            at_work += 1
            attempt = len(self.sessions[name].attempts)
            if turn.state == "queued":
                self._facts(name, f.PromptSent(at=0, attempt=attempt, prompt=turn.id, message=1, text=turn.text))
            how = self.turn(turn.id)
            if how == "done":
                self._finished(name, turn.id)
            elif how == "failed":
                failed = f.TurnFailed(at=0, attempt=attempt, prompt=turn.id, error="other", message="boom")
                self._facts(name, failed)
            elif how == "died":
                self._facts(name, f.Exited(at=0, attempt=attempt, how_ended="died", by_us=False))
        self.most_at_work = max(self.most_at_work, at_work)

    def _finished(self, name: str, prompt: str) -> None:
        session = self.sessions[name]
        end = f.TurnFinished(at=0, attempt=len(session.attempts), prompt=prompt, stop_reason="end_turn")
        self._facts(name, end)
        if session.title == "work" and session.task not in self.idle:
            self.work(self.known[session.task or ""].branch)
        if session.title == "merge" and self.git.merging is not None:
            self._git(merging=replace(self.git.merging, conflicts=()))

    def perform(self, effect: e.Effect) -> None:
        known = self.known.get(effect.task)
        match effect:
            case e.MakeFeature():
                self._git(tip="0")
            case e.MarkWave(wave=wave):
                self.marked = wave
            case e.CloseChecks(task=task):
                self._git(checking=self.git.checking - {task})
            case e.Restore(task=task, branch=branch, tip=tip):
                self.memory.restored.add(task)
                self._git(branches={**self.git.branches, branch: WorkBranch(branch, tip, 1)})
            case e.Notice(task=task):
                self.memory.noticed.add(task)
            case e.Prepare(branch=branch):
                found = self.git.branches.get(branch) or WorkBranch(branch, "0", merged=True)
                tree = self.git.trees.get(f"/{branch}") or WorkTree(f"/{branch}", branch)
                self._git(branches={**self.git.branches, branch: found})
                self._git(trees={**self.git.trees, tree.path: tree}, removed=self.git.removed - {effect.task})
                assert known is not None
                known.has_branch = True
            case e.Assign():
                self._say(effect)
                assert known is not None
                known.status = IN_PROGRESS if effect.role == "work" else known.status
            case e.Revive(session=session):
                self.memory.revived[session] = self.memory.revived.get(session, 0) + 1
                self._facts(session, f.ResumeAsked(at=0, by="the feature"))
            case e.Rest(session=session):
                self._facts(session, f.StopAsked(at=0, by="the feature", to="asleep"))
                attempt = len(self.sessions[session].attempts)
                self._facts(session, f.Exited(at=0, attempt=attempt, how_ended="asked", by_us=True))
            case e.Commit(branch=branch) if self.git.trees[f"/{branch}"].uncommitted:
                old = self.git.branches[branch]
                made = replace(old, tip=f"{branch}@{old.commits + 1}", commits=old.commits + 1, merged=False)
                tree = self.git.trees[f"/{branch}"]
                self._git(branches={**self.git.branches, branch: made})
                self._git(trees={**self.git.trees, tree.path: replace(tree, uncommitted=False)})
            case e.RunChecks(task=task, round=round_, tip=tip):
                self.memory.checks[task, round_, tip] = self.issues(task, round_)
            case e.MakeCopy(task=task, tip=tip):
                self._git(copies={**self.git.copies, task: tip})
            case e.ReadVerdict(task=task, round=round_, tip=tip):
                self.memory.verdicts[task, round_, tip] = self.issues(task, round_)
                self._git(copies={name: one for name, one in self.git.copies.items() if name != task})
            case e.Judge(task=task, round=round_, tip=tip, issues=issues):
                assert known is not None
                known.qa = Qa("failed" if issues else "passed", round_, list(issues), tip)
            case e.Merge(task=task, branch=branch, tip=tip, epoch=epoch):
                if self.merged_tips.get(task) == (epoch, tip) and self.git.done[task].present:
                    return
                under_way = self.git.merging
                is_known = under_way is not None and under_way.branch_tip == tip
                if task in self.conflicts and not is_known:
                    self._git(merging=Merging(tip, ("a.txt",)))
                if self.git.merging is not None and self.git.merging.branch_tip == tip and self.git.merging.conflicts:
                    return
                self.merges.append(task)
                self.merged_tips[task] = (epoch, tip)
                self._git(merging=None, tip=tip, done={**self.git.done, task: Done(f"merge of {tip}", epoch)})
                self._git(branches={**self.git.branches, branch: replace(self.git.branches[branch], merged=True)})
            case e.Settle(task=task, branch=branch, unchanged=unchanged):
                assert known is not None
                known.status, known.merged, known.unchanged = COMPLETE, not unchanged, unchanged
                self._git(branches={name: one for name, one in self.git.branches.items() if name != branch})
                self._git(trees={path: one for path, one in self.git.trees.items() if one.branch != branch})
            case e.Fail():
                assert known is not None
                known.status = FAILED
            case e.Block(task=task, problem=problem):
                self.memory.problems[task] = problem
            case e.AskStrays(task=task):
                self.memory.problems[task] = "it asks about strays"
            case e.Report(session=session, question=question):
                self.memory.asked.add((session, question))
            case e.CheckWave(wave=wave, tip=tip):
                self.memory.waves[wave, tip] = self.issues("", wave)
            case e.Commit() | e.WaitUntil() | e.Finish():
                pass

    def _say(self, effect: e.Assign) -> None:
        if effect.session not in self.sessions:
            made = f.Created(
                at=0, session=effect.session, agent="scripted", cwd="/", title=effect.role, task=effect.task
            )
            self.sessions[effect.session] = told(None, made)
        assert not any(one.id == effect.prompt for one in self.sessions[effect.session].prompts), "said twice"
        self.said.append((effect.session, effect.prompt))
        self._facts(effect.session, f.PromptQueued(at=0, prompt=effect.prompt, text=effect.text))

    def _come_up(self, name: str) -> None:
        number = len(self.sessions[name].attempts) + 1
        self._facts(
            name,
            f.LaunchIntended(at=0, attempt=number, generation=number, how="load" if number > 1 else "new"),
            f.Launched(at=0, attempt=number, folder="", pid=1),
        )
        known = [prompt.text for prompt in self.sessions[name].prompts]
        self._facts(name, f.Opened(at=0, attempt=number, how="load" if number > 1 else "new", token="t", known=known))

    def _facts(self, name: str, *facts: f.AnyFact) -> None:
        for fact in facts:
            self.sessions[name] = told(self.sessions[name], fact)

    def _git(self, **changes: object) -> None:
        self.git = replace(self.git, **changes)
