"""A campaign against features: random plans, SIGKILL of anything at any moment, meddling, and two resumes at once.

One seed is one plan, one schedule and one list of meddlings. The same plan is run undisturbed; what the disturbed one
leaves behind is held against that.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rekindle.keeper import launch
from tests.crash.feature_verdict import Allows, Outcome, faults, outcome
from tests.crash.feature_yard import Yard, slept
from tests.crash.fixed_plan import meddle
from tests.crash.meddling import Meddling, NotNow
from tests.crash.meddling_branches import BRANCHES
from tests.crash.meddling_places import PLACES
from tests.crash.meddling_runs import RUNS
from tests.e2e.daemon import is_running
from tests.e2e.features import FEATURE, task

VICTIMS: Final = ("agent", "keeper", "guard", "daemon", "client", "git", "everything")
#: What can be done at any moment of any plan.
ANYTIME: Final = tuple(one for one in (*BRANCHES, *PLACES, *RUNS) if one.moment != "conflict")
_ANSWERS: Final = 3
_GIT_SECONDS: Final = 3.0


@dataclass(frozen=True)
class Item:
    """A task of a random plan: how often its check fails, what its reviewer does, whether it conflicts."""

    name: str
    needs: tuple[str, ...]
    after: tuple[str, ...]
    failures: int
    review: tuple[str, ...] | None
    conflicts: bool
    commits: bool
    words: int


@dataclass(frozen=True)
class Scheme:
    """A random plan."""

    mode: str
    jobs: int
    items: tuple[Item, ...]

    def write(self, yard: Yard) -> str:
        """The plan file."""
        head = f'mode = "{self.mode}"\njobs = {self.jobs}\nlint = ["sh {yard.hands / "wave.sh"}"]'
        return yard.shop.plan(*(_task(yard, one) for one in self.items), head=head)

    def __str__(self) -> str:
        told = [f"{self.mode}, {self.jobs} at once"]
        for one in self.items:
            more = [f"needs {','.join(one.needs)}"] if one.needs else []
            more += [f"after {','.join(one.after)}"] if one.after else []
            more += [f"its check fails {one.failures} times"] if one.failures else []
            more += [f"reviewed: {'; '.join(one.review)}"] if one.review else []
            more += ["writes same.txt"] if one.conflicts else []
            told.append(f"  {one.name}: {', '.join(more) or 'plain'}")
        return "\n".join(told)


def scheme(chance: random.Random) -> Scheme:
    """A plan of 2 to 7 tasks."""
    names = [f"t{number}" for number in range(1, chance.randint(2, 7) + 1)]
    mode = chance.choice(["strict", "standard", "standard", "fast"])
    rounds = {"strict": 3, "standard": 2, "fast": 1}[mode]
    reviews: list[tuple[str, ...]] = [
        ("say VERDICT: PASS",),
        ("once failed fail other", "say VERDICT: PASS"),
        ("once died die", "say VERDICT: PASS"),
        ("say - it is not good", "say VERDICT: FAIL"),
    ]
    conflicting = set(chance.sample(names, 2)) if chance.random() < 0.4 else set()
    items = []
    for number, name in enumerate(names):
        before = names[:number]
        needs = tuple(one for one in before if chance.random() < 0.25)
        after = tuple(one for one in before if one not in needs and chance.random() < 0.1)
        failures = chance.choices([0, 1, rounds - 1, 99], weights=[12, 2, 2, 1])[0]
        review = chance.choices([None, *reviews], weights=[12, 3, 2, 2, 1])[0]
        commits, words = chance.random() < 0.5, chance.randint(0, 25)
        items.append(Item(name, needs, after, failures, review, name in conflicting, commits, words))
    return Scheme(mode, chance.randint(1, 4), tuple(items))


def _task(yard: Yard, one: Item) -> str:
    lines = [yard.hand("effect", one.name), f"write {one.name}.txt {one.name}"]
    lines += [f"write same.txt {one.name}\\n"] if one.conflicts else []
    lines += [yard.hand("commit", f"{one.name}-first"), f"stream {one.words} 0.05 thinking"]
    lines += [f"write {one.name}-2.txt more"]
    lines += [yard.hand("commit", f"{one.name}-second")] if one.commits else []
    summary = f"Task {one.name}" + ("\nwrite same.txt both\\n\nsay resolved" if one.conflicts else "")
    more: dict[str, object] = {"checks": [f"sh {yard.hands / 'check.sh'} {one.name} {one.failures}"]}
    more |= {"needs": list(one.needs)} if one.needs else {}
    more |= {"after": list(one.after)} if one.after else {}
    more |= {"reviewer": "scripted", "review": "\n".join(one.review)} if one.review else {}
    return task(one.name, *lines, f"say {one.name} is done", summary=summary, **more)


def undisturbed(yard: Yard, plan: Scheme) -> Outcome:
    """What a plan leads to when nobody meddles: its end, or a failed task."""
    status, told = yard.run("run", "--plan", plan.write(yard))
    assert status in (0, 1), told
    return outcome(yard)


@dataclass
class Campaign:
    """One disturbed run of a plan."""

    yard: Yard
    plan: Scheme
    chance: random.Random
    meddlings: Sequence[Meddling] = ANYTIME
    most: int = 3
    done: list[Meddling] = field(default_factory=list)
    _open: list[tuple[Meddling, str]] = field(default_factory=list)

    def run(self) -> None:
        """Rounds of working, killing and meddling."""
        for _ in range(self.chance.randint(2, 4)):
            if self.yard.is_complete:
                break
            self._start()
            for _ in range(self.chance.randint(1, 3)):
                slept(self.chance.uniform(0.2, 4.0))
                if len(self.done) < self.most and self.chance.random() < 0.3:
                    self._meddle(down=False)
                else:
                    self._kill(self.chance.choice(VICTIMS))
            if self.chance.random() < 0.7:
                self.yard.down()
                while len(self.done) < self.most and self.chance.random() < 0.5:
                    self._meddle(down=True)
            self._undo(0.3)
        self.yard.down()
        self._undo(0.5)

    def settle(self, control: Outcome) -> None:
        """Resume until it ends as the undisturbed run did, or asks for something that a person has to do."""
        answered = 0
        before = ""
        for _ in range(10):
            if self.yard.is_complete:
                return
            status, told = self.yard.run(*self._words())
            if status == 0:
                return
            if status == 3 and answered < _ANSWERS:
                found = outcome(self.yard)
                if not control.ended and (found.complete, found.merges) == (control.complete, control.merges):
                    return  # merges that somebody took out come back only after the answer
                answered += 1
                self.yard.run("resume", FEATURE, *(self.yard.shop.yes() if "--trust" in told else ("--choose", "A")))
            elif told == before or status == 3:
                return
            before = told

    def faults(self, control: Outcome) -> list[str]:
        """Everything that is not as it has to be."""
        allows = Allows()
        for one in self.done:
            allows |= one.allows
        return faults(self.yard, control, allows, checked=self.plan.mode != "fast")

    def _words(self) -> tuple[str, ...]:
        """The command that goes on, whatever there is."""
        types = {event["type"] for event in self.yard.shop.events()}
        plan = str(self.yard.machine.home / f"{FEATURE}.toml")
        if not types:
            return ("run", "--plan", plan)
        if "plan.created" not in types:
            return ("resume", FEATURE, "--choose", "B", "--plan", plan)
        return ("resume", FEATURE)

    def _start(self) -> None:
        words = self._words()
        self.yard.start(*words)
        if words[0] == "resume" and self.chance.random() < 0.3:
            self.yard.start(*words)

    def _meddle(self, *, down: bool) -> None:
        """The first of some entries that has something to meddle with. What is over is its owner's to change."""
        if self.yard.is_complete:
            return
        fitting = [one for one in self.meddlings if one.down == down and one not in self.done]
        for entry in self.chance.sample(fitting, min(8, len(fitting))):
            begun = [one.name for one in self.plan.items if (self.yard.trees / one.name / ".git").exists()]
            name = self.chance.choice(begun or [one.name for one in self.plan.items])
            if self._try(entry, name):
                return

    def _try(self, entry: Meddling, name: str) -> bool:
        try:
            meddle(self.yard, entry.name, entry.act, name)
        except NotNow:
            self.yard.story.pop()
            return False
        except (OSError, subprocess.CalledProcessError, ValueError, IndexError) as error:
            self.yard.tell(f"  could not be done: {error} {getattr(error, 'stderr', '')}")
        self.yard.checkout = self.yard.look()
        self.done.append(entry)
        if entry.undo is not None:
            self._open.append((entry, name))
        return True

    def _undo(self, likely: float) -> None:
        for entry, name in list(self._open):
            if self.chance.random() < likely:
                assert entry.undo is not None
                try:
                    entry.undo(self.yard, name)
                except (OSError, subprocess.CalledProcessError, NotNow, StopIteration) as error:
                    self.yard.tell(f"could not be undone now: {entry.name}: {error}")
                else:
                    self._open.remove((entry, name))
                    self.yard.tell(f"undone: {entry.name}")
                self.yard.checkout = self.yard.look()

    def _kill(self, victim: str) -> None:
        self.yard.tell(f"SIGKILL: {victim}")
        if victim == "everything":
            self.yard.down()
            self._start()
            return
        if victim == "client":
            for one, _ in self.yard.running:
                if one.poll() is None:
                    one.kill()
            return
        for pid in self._git() if victim == "git" else self._targets(victim):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _targets(self, victim: str) -> list[int]:
        if victim == "daemon":
            return self._daemon()
        found = []
        for place in Path(self.yard.machine.places.sessions).glob("*/[0-9]*"):
            identity = launch.read_identity(str(place)) if launch.is_alive(str(place)) else None
            if identity is not None:
                found.append(getattr(identity, victim).pid)
        return [self.chance.choice(found)] if found else []

    def _daemon(self) -> list[int]:
        try:
            pid = self.yard.machine.daemon()
        except (OSError, ValueError):
            return []
        return [pid] if is_running(pid) else []

    def _git(self) -> list[int]:
        """A git that the daemon has just started, as soon as there is one."""
        deadline = time.monotonic() + _GIT_SECONDS
        while (daemon := self._daemon()) and time.monotonic() < deadline:
            for children in Path(f"/proc/{daemon[0]}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    for child in children.read_text().split():
                        if Path(f"/proc/{child}/comm").read_text().strip() == "git":
                            return [int(child)]
        return []
