"""The question about work that is not on its task's branch: who is asked, what they answered, and what is done then."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rekindle.app.feature_resume import Answer, FoundFeature, session_of
from rekindle.core.feature.progress import INSTRUCT, SKIP, START_OVER
from rekindle.core.feature.stray_questions import listed, pending
from rekindle.core.feature.strays import LEAVE, TAKE, Stray, told, unanswered
from rekindle.core.journal import event as ev
from rekindle.ports.errors import QuestionError, UsageError


@dataclass(frozen=True)
class Answers:
    """The tasks whose strays are taken, and those whose strays are left."""

    take: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()


def refuse_unanswered(found: FoundFeature, chosen: Answer, answers: Answers) -> None:
    """Raises QuestionError if a person has to answer first, UsageError for an answer without a question."""
    moot = _moot(found, chosen)
    for name in (*answers.take, *answers.leave):
        if name not in found.progress:
            known = ", ".join(found.progress) or "none"
            raise UsageError(f"{found.feature} has no task {name!r}", f"its tasks are: {known}")
        if name in answers.take and name in answers.leave:
            raise UsageError(f"the work of task {name} cannot be both taken and left", "give one of --take and --leave")
        if name in moot:
            raise UsageError(f"task {name} starts over or is skipped", "leave out --take and --leave for it")
        if not _open(found, name):
            raise UsageError(
                f"task {name} has no work elsewhere: there is nothing to take or leave",
                f"see `rekindle resume {shlex.quote(found.feature)} --explain`",
            )
    asked = {
        name: strays
        for name, strays in pending(found.progress, found.strays, found.settled).items()
        if name not in (*answers.take, *answers.leave, *moot) and chosen != INSTRUCT
    }
    if asked:
        each = "; ".join(
            f"work of task {name} is not on its branch: {', '.join(map(told, some))}" for name, some in asked.items()
        )
        flags = " ".join(f"--take {shlex.quote(name)}" for name in asked)
        command = f"rekindle resume {shlex.quote(found.feature)}"
        raise QuestionError(
            f"{each}. Take it?",
            f"take it: {command} {flags}; leave it out: {command} {flags.replace('--take', '--leave')}",
            code="strays",
            details={"strays": listed(found.progress, found.strays, found.settled)},
        )


def _moot(found: FoundFeature, chosen: Answer) -> tuple[str, ...]:
    """Tasks that start over or are skipped: their stray work is only kept."""
    if chosen in ("restart A", "restart B"):
        return tuple(found.progress)
    return (*(found.outlook.affected if chosen in (START_OVER, SKIP) else ()), *found.outlook.lost)


def _open(found: FoundFeature, name: str) -> tuple[Stray, ...]:
    return unanswered(found.strays.get(name, ()), found.progress[name].answered)


@dataclass(frozen=True)
class Decided:
    """What happened to a task's strays."""

    task: str
    choice: str
    strays: tuple[Stray, ...]

    def event(self) -> dict[str, Any]:
        """The data of `resume.decided`."""
        commits = [one.commit for one in self.strays]
        return {"choice": self.choice, "issues": [], "tasks": [self.task], "commits": commits}

    def sentences(self) -> Iterator[str]:
        """The text for a person."""
        word = "taken over" if self.choice == TAKE else "left out, and kept under refs/rekindle/kept"
        for one in self.strays:
            yield f"task {self.task}: {told(one)} is {word}"


async def carry_out_answers(found: FoundFeature, answers: Answers) -> list[Decided]:
    """Take and leave, in git: what is recorded afterwards has been done. A conflict is raised."""
    done = []
    acts: Mapping[str, Callable[..., tuple[Stray, ...]]] = {TAKE: found.git.take_strays, LEAVE: found.git.leave_strays}
    for choice, names in ((TAKE, answers.take), (LEAVE, answers.leave)):
        for name in dict.fromkeys(names):
            strays = await asyncio.to_thread(acts[choice], name, found.progress, session_of(found, name))
            done.append(Decided(name, choice, strays))
    return done


async def tell_answers(done: list[Decided], tell: Callable[[str, dict[str, Any], str], Awaitable[None]]) -> None:
    """Record the decision, so that nobody is asked again."""
    for one in done:
        await tell(ev.RESUME_DECIDED, one.event(), f"{one.choice}-{one.task}")
