"""The report of a story, held line by line against what truly happened: nothing is made up, and nothing is left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from rekindle.adapters.sql_store.codec import decode_told
from rekindle.core.fact import Fact
from rekindle.core.report.contents import MorningReport, ReportLine
from rekindle.core.report.making import report
from rekindle.core.report.sources import JobSource, SessionSource, Sources, Window
from rekindle.core.session import facts as f
from tests.simulate.job_invariants import JobOracle
from tests.simulate.stage import Stage
from tests.simulate.violation import demand

_ENDED = "the agent ended its turn"


class ReportOracle:
    """Makes the report of everything, as a person reads it in the morning."""

    def __init__(self, stage: Stage, jobs: JobOracle) -> None:
        self._stage = stage
        self._world = stage.world
        self._jobs = jobs
        #: whose end somebody had asked for: those were not cut off
        self._asked_to_end: set[tuple[str, int]] = set()

    def at_end(self) -> None:
        """Every line is true, and all that happened has its line."""
        found = self._made()
        self._evidence_is_there(found)
        self._turns(found.lines)
        self._cuts(found.lines)
        self._returns(found.lines)
        self._spent(found.lines)
        self._jobs_told(found.lines)

    def _made(self) -> MorningReport:
        by_stream: defaultdict[str, defaultdict[str, list[tuple[int, Any]]]] = defaultdict(lambda: defaultdict(list))
        newest, attempts = self._world.clock(), Counter[str]()
        for seq, stream, subject, text in self._stage.disk.content.facts:
            fact: Fact = decode_told(stream, text)
            by_stream[stream][subject].append((seq, fact))
            newest = max(newest, fact.at)
            if isinstance(fact, f.LaunchIntended):
                attempts[subject] = fact.attempt
            elif isinstance(fact, f.StopAsked):
                self._asked_to_end.add((subject, attempts[subject]))
        sessions = [SessionSource(name, tuple(facts)) for name, facts in by_stream["session"].items()]
        jobs = [JobSource(name, tuple(facts)) for name, facts in by_stream["job"].items()]
        governor = [fact for facts in by_stream["governor"].values() for fact in facts]
        sources = Sources(tuple(sessions), tuple(jobs), governor=tuple(governor))
        return report(sources, Window(0.0, newest + 1.0), newest)

    def _evidence_is_there(self, found: MorningReport) -> None:
        facts = self._stage.disk.content.facts
        for line in found.lines:
            demand(bool(line.evidence), f"the report has a line without evidence: {line.text}")
            for one in line.evidence:
                if not one.seq or one.of == "feature":
                    continue
                _, stream, subject, _ = facts[one.seq - 1]
                same = stream == ("governor" if one.of == "all" else one.of) and one.where in (subject, "")
                demand(
                    same or one.of == "all", f"the evidence of {line.text!r} ({one.look}) is about {stream} {subject}"
                )

    def _turns(self, lines: tuple[ReportLine, ...]) -> None:
        told = Counter(one.about for one in lines if one.kind == "done" and one.of == "session" and one.text == _ENDED)
        ended = Counter(session for session, how in self._world.turn_ends if how == "end_turn")
        for session in {*told, *ended}:
            wrong = f"the report tells of {told[session]} turns of {session} that ended well, and {ended[session]} did"
            demand(told[session] == ended[session], wrong)

    def _cuts(self, lines: tuple[ReportLine, ...]) -> None:
        told = {_attempt(one) for one in lines if one.kind == "cut" and one.evidence[0].kind == "exit"}
        for session, attempt in sorted(self._world.cut_off - told - self._asked_to_end):
            demand(False, f"attempt {attempt} of {session} was cut off at work, and the report does not say so")
        for session, attempt in sorted(told):
            there = self._world.attempts.get((session, attempt))
            demand(there is not None and not there.alive, f"the report calls a live agent of {session} cut off")

    def _returns(self, lines: tuple[ReportLine, ...]) -> None:
        for line in lines:
            if line.kind == "resumed":
                session, attempt = _attempt(line)
                told = f"the report says that attempt {attempt} of {session} was back, and it never opened anything"
                demand((session, attempt) in self._world.opened, told)

    def _spent(self, lines: tuple[ReportLine, ...]) -> None:
        told = Counter[str]()
        for line in lines:
            if line.kind == "spent":
                told[line.about] += line.tokens
        for session in {*told, *self._world.used}:
            used = self._world.used[session]
            demand(
                told[session] == used, f"the report says that {session} used {told[session]} tokens, and it used {used}"
            )

    def _jobs_told(self, lines: tuple[ReportLine, ...]) -> None:
        of_jobs = [one for one in lines if one.of == "job" and one.kind != "next"]
        for name, job in self._jobs.jobs.items():
            mine = Counter(one.kind for one in of_jobs if one.about == name)
            demand(mine["asked"] == 1, f"the report says {mine['asked']} times that {name} was asked for")
            is_done = job.over == "done"
            demand(
                mine["done"] == is_done, f"the report says {mine['done']} times that {name} is done; it is {job.over}"
            )
            is_open = job.over is None
            demand(
                mine["open"] == is_open, f"{name} is {job.over or 'open'}, and the report has {mine['open']} open lines"
            )
            ends = self._jobs.ends_in_all[name] - is_done
            told = mine["failed"] + mine["stopped"]
            demand(told == ends, f"{name} failed or was cancelled {ends} times, and the report tells of {told}")


def _attempt(line: ReportLine) -> tuple[str, int]:
    return line.about, int(line.evidence[0].ref.rpartition(" ")[2])
