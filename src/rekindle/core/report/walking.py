"""Goes through the facts of one session and collects what a report says about it. Pure.

The facts are folded by the same `evolve` as everywhere, so that the report cannot disagree with the session. A fact
that changed nothing (repeated, or about an attempt that was over) is not told.
"""

from __future__ import annotations

import shlex
from typing import Final

from rekindle.core.feature.talks import is_signature
from rekindle.core.report.contents import Check, ContextPoint, LineKind, Paid, ReportLine, Standing
from rekindle.core.report.evidence import Cited
from rekindle.core.report.phases import Spans, phase
from rekindle.core.report.sources import SessionSource, Window
from rekindle.core.report.turns import TurnsSeen, WalkedTurn
from rekindle.core.report.words import first_line, in_words
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Receipt, Usage
from rekindle.core.session.failure_words import plain
from rekindle.core.session.history import request_of
from rekindle.core.session.machine import evolve
from rekindle.core.session.plan import is_cut
from rekindle.core.session.state import OURS, Session

#: Errors that interrupt the work and say nothing about it.
_OF_THE_SERVICE: Final = ("rate_limited", "overloaded", "out_of_credits", "no_internet")
#: The reason that an agent gives if it ended its turn by itself.
_WELL: Final = "end_turn"


class WalkedSession:
    """One session, up to the end of a window. `session` is what it is then; None: it had not begun."""

    def __init__(self, source: SessionSource, window: Window) -> None:
        self.source = source
        self.window = window
        self.session: Session | None = None
        self.spans = Spans()
        self.turns = TurnsSeen()
        self.lines: list[ReportLine] = []
        self.checks: list[Check] = []
        self.paid: list[Paid] = []
        self.contexts: list[ContextPoint] = []
        self.unpriced: list[str] = []
        self.cuts: list[float] = []
        #: (attempt, when, place) of each return to the conversation, and the newest receipt of each attempt
        self.opened: list[tuple[int, float, int]] = []
        self.receipts: dict[int, tuple[int, Receipt]] = {}
        self.no_snapshots = False
        self.last_seq = 0
        for seq, fact in _until(source.facts, window.until):
            self.last_seq = seq
            self._take(seq, fact)

    @property
    def is_concerned(self) -> bool:
        """Whether anything happened to it in the window."""
        return any(self.window.has(fact.at) for _, fact in self.source.facts)

    @property
    def title(self) -> str:
        """What the session is about."""
        if self.session is None:
            return ""
        asked = next((one.text for one in self.session.prompts), "")
        return self.session.title or first_line(request_of(asked))

    def line(
        self,
        kind: LineKind,
        at: float,
        text: str,
        *evidence: Cited,
        standing: Standing = "proved",
        seconds: float | None = None,
        receipt: str = "",
    ) -> ReportLine:
        """A line about this session."""
        name = self.source.id
        return ReportLine(
            kind,
            standing,
            at,
            "session",
            name,
            self.title,
            text,
            evidence,
            seconds=seconds,
            receipt=receipt,
            session=name,
        )

    def evidence_of(self, turn: WalkedTurn) -> Cited:
        """A turn as evidence."""
        return Cited("turn", "session", self.source.id, f"turn {turn.number}", turn.seq)

    def _ended(self, seq: int, prompt: str) -> tuple[Cited, ...]:
        """The turn that ended with a fact, and the snapshot that was taken then."""
        turn = self.turns.ended_at(seq)
        if turn is None:
            return (Cited("turn", "session", self.source.id, f"prompt {prompt}", seq),)
        kept = next((one for one in self.source.states if one.reason == turn.mark), None)
        shot = (Cited("snapshot", "session", self.source.id, kept.id),) if kept is not None else ()
        return (self.evidence_of(turn), *shot)

    def _take(self, seq: int, fact: AnyFact) -> None:
        before = self.session
        after = evolve(before, fact)
        self.session = after
        if before is None:
            self.spans.note(phase(after), fact.at, seq)
            return
        if isinstance(fact, f.Noticed) and fact.message.startswith("no snapshot"):
            self.no_snapshots = True
        if after is before:
            return
        self.turns.heard(before, fact, seq, after)
        self.spans.note(phase(after), fact.at, seq)
        if isinstance(fact, f.ReceiptWritten):
            self.receipts[fact.attempt] = (seq, fact.receipt)
        if self.window.has(fact.at):
            self._pay(before, fact, after)
            self._tell(before, seq, fact, after)
        elif isinstance(fact, f.GateRan):
            self._check(before, seq, fact)

    def _tell(self, before: Session, seq: int, fact: AnyFact, after: Session) -> None:
        name = self.source.id
        kind: LineKind
        match fact:
            case f.PromptQueued() if self._is_asked(before, fact):
                ref = Cited("turn", "session", name, f"prompt {fact.prompt}", seq)
                self.lines.append(self.line("asked", fact.at, first_line(request_of(fact.text)), ref))
            case f.TurnFinished():
                how = "ended its turn" if fact.stop_reason == _WELL else f"ended its turn ({fact.stop_reason})"
                kind = {_WELL: "done", "cancelled": "stopped"}.get(fact.stop_reason, "failed")  # type: ignore[assignment]
                self.lines.append(self.line(kind, fact.at, f"the agent {how}", *self._ended(seq, fact.prompt)))
                if fact.context is not None:
                    self.contexts.append(ContextPoint(fact.at, name, fact.context, fact.window))
            case f.TurnFailed():
                kind = "cut" if fact.error in _OF_THE_SERVICE else "failed"
                how = "was stopped by its service" if kind == "cut" else "failed"
                text = f"its turn {how}: {plain(f'{fact.error}: {in_words(fact.message)}')}"
                self.lines.append(self.line(kind, fact.at, text, *self._ended(seq, fact.prompt)))
            case f.LaunchFailed():
                ref = Cited("exit", "session", name, f"attempt {fact.attempt}", seq)
                text = f"the agent could not be started: {in_words(fact.message)}"
                self.lines.append(self.line("failed", fact.at, text, ref))
            case f.Exited() if _was_cut(before, after):
                self.cuts.append(fact.at)
                ref = Cited("exit", "session", name, f"attempt {fact.attempt}", seq)
                text = f"the agent was cut off: {in_words(after.attempts[-1].how_ended or 'nobody saw why')}"
                self.lines.append(self.line("cut", fact.at, text, ref))
            case f.StopAsked(to="cancelled") if self._is_stopped(before, fact):
                ref = Cited("record", "session", name, f"fact {seq}", seq)
                self.lines.append(self.line("stopped", fact.at, "somebody stopped it", ref))
            case f.Opened() if fact.attempt > 1:
                self.opened.append((fact.attempt, fact.at, seq))
            case f.GateRan():
                self._check(before, seq, fact)
            case _:
                pass

    def _is_asked(self, before: Session, fact: f.PromptQueued) -> bool:
        """Whether a person asked for it. What a job or the run of a feature asks for is told with those."""
        if fact.by == OURS or is_signature(fact.by) or before.of_run:
            return False
        return not before.job or bool(before.prompts)

    def _is_stopped(self, before: Session, fact: f.StopAsked) -> bool:
        """Whether a person stopped it. The end of a job or of the run of a feature is told with those."""
        return fact.by != OURS and not is_signature(fact.by) and not before.of_run and not before.job

    def _check(self, before: Session, seq: int, fact: f.GateRan) -> None:
        gate = before.gate
        if gate is None or gate.id != fact.gate:
            return
        name, command = self.source.id, shlex.join(gate.run)
        sent = len(self.turns.found)
        check = Check(fact.at, command, fact.passed, "session", name, seq, fact.commit, turns=sent)
        self.checks.append(check)
        if self.window.has(fact.at):
            kind: LineKind = "done" if fact.passed else "failed"
            self.lines.append(self.line(kind, fact.at, checked(check), evidence_of_check(check)))

    def _pay(self, before: Session, fact: AnyFact, after: Session) -> None:
        old, new = _bill(before), _bill(after)
        cost, tokens = (new.cost or 0.0) - (old.cost or 0.0), new.tokens - old.tokens
        if cost or tokens:
            self.paid.append(Paid(fact.at, self.source.id, round(cost, 9), tokens))
        if isinstance(fact, f.TurnFinished | f.TurnFailed | f.Exited):
            ended = before.turn
            if ended is None or ended.state == "cut":
                return
            took = next((one.usage for one in after.prompts if one.id == ended.id), None)
            if took is None or took.cost is None:
                self.unpriced.append(after.agent)


