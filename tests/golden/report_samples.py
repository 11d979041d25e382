"""A made night for the screens of the report: agents that work, wait, are cut off, come back, lie and ask."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from rekindle.core.job import facts as jf
from rekindle.core.job.order import JobOrder, StepOrder
from rekindle.core.report.contents import MorningReport
from rekindle.core.report.making import report
from rekindle.core.report.masking import masked
from rekindle.core.report.sources import (
    FeatureSource,
    JobSource,
    JournalFact,
    KeptState,
    SessionSource,
    Sources,
    TurnSaid,
    Window,
)
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Usage

#: 07:30 on a morning, UTC.
NOW = 1_800_000_000.0 - 1_800_000_000.0 % 86400 + 7.5 * 3600
MINUTE = 60.0
COMMIT = "76384edaff2a6b0d7c1e9f4b8a3d5c6e7f801234"


class Life:
    """A session that begins some minutes after 22:00. Each call is what happens next, and takes some minutes."""

    def __init__(
        self, name: str, title: str, begins: float, agent: str = "claude", branch: str = "", **more: str
    ) -> None:
        self.name, self.at = name, NOW - 9.5 * 3600 + begins * MINUTE
        self.facts: list[AnyFact] = []
        self.said: list[TurnSaid] = []
        self.states = [KeptState("0" * 40, "the session begins", "0" * 40, COMMIT)]
        self.attempt, self.turns, self.ended = 0, 0, 0
        begun = f.Created(at=0, session=name, agent=agent, cwd="/home/ada/shop", title=title, branch=branch or None)
        self._fact(begun, 0.1)

    def start(self, receipt: f.Receipt | None = None, *, minutes: float = 0.5) -> Life:
        self.attempt += 1
        number, how = self.attempt, "new" if self.attempt == 1 else "load"
        self._fact(f.LaunchIntended(at=0, attempt=number, generation=1, how=how, token="t"), minutes)  # type: ignore[arg-type]
        self._fact(f.Launched(at=0, attempt=number, folder="/k", pid=7), 0.05)
        self._fact(f.Opened(at=0, attempt=number, how=how, token="t", known=[]), 0.05)  # type: ignore[arg-type]
        if receipt is not None:
            settled = f.TurnSettled(at=0, prompt=f"p{self.turns}", to="failed", outcome="cut off", cut="known")
            self._fact(settled, 0.05)
            self._fact(f.ReceiptWritten(at=0, attempt=number, receipt=receipt), 0.05)
        return self

    def ask(self, text: str) -> Life:
        self.turns += 1
        name = f"p{self.turns}"
        self._fact(f.PromptQueued(at=0, prompt=name, text=text), 0.1)
        self._fact(f.PromptSent(at=0, attempt=self.attempt, prompt=name, message=self.turns, text=text), 0.05)
        self._fact(f.TurnBegan(at=0, attempt=self.attempt, prompt=name), 0.05)
        return self

    def spend(self, minutes: float, tokens: int, cost: float | None) -> Life:
        self._fact(
            f.Spent(at=0, attempt=self.attempt, prompt=f"p{self.turns}", usage=Usage(tokens, cost=cost)), minutes
        )
        return self

    def end(self, minutes: float, says: str, tokens: int, cost: float | None, context: int) -> Life:
        usage = Usage(tokens, cost=cost)
        self._fact(
            f.TurnFinished(
                at=0,
                attempt=self.attempt,
                prompt=f"p{self.turns}",
                stop_reason="end_turn",
                usage=usage,
                context=context,
                window=200_000,
            ),
            minutes,
        )
        self.ended += 1
        number = sum(one.attempt == self.attempt for one in self.said) + 1
        self.said.append(TurnSaid(self.attempt, number, says))
        tree = hashlib.sha1(f"{self.name}{self.ended}".encode()).hexdigest()
        self.states.append(KeptState(tree[::-1], f"turn {self.ended} has ended", tree, tree))
        return self

    def gate(self, run: str, passed: bool) -> Life:
        wanted = f.GateWanted(at=0, gate="g", trigger="idle", attempt=self.attempt, run=run.split())
        self._fact(wanted, 0.1)
        self._fact(f.GateRan(at=0, gate="g", passed=passed, commit=COMMIT), 1.5)
        return self

    def cut(self, minutes: float, how: str = "killed by SIGKILL") -> Life:
        cut = f.Cut(said="I was", tools=["make deploy"], delivered="yes")
        self._fact(f.Exited(at=0, attempt=self.attempt, how_ended=how, by_us=False, cut=cut), minutes)
        number = sum(one.attempt == self.attempt for one in self.said) + 1
        self.said.append(TurnSaid(self.attempt, number, "I was"))
        return self

    def permission(self, minutes: float, title: str) -> Life:
        asked = f.PermissionAsked(
            at=0,
            attempt=self.attempt,
            request="r1",
            title=title,
            kind="execute",
            options=[("allow", "Allow", "allow_once")],
            prompt=f"p{self.turns}",
        )
        self._fact(asked, minutes)
        return self

    def limit(self, minutes: float, until: float) -> Life:
        failed = f.TurnFailed(
            at=0,
            attempt=self.attempt,
            prompt=f"p{self.turns}",
            error="rate_limited",
            message="You've hit your limit, resets 2:20am",
            usage=Usage(90_000, cost=0.64),
        )
        self._fact(failed, minutes)
        self.ended += 1
        number = sum(one.attempt == self.attempt for one in self.said) + 1
        self.said.append(TurnSaid(self.attempt, number, ""))
        self.turns += 1
        name, after = f"p{self.turns}", self.at + until * MINUTE
        queued = f.PromptQueued(at=0, prompt=name, text="go on", by="rekindle", of="p1", after=after, limit="claude")
        self._fact(queued, 0.05)
        self._fact(f.PromptSent(at=0, attempt=self.attempt, prompt=name, message=9, text="go on"), until)
        self._fact(f.TurnBegan(at=0, attempt=self.attempt, prompt=name), 0.05)
        return self

    def done(self) -> Life:
        self._fact(f.StopAsked(at=0, by="rekindle", to="completed"), 0.1)
        self._fact(f.Exited(at=0, attempt=self.attempt, how_ended="exit 0", by_us=True), 0.05)
        return self

    def _fact(self, fact: AnyFact, minutes: float) -> None:
        self.at += minutes * MINUTE
        self.facts.append(replace(fact, at=self.at))

    def source(self, first: int) -> SessionSource:
        placed = tuple(enumerate(self.facts, start=first))
        return SessionSource(self.name, placed, tuple(self.said), tuple(self.states))


SAME = f.Receipt(
    "same", "the agent's own record has every earlier prompt", ["was started, outcome unknown: make deploy"]
)
UNPROVEN = f.Receipt("unproven", "the agent's record lacks 1 of 3 earlier prompts")


def lives() -> list[Life]:
    return [
        Life("1f00000001", "Add a login form, with tests", 2, branch="rekindle/login")
        .start()
        .ask("Add a login form, with tests")
        .spend(20, 60_000, 0.4)
        .spend(22, 90_000, 0.71)
        .end(14, "The form is there.\n\nAll 42 tests pass.", 121_000, 0.94, 96_000)
        .gate("make test", passed=True)
        .done(),
        Life("1f00000002", "Port the importer to the new API", 10)
        .start()
        .ask("Port the importer to the new API")
        .spend(31, 50_000, 0.38)
        .cut(12)
        .start(SAME, minutes=24)
        .ask("go on")
        .end(95, "The importer uses the new API. All tests are passing now.", 310_000, 2.2, 141_000)
        .gate("pytest -q", passed=False),
        Life("1f00000003", "漢字の入力フォームを追加して、テストも書いてください。長い題名はここで折り返されます。", 5)
        .start()
        .ask("漢字の入力フォームを追加")
        .spend(70, 88_000, 0.6)
        .limit(9, 118)
        .end(80, "Finished. The tests pass.", 160_000, 1.02, 77_000),
        Life("1f00000004", "Upgrade the database driver", 120)
        .start()
        .ask("Upgrade the database driver")
        .spend(18, 31_000, 0.2)
        .permission(4, "run `psql -f migrate.sql`"),
        Life("1f00000005", "Translate <b>the</b> handbook & its [index](x)", 300, agent="codex")
        .start()
        .ask("Translate the handbook")
        .end(40, "The handbook is translated.", 90_000, None, 52_000)
        .cut(30)
        .start(UNPROVEN, minutes=2)
        .ask("go on with the index")
        .spend(20, 9_000, None),
    ]


def journal(minutes: float, seq: int, type_: str, **data: object) -> JournalFact:
    return JournalFact(NOW - 9.5 * 3600 + minutes * MINUTE, "ff12489f", seq, type_, dict(data))


def sources() -> Sources:
    sessions = tuple(one.source(1000 * number) for number, one in enumerate(lives(), start=1))
    events = (
        journal(1, 0, "session.start", driver="rekindle", branch="feature/checkout", command="implement"),
        journal(1, 1, "plan.created", tasks=[{"id": "cart"}, {"id": "pay"}]),
        journal(60, 2, "check.ran", command="make test", result="pass", commit=COMMIT, taskId="cart"),
        journal(61, 3, "branch.merged", name="work/checkout/cart", taskId="cart", commit="ab" * 20),
        journal(140, 4, "check.ran", command="make test", result="pass", commit="cd" * 20, taskId="pay"),
        journal(141, 5, "branch.merged", name="work/checkout/pay", taskId="pay", commit="ef" * 20),
        journal(142, 6, "session.end", reason="completed"),
    )
    feature = FeatureSource("/home/ada/shop", "checkout", "feature/checkout", events, is_merged=False)
    order = JobOrder((StepOrder("task", "Update the dependencies", "claude"),))
    at = NOW - 5 * 3600
    job: list[tuple[int, jf.JobFact]] = [
        (9001, jf.JobSubmitted(at=at, job="j9a8f8027", order=order, of="j11111111", due=at)),
        (9002, jf.StepBegun(at=at + 1, step="task", session="gone")),
        (9003, jf.StepOver(at=at + 600, step="task", how="failed", why="its agent could not sign in")),
        (9004, jf.JobOver(at=at + 601, how="failed", why="its agent could not sign in")),
    ]
    return Sources(sessions, (JobSource("j9a8f8027", tuple(job)),), (feature,))


def sample() -> MorningReport:
    return masked(report(sources(), Window(NOW - 10 * 3600, NOW), NOW), lambda _, text: text)
