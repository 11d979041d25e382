"""What is wrong with a readable journal: lines that the analysis does not use, or that contradict one another.

The lines are arranged as in the analysis (fold.py), so that whatever it skips is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import Decoded
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import Arrangement, JournalState, fold_arranged
from rekindle.core.journal.lineage import Lineages, lineages, overlay
from rekindle.core.journal.run import COMPLETE
from rekindle.core.journal.run_events import has_a_say


@dataclass(frozen=True, order=True)
class Problem:
    """A broken rule: the line that breaks it, the rule's name, and a sentence about it."""

    line: int
    rule: str
    problem: str


def problems(decoded: Iterable[Decoded]) -> list[Problem]:
    """Everything that is wrong with a journal's readable lines, in the order of the lines."""
    state, arranged = fold_arranged(decoded)
    links = lineages(state)
    return sorted(
        [
            *_doubles(arranged),
            *_gaps(arranged),
            *_homeless(arranged),
            *_beyond_the_ends(arranged),
            *_beginnings(arranged),
            *_left_open(state, arranged, links),
        ]
    )


def _doubles(arranged: Arrangement) -> Iterator[Problem]:
    for line, by in arranged.overridden.items():
        yield Problem(line, "double", f"line {by} has the same sid and seq, and is used instead")


def _gaps(arranged: Arrangement) -> Iterator[Problem]:
    for sid, members in arranged.members.items():
        last = -1
        for line, event in members:
            if event.seq is None:
                continue
            if event.seq > last + 1:
                missing = f"{last + 1}" if event.seq == last + 2 else f"{last + 1} to {event.seq - 1}"
                yield Problem(line, "gap", f"run {sid} has no seq {missing} before it")
            last = event.seq


def _homeless(arranged: Arrangement) -> Iterator[Problem]:
    """Events that would count elsewhere, but do not where they are. Merely descriptive ones may be anywhere."""
    for line, event in arranged.homeless:
        if has_a_say(event.type):
            yield Problem(line, "no_run", f"{event.type} has no sid, and no run is open here: it is not used")
    for sid, is_run in arranged.is_run.items():
        for line, event in arranged.members[sid] if not is_run else ():
            if has_a_say(event.type):
                yield Problem(line, "unknown_run", f"{event.type} is of run {sid}, which never began: it is not used")


def _beyond_the_ends(arranged: Arrangement) -> Iterator[Problem]:
    for sid, members in arranged.members.items():
        ended = 0
        for line, event in members:
            if ended:
                yield Problem(line, "after_end", f"{event.type} is of run {sid}, which ended at line {ended}")
            elif event.type == ev.SESSION_END and arranged.is_run[sid]:
                ended = line


def _beginnings(arranged: Arrangement) -> Iterator[Problem]:
    earlier: set[str] = set()
    for sid, is_run in arranged.is_run.items():
        if not is_run:
            continue
        starts = [(line, one) for line, one in arranged.members[sid] if one.type == ev.SESSION_START and one.sid]
        for line, start in starts[:1]:
            resumes = start.data.get("resumes") if start.data.get("command") == "resume" else None
            for word, other in (("resumes", resumes), ("restarts", start.data.get("restarts"))):
                if isinstance(other, str) and other not in earlier:
                    yield Problem(line, "unknown_run", f"run {sid} {word} run {other}, which is not in the journal")
        for line, _ in starts[1:]:
            yield Problem(line, "begun_twice", f"run {sid} begins again")
        earlier.add(sid)


def _left_open(state: JournalState, arranged: Arrangement, links: Lineages) -> Iterator[Problem]:
    """What the end of a run leaves open, including the earlier runs that it continues."""
    for run in state.runs:
        if not run.ended or run.sid in links.superseded:
            continue
        chain = links.of(run.sid)
        lines = [item for sid in chain for item in arranged.members[sid]]
        found = overlay([state.sids[sid] for sid in chain])
        for name in found.active_agents:
            line = _last(lines, ev.AGENT_SPAWNED, _names(name))
            yield Problem(line, "agent_active", f"agent {name} never completed, and run {run.sid} ended")
        for name, task in found.tasks.items() if run.end_reason == "completed" else ():
            branches = [branch.merged for branch in found.branches.values() if branch.task == name]
            if task.status == COMPLETE and branches and not any(branches) and task.files_changed != []:
                line = _last(lines, ev.TASK_COMPLETED, _is_about(name))
                yield Problem(line, "not_merged", f"task {name} is complete, and none of its branches was merged")


def _names(agent: str) -> Callable[[Event], bool]:
    return lambda event: event.data.get("name") == agent


def _is_about(task: str) -> Callable[[Event], bool]:
    return lambda event: ev.task_of(event.data) == task


def _last(lines: list[tuple[int, Event]], type_: str, fits: Callable[[Event], bool]) -> int:
    return max((line for line, event in lines if event.type == type_ and fits(event)), default=0)
