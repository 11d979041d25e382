"""What must hold for a feature after every step: its journal, its merges, and what is called complete.

`tests.simulate.worktrees` knows which files agents, checks and reviewers truly had before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rekindle.app.feature_resume import ExplainedFeature
from rekindle.core.feature.naming import done_ref, feature_branch
from rekindle.core.journal import event as ev
from rekindle.core.journal.event import Event
from rekindle.core.journal.run import COMPLETE, SKIPPED
from rekindle.ports.errors import NoOpenRun, OwnedError, RekindleError
from tests.fakes.git_repository import Commit
from tests.simulate.foretelling import Foretelling
from tests.simulate.house import OUTLOOK, Request
from tests.simulate.plans import FEATURE, PlannedTask, StoryPlan
from tests.simulate.simulation import Simulation
from tests.simulate.violation import demand
from tests.simulate.worktrees import Looked

#: So often the person resumes a feature in the end, and skips what keeps failing after some of them.
_RESUMES = 7
_SKIPS_AFTER = 2


class FeatureOracle:
    """Looks at the feature of one simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.worktrees = simulation.world.worktrees
        self._read = 0
        self._next: dict[str, int] = {}
        self._ended: set[str] = set()
        self._ids: set[str] = set()
        self._completed: set[tuple[str, str]] = set()
        self._epochs: dict[str, str] = {}
        self._failed: set[str] = set()
        self._mode = ""
        self._seen: set[str] = set()
        self._foretelling = Foretelling(self.worktrees)
        simulation.before_resume = self._resumed
        simulation.on_meddling = self._foretelling.forget

    def after_step(self) -> None:
        """Everything that must hold at any moment."""
        self._foretelling.after_step()
        log = self.worktrees.shelf.logs.get(FEATURE)
        if log is None or len(log.lines) == self._read:
            self._merges()
            return
        new, self._read = log.decoded()[self._read :], len(log.lines)
        for one in new:
            demand(isinstance(one, Event), f"the journal has a line that is no event: {one}")
            if isinstance(one, Event):
                self._event(one)
        state = self.simulation.reader().existing(FEATURE).proven()
        demand(not state.disowned, f"the journal has lines that rekindle disowns: {state.disowned}")
        demand(not state.malformed and not state.duplicates, "the journal does not fold whole")
        self._merges()

    # the journal

    def _event(self, event: Event) -> None:
        sid = event.sid or ""
        demand(sid not in self._ended, f"{event.type} was written to run {sid} after its end")
        due = self._next.get(sid, 0)
        demand(event.seq == due, f"{event.type} of run {sid} has the number {event.seq}, and {due} is due")
        self._next[sid] = due + 1
        if event.eid is not None:
            demand(event.eid not in self._ids, f"{event.type} was written twice: {event.eid}")
            self._ids.add(event.eid)
        match event.type:
            case ev.SESSION_START:
                self._mode = str(event.data.get("mode"))
                if event.data.get("command") == "implement" or event.data.get("restarts"):
                    self._epochs.clear()
                    self._failed.clear()
            case ev.SESSION_END:
                self._ended.add(sid)
            case ev.RESUME_DECIDED if event.data.get("choice") == "A":
                self._epochs.update(dict.fromkeys(map(str, event.data["tasks"]), sid))
            case ev.TASK_FAILED | ev.BLOCKER_REPORTED:
                self._failed.add(str(event.data.get("taskId") or event.data.get("task")))
            case ev.TASK_COMPLETED:
                self._called_complete(str(event.data["taskId"]), event.data)
            case _:
                pass

    # what is called complete

    def _called_complete(self, name: str, data: Mapping[str, Any]) -> None:
        plan, key = self.simulation.plan, (name, self._epochs.get(name, ""))
        task = next((one for one in plan.tasks if one.name == name), None) if plan is not None else None
        again = key in self._completed and not self.simulation.meddled
        demand(not again, f"task {name} was called complete twice")
        self._completed.add(key)
        merge = self._merge_of(name)
        if task is None or merge is None:
            return
        files = self.worktrees.repo.commits[merge.parents[1]].files
        own = {one: text for one, text in files.items() if one in (f"{name}.txt", "shared.txt")}
        ends = [one for one in self.worktrees.finished if one.who == name]
        demand(_any_has(ends, own), f"task {name} is complete, and its agent never finished a turn with {own}")
        self._was_checked(task, files)

    def _was_checked(self, task: PlannedTask, files: Mapping[str, str]) -> None:
        if task.check != "-" and self._mode != "fast":
            runs = [one for one in self.worktrees.checked if one.who == task.command and one.is_good]
            demand(_any_has(runs, files), f"task {task.name} is merged, and its check never passed with {dict(files)}")
        if task.review != "-":
            reviews = [one for one in self.worktrees.reviewed if one.who == task.name and one.is_good]
            demand(_any_has(reviews, files), f"task {task.name} is merged, and its reviewer never passed it")

    def _merge_of(self, task: str) -> Commit | None:
        found = self.worktrees.repo.refs.get(done_ref(FEATURE, task))
        return self.worktrees.repo.commits[found] if found is not None else None

    # merges

    def _merges(self) -> None:
        repo, plan = self.worktrees.repo, self.simulation.plan
        tip = repo.tip(feature_branch(FEATURE))
        if tip is None or plan is None or tip in self._seen:
            return
        self._seen.add(tip)
        merges = [one for one in repo.first_parents(tip) if one.task][::-1]
        made = [(one.task, one.epoch) for one in merges]
        twice = {one for one in made if made.count(one) > 1}
        demand(not twice, f"merged twice: {', '.join(sorted(task for task, _ in twice))}")
        self._in_order(plan, merges)

    def _in_order(self, plan: StoryPlan, merges: list[Commit]) -> None:
        """Tasks are merged in the order of the plan, but for those that failed or were put off for a person."""
        wave: dict[str, int] = {}
        for task in plan.tasks:
            wave[task.name] = wave.get(task.needs, 0) + 1 if task.needs else 1
        order = sorted(wave, key=lambda name: (wave[name], [one.name for one in plan.tasks].index(name)))
        for epoch in {one.epoch for one in merges}:
            found = [one.task for one in merges if one.epoch == epoch and one.task not in self._failed]
            due = [name for name in order if name in found]
            demand(found == due or self.simulation.meddled, f"merged in the order {found}, and {due} is the plan's")

    # what a person is told

    def explained(self) -> ExplainedFeature | RekindleError | None:
        """What `resume --explain` says; None: the feature is done."""
        try:
            return OUTLOOK.explain(self.simulation.reader(), FEATURE, "")
        except NoOpenRun:
            return None
        except RekindleError as error:
            return error

    def _resumed(self, choice: str, request: Request) -> None:
        told = self.explained()
        self._foretelling.resume(told if isinstance(told, ExplainedFeature) else None, choice, request)

    def finish(self) -> bool:
        """One look of the person who does what is said: whether there is more to do."""
        house = self.simulation.served
        if FEATURE not in self.worktrees.shelf.logs or not self.worktrees.shelf.logs[FEATURE].lines:
            return False
        if house is not None and house.features.is_busy:
            return True
        told = self.explained()
        if told is None:
            return False
        if isinstance(told, RekindleError):
            demand(isinstance(told, OwnedError) or bool(told.hint), f"a resume fails without a remedy: {told.message}")
            return False
        self.simulation.resumed += 1
        if self.simulation.resumed > _RESUMES:
            return False
        choice = "" if told.case == "A" else "B" if self.simulation.resumed > _SKIPS_AFTER else "A"
        if told.case == "C":
            choice = "A" if told.has_plan else "B"
        self.simulation.tell(f"  the feature asks (case {told.case}); the person types: rekindle resume {choice}")
        self.simulation.resume_plan(self.simulation.clients[0], choice, with_plan=not told.has_plan)
        return True

    def at_end(self) -> None:
        """Everything is done, or a question says why not."""
        log = self.worktrees.shelf.logs.get(FEATURE)
        if log is None or not log.lines:
            return
        told = self.explained()
        if told is not None:
            is_said = isinstance(told, RekindleError) or bool(told.issues or told.strays or told.locks)
            demand(is_said, f"the feature is not done in the end, and nothing says why: {told}")
            return
        state = self.simulation.reader().analysis(FEATURE)[0].state
        left = {name: one.status for name, one in state.tasks.items() if one.status not in (COMPLETE, SKIPPED)}
        demand(not left, f"the feature is completed, and tasks are not: {left}")


def _any_has(looks: Iterable[Looked], files: Mapping[str, str]) -> bool:
    """Whether somebody had all of these files before them; there may have been more that are in no commit."""
    return any(all(one.files.get(name) == text for name, text in files.items()) for one in looks)
