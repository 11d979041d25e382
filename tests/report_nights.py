"""A made night of one agent: what it did, what it said about it, and what is true. For judging what reports believe.

The files have versions. The tests of a version pass or they do not, whatever anybody says. A run of the tests is real
if somebody really ran them on that version.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from rekindle.core.report.contents import MorningReport
from rekindle.core.report.making import report
from rekindle.core.report.sources import (
    FeatureSource,
    JournalFact,
    KeptState,
    SaidTool,
    SessionSource,
    Sources,
    TurnSaid,
    Window,
)
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.state import Session
from rekindle.core.snapshot_reasons import attempt_ended, ends, turn_ended

Ending = Literal["done", "failed", "cut", "running"]
#: Where the figures about these nights are published.
DOCUMENT = Path(__file__).parents[1] / "docs" / "report.md"


class Night:
    """One session, from its first prompt on. Each call is the next thing that happens."""

    def __init__(self, *, task: bool = False, snapshots: bool = True) -> None:
        self.at = 1000.0
        self.facts: list[tuple[int, f.AnyFact]] = []
        self.session: Session | None = None
        self.said: list[TurnSaid] = []
        self.states: list[KeptState] = []
        self.events: list[JournalFact] = []
        self.version = 0
        self.good: set[int] = {0}
        #: (version, whether it passed, whether rekindle ran it) of each real run of the tests
        self.runs: list[tuple[int, bool, bool]] = []
        self.attempt = 0
        self.has_snapshots = snapshots
        begun = f.Created(at=0, session="s1", agent="scripted", cwd="/w", title="Add a login form")
        self._fact(replace(begun, feature="shop", task="t1") if task else begun)
        self._start("new")

    def turn(
        self,
        says: str,
        *,
        edits: bool | None = None,
        tool: str = "",
        is_real: bool = False,
        ends_as: Ending = "done",
        edits_after: bool | None = None,
    ) -> Night:
        """A turn in which the agent says something. `edits`: it changes the files, and then their tests pass or fail.

        `tool`: it uses a tool with this title, really (`is_real`) or only in name. `edits_after` is an edit after that.
        """
        name = f"p{len(self.said) + 1}"
        self._fact(f.PromptQueued(at=0, prompt=name, text="go on"))
        self._fact(f.PromptSent(at=0, attempt=self.attempt, prompt=name, message=len(self.said) + 1, text="go on"))
        self._fact(f.TurnBegan(at=0, attempt=self.attempt, prompt=name))
        self._edit(edits)
        tools = []
        if tool:
            passed = self.version in self.good
            if is_real:
                self.runs.append((self.version, passed, False))
            tools.append(SaidTool(tool, "completed" if passed or not is_real else "failed"))
        self._edit(edits_after)
        number = sum(one.attempt == self.attempt for one in self.said) + 1
        self.said.append(TurnSaid(self.attempt, number, says, tuple(tools)))
        match ends_as:
            case "done":
                self._fact(f.TurnFinished(at=0, attempt=self.attempt, prompt=name, stop_reason="end_turn"))
            case "failed":
                self._fact(f.TurnFailed(at=0, attempt=self.attempt, prompt=name, error="other", message="it broke"))
            case "cut":
                cut = f.Cut(said=says, delivered="yes")
                self._fact(f.Exited(at=0, attempt=self.attempt, how_ended="killed by 9", by_us=False, cut=cut))
            case "running":
                return self
        self._keep(ends_as)
        return self

    def gate(self, command: str | list[str] = "make test", *, passes: bool | None = None) -> Night:
        """Rekindle runs a command. It runs the tests, and passes if they do; with `passes` it does not run them."""
        is_test = passes is None
        passed = self.version in self.good if is_test else passes is True
        if is_test:
            self.runs.append((self.version, passed, True))
        name, run = f"g{len(self.facts)}", command.split() if isinstance(command, str) else command
        self._fact(f.GateWanted(at=0, gate=name, trigger="idle", attempt=self.attempt, run=run))
        commit = commit_of(self.version)
        self._fact(f.GateRan(at=0, gate=name, passed=passed, commit=commit))
        return self

    def checked(self, command: str = "make test", version: int | None = None) -> Night:
        """The run of the feature checks a commit of the task: by default what the agent has left."""
        on = self.version if version is None else version
        passed = on in self.good
        self.runs.append((on, passed, True))
        return self._event("check.ran", command=command, result="pass" if passed else "fail", commit=commit_of(on))

    def resume(self, receipt: Literal["same", "rebuilt", "fresh", "unproven"] = "same") -> Night:
        """The agent is brought back."""
        self._start("load")
        self._fact(f.ReceiptWritten(at=0, attempt=self.attempt, receipt=f.Receipt(receipt, "what was found")))
        prompt = self.session.turn if self.session is not None else None
        if prompt is not None:
            self._fact(f.TurnSettled(at=0, prompt=prompt.id, to="failed", outcome="cut off", cut="known"))
        return self

    def die(self) -> Night:
        """The agent ends while it has nothing to do."""
        self._fact(f.Exited(at=0, attempt=self.attempt, how_ended="killed by 9", by_us=False))
        self._keep("cut")
        return self

    @property
    def is_true(self) -> bool:
        """Whether a real run of the tests on the files as they were left has passed; the last run counts."""
        return _last(self.runs, self.version)

    @property
    def is_true_by_rekindle(self) -> bool:
        """The same, if only runs by rekindle itself count."""
        return _last([one for one in self.runs if one[2]], self.version)

    def told(self) -> MorningReport:
        """The report of this night."""
        own = SessionSource("s1", tuple(self.facts), tuple(self.said), tuple(self.states))
        feature = FeatureSource("/w", "shop", "feature/shop", tuple(self.events))
        features = (feature,) if self.events else ()
        return report(Sources(sessions=(own,), features=features), Window(0.0, self.at + 1), self.at + 1)

    def _edit(self, good: bool | None) -> None:
        if good is not None:
            self.version += 1
            self.good |= {self.version} if good else set()

    def _start(self, how: f.How) -> None:
        self.attempt += 1
        number, token = self.attempt, "tok"
        self._fact(f.LaunchIntended(at=0, attempt=number, generation=1, how=how, token=token if number > 1 else None))
        self._fact(f.Launched(at=0, attempt=number, folder="/k", pid=7))
        self._fact(f.Opened(at=0, attempt=number, how=how, token=token, known=["go on"]))

    def _keep(self, ends_as: Ending) -> None:
        """The snapshot at the end of a turn, unless the last one has the same files."""
        assert self.session is not None
        turns, attempts = ends(self.session)
        reason = attempt_ended(attempts) if ends_as == "cut" else turn_ended(turns)
        tree = commit_of(self.version)
        if self.has_snapshots and (not self.states or self.states[-1].tree != tree):
            self.states.append(KeptState(f"shot{len(self.states)}" + "0" * 30, reason, tree, tree))

    def _event(self, type_: str, **data: object) -> Night:
        self.at += 60.0
        self.events.append(JournalFact(self.at, "run1", len(self.events), type_, {"taskId": "t1", **data}))
        return self

    def _fact(self, fact: f.AnyFact) -> None:
        self.at += 60.0
        dated = replace(fact, at=self.at)
        self.session = evolve(self.session, dated)
        self.facts.append((len(self.facts) + 1, dated))


def in_one_line(document: Path) -> str:
    """A document without its line breaks and marks of quotation."""
    return re.sub(r"\s+(> )?", " ", document.read_text())


def commit_of(version: int) -> str:
    """The commit (and, here, the tree) of a version of the files."""
    return hashlib.sha1(str(version).encode()).hexdigest()


def _last(runs: list[tuple[int, bool, bool]], version: int) -> bool:
    found = [passed for on, passed, _ in runs if on == version]
    return bool(found) and found[-1]