def evidence_of_check(check: Check) -> Cited:
    """A check as evidence."""
    return Cited("check", check.of, check.about, f"`{check.command}`", check.seq)


def checked(check: Check) -> str:
    """What a check showed, in words."""
    how = "ended with 0" if check.passed else "failed"
    if not check.commit:
        return f"check `{check.command}` {how}"
    where = f"on commit {check.commit[:10]}" if check.is_exact else f"with commit {check.commit[:10]} checked out"
    return f"check `{check.command}` {how} {where}"


def _was_cut(before: Session, after: Session) -> bool:
    """Whether the end of an agent cut its work off: nobody had asked it to end."""
    is_at_work = before.turn is not None and before.turn.state != "cut"
    return not after.attempts[-1].by_us and before.stop_asked is None and (is_at_work or is_cut(after))


def _bill(session: Session) -> Usage:
    """What the session has used so far, with the turn that runs."""
    turn = session.turn
    running = turn.usage if turn is not None and turn.state in ("sent", "began") else None
    return session.usage.plus(running)


def _until(facts: tuple[tuple[int, AnyFact], ...], until: float) -> tuple[tuple[int, AnyFact], ...]:
    """The facts up to the last one of the time before `until`: a clock that was set back leaves no hole."""
    last = max((number for number, (_, fact) in enumerate(facts) if fact.at < until), default=-1)
    return facts[: last + 1]
