"""Makes a report from what is on record. Pure: the same facts and the same window give the same report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from rekindle.core.report.claims import claims_in
from rekindle.core.report.contents import (
    Check,
    JudgedClaim,
    LastWords,
    MorningReport,
    ReportLine,
    Story,
    Totals,
    counted,
)
from rekindle.core.report.feature_lines import WalkedFeature
from rekindle.core.report.governor_lines import governor_lines
from rekindle.core.report.job_lines import WalkedJob
from rekindle.core.report.judging import WorkStates, judge
from rekindle.core.report.session_lines import now_of, returned, spent, still_open, story, to_merge, waited
from rekindle.core.report.sources import Sources, Window
from rekindle.core.report.walking import WalkedSession, evidence_of_check
from rekindle.core.report.words import in_words


def report(sources: Sources, window: Window, made_at: float) -> MorningReport:
    """Everything that happened in the window, and what is open at its end."""
    walked = [WalkedSession(one, window) for one in sources.sessions]
    walked = [one for one in walked if one.session is not None]
    sessions = {one.source.id: one.session for one in walked if one.session is not None}
    jobs = [WalkedJob(one, window, sessions) for one in sources.jobs]
    features = [WalkedFeature(one, window) for one in sources.features]
    told_elsewhere = {one.source.id for one in jobs if one.job is not None and one.job.over != "done"}
    lines: list[ReportLine] = []
    stories: list[Story] = []
    for one in walked:
        found, its_story = _of_session(one, told_elsewhere)
        lines += found
        if one.is_concerned or any(line.kind == "open" for line in found):
            stories.append(its_story)
    for job in jobs:
        lines += job.lines()
    for feature in features:
        lines += feature.lines()
    lines += governor_lines(sources.governor, window)
    lines = _with_next(sorted(lines, key=lambda line: (line.at, line.of, line.about, line.kind)))
    by_task = {(one.source.feature, check.task): one for one in features for check in one.checks}
    claims = [judged for one in walked if one.is_concerned for judged in _claims(one, by_task)]
    spending = tuple(sorted((paid for one in walked for paid in one.paid), key=lambda paid: paid.at))
    unpriced = [agent for one in walked for agent in one.unpriced]
    concerned = len(stories), sum(one.is_concerned for one in jobs), sum(one.is_concerned for one in features)
    return MorningReport(
        window.since,
        window.until,
        made_at,
        _totals(lines, claims, concerned, unpriced),
        tuple(lines),
        tuple(sorted(_checks(walked, features, window), key=lambda check: check.at)),
        tuple(claims),
        tuple(words for one in walked if one.is_concerned for words in _last_words(one)),
        tuple(stories),
        spending,
        tuple(sorted((point for one in walked for point in one.contexts), key=lambda point: point.at)),
        sources.problems,
    )


def _of_session(walked: WalkedSession, jobs: set[str]) -> tuple[list[ReportLine], Story]:
    session, now = walked.session, now_of(walked)
    assert session is not None and now is not None
    found = [*walked.lines, *returned(walked), *waited(walked), *spent(walked), *to_merge(walked, now)]
    if session.job not in jobs and not (session.of_run and not now.needs_you):
        found += still_open(walked, now)
    return found, story(walked, now)


def _with_next(lines: list[ReportLine]) -> list[ReportLine]:
    """A line of its own for each command that somebody should type, once, what needs a person first."""
    typed: dict[str, ReportLine] = {}
    for line in sorted(lines, key=lambda one: not one.needs_you):
        if line.next and line.kind != "next" and line.needs_you:
            typed.setdefault(line.next, replace(line, kind="next", seconds=None))
    return [*lines, *typed.values()]


def _claims(walked: WalkedSession, features: dict[tuple[str, str], WalkedFeature]) -> Iterator[JudgedClaim]:
    """The newest claim about each subject that a session made in the window, judged."""
    session, turns = walked.session, walked.turns.found
    assert session is not None
    by_turn = {(one.attempt, one.in_attempt): one for one in turns}
    found: list[Check] = list(walked.checks)
    if session.feature and session.task:
        feature = features.get((session.feature, session.task))
        found += [one for one in feature.checks if one.task == session.task] if feature is not None else []
    states = WorkStates(turns, walked.source.states, complete=bool(walked.source.states) and not walked.no_snapshots)
    newest: dict[str, JudgedClaim] = {}
    for said in walked.source.said:
        turn = by_turn.get((said.attempt, said.number))
        if turn is None or not walked.window.has(turn.ended_at if turn.ended_at is not None else turn.sent_at):
            continue
        for claim in claims_in(said.text):
            judged = judge(claim, turn, turns, states, found, said.tools)
            refs = [walked.evidence_of(turn)]
            refs += [evidence_of_check(judged.check)] if judged.check is not None else []
            newest[claim.subject] = JudgedClaim(
                session.id,
                walked.title,
                session.agent,
                claim.subject,
                claim.quote,
                turn.ended_at if turn.ended_at is not None else turn.sent_at,
                judged.verdict,
                judged.why,
                tuple(refs),
            )
    yield from newest.values()


def _last_words(walked: WalkedSession) -> Iterator[LastWords]:
    """How the agent itself describes its last turn."""
    session = walked.session
    assert session is not None
    by_turn = {(one.attempt, one.in_attempt): one for one in walked.turns.found}
    for said in reversed(walked.source.said):
        turn = by_turn.get((said.attempt, said.number))
        if turn is None or turn.ended_at is None or not walked.window.has(turn.ended_at) or not said.text.strip():
            continue
        last = [part for part in said.text.strip().split("\n\n") if part.strip()][-1]
        ref = walked.evidence_of(turn)
        yield LastWords(session.id, walked.title, session.agent, in_words(last), turn.ended_at, (ref,))
        return


def _checks(walked: Sequence[WalkedSession], features: Sequence[WalkedFeature], window: Window) -> Iterator[Check]:
    every = [check for one in walked for check in one.checks] + [check for one in features for check in one.checks]
    yield from (check for check in every if window.has(check.at))


def _totals(
    lines: Sequence[ReportLine], claims: Sequence[JudgedClaim], concerned: tuple[int, int, int], unpriced: Sequence[str]
) -> Totals:
    receipts: dict[str, int] = {}
    verdicts: dict[str, int] = {}
    for line in lines:
        if line.receipt:
            receipts[line.receipt] = receipts.get(line.receipt, 0) + 1
    for claim in claims:
        verdicts[claim.verdict] = verdicts.get(claim.verdict, 0) + 1
    return Totals(
        *concerned,
        counted(lines),
        receipts,
        verdicts,
        sum(line.needs_you for line in lines if line.kind != "next"),
        round(sum(line.seconds or 0.0 for line in lines if line.kind == "waited"), 3),
        round(sum(line.cost or 0.0 for line in lines if line.kind == "spent"), 6),
        sum(line.tokens for line in lines if line.kind == "spent"),
        len(unpriced),
        tuple(sorted(set(unpriced))),
    )
