"""Reports, for any facts of sessions and jobs: every line has evidence, and nothing is told twice or left out."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.job import facts as jf
from rekindle.core.masking import Masker
from rekindle.core.report.contents import MorningReport, ReportLine
from rekindle.core.report.making import report
from rekindle.core.report.masking import masked
from rekindle.core.report.sources import JobSource, SessionSource, Sources, TurnSaid, Window
from rekindle.core.session import facts as f
from rekindle.core.session.facts import Usage
from tests.job_stage import Stage, order
from tests.property.session_lives import EVERY_FACT

#: What happened at one moment, and is told once.
EVENTS = ("asked", "done", "failed", "cut", "resumed")
SECRET = "sk-ant-api03-" + "Ab3" * 30
HOUR = 3600.0


def source(facts: list[f.AnyFact], name: str, first: int, times: list[float]) -> SessionSource:
    """A session with these facts, at these times."""
    begun: list[f.AnyFact] = [f.Created(at=times[0], session=name, agent="a", cwd="/")]
    dated = begun + [replace(fact, at=at) for fact, at in zip(facts, times[1:], strict=False)]
    said = (TurnSaid(1, 1, "All tests pass."), TurnSaid(2, 1, "I did it."))
    return SessionSource(name, tuple(enumerate(dated, start=first)), said)


@st.composite
def sources(draw: st.DrawFn, *, back: bool = False) -> Sources:
    """One or two sessions, each with a life, a minute or more between two facts; `back`: the clock is set back."""
    found = []
    for number in range(draw(st.integers(1, 2))):
        facts = draw(EVERY_FACT)
        step = st.integers(-60 if back else 1, 60).map(lambda minutes: minutes * 60.0)
        at, times = draw(st.integers(0, 300)) * 60.0, []
        for _ in range(len(facts) + 1):
            times.append(at)
            at = max(at + draw(step), 0.0)
        priced = [_priced(fact, number + place) for place, fact in enumerate(facts)]
        found.append(source(priced, f"s{number}", 1000 * (number + 1), times))
    return Sources(sessions=tuple(found))


def _priced(fact: f.AnyFact, number: int) -> f.AnyFact:
    if isinstance(fact, f.Spent):
        return replace(fact, usage=replace(fact.usage, cost=fact.usage.tokens / 8))
    if isinstance(fact, f.TurnFinished) and number % 3:
        return replace(fact, usage=Usage(5 + number, 5, cost=number / 4))
    return fact


def told(found: MorningReport) -> Counter[tuple[str, float, str, int]]:
    return Counter((one.kind, one.at, one.about, one.evidence[0].seq) for one in found.lines if one.kind in EVENTS)


@settings(deadline=None, max_examples=50)
@given(sources(back=True), st.integers(0, 2000), st.integers(0, 2000))
def test_every_line_has_evidence_that_can_be_looked_at(given_: Sources, one: int, other: int) -> None:
    since, until = sorted((one * 60.0, other * 60.0))
    found = report(given_, Window(since, until), until)
    cited = [one.evidence for one in found.lines]
    cited += [one.evidence for one in found.claims] + [one.evidence for one in found.last_words]
    for evidence in cited:
        assert evidence
        assert all(each.ref and each.words and each.look.startswith(("rekindle ", "git ")) for each in evidence)


@settings(deadline=None, max_examples=50)
@given(sources(back=True))
def test_no_fact_is_counted_twice(given_: Sources) -> None:
    found = report(given_, Window(0.0, 1e9), 1e9)
    places = [line.evidence[0].seq for line in found.lines if line.kind in EVENTS]
    assert len(places) == len(set(places)), Counter(places).most_common(2)
    assert all(places)


@settings(deadline=None, max_examples=50)
@given(sources(back=True), st.integers(0, 2000))
def test_two_windows_side_by_side_tell_what_one_over_both_tells(given_: Sources, minute: int) -> None:
    cut, end = minute * 60.0, 1e9
    before, after = report(given_, Window(0.0, cut), cut), report(given_, Window(cut, end), end)
    whole = report(given_, Window(0.0, end), end)
    assert told(before) + told(after) == told(whole)
    assert abs(before.totals.cost + after.totals.cost - whole.totals.cost) < 1e-6
    assert before.totals.tokens + after.totals.tokens == whole.totals.tokens
    assert before.totals.unpriced + after.totals.unpriced == whole.totals.unpriced
    for part, since, until in ((before, 0.0, cut), (after, cut, end)):
        assert all(since <= line.at < until for line in part.lines if line.kind in EVENTS)


@settings(deadline=None, max_examples=50)
@given(sources(), st.integers(0, 2000))
def test_what_was_waited_for_is_cut_at_the_ends_of_the_window_and_lost_nowhere(given_: Sources, minute: int) -> None:
    last = max(fact.at for one in given_.sessions for _, fact in one.facts) + 60.0
    cut = min(minute * 60.0, last)
    parts = [report(given_, Window(since, until), until) for since, until in ((0.0, cut), (cut, last))]
    whole = report(given_, Window(0.0, last), last)
    assert sum(one.totals.waited_seconds for one in parts) == whole.totals.waited_seconds
    for one in parts:
        for story in one.stories:
            assert all(one.since <= span.since < span.until <= one.until for span in story.spans)
            ends = [(span.since, span.until) for span in story.spans]
            assert all(first[1] <= second[0] for first, second in pairwise(ends))


@settings(deadline=None, max_examples=50)
@given(sources(back=True))
def test_the_sums_are_those_of_the_lines_and_of_the_sessions(given_: Sources) -> None:
    found = report(given_, Window(0.0, 1e9), 1e9)
    spent = [line for line in found.lines if line.kind == "spent"]
    assert abs(found.totals.cost - sum(one.cost for one in found.spending)) < 1e-6
    assert found.totals.tokens == sum(one.tokens for one in found.spending) == sum(line.tokens for line in spent)
    assert sum(found.totals.counts.values()) == len(found.lines)
    assert found.totals.needs_you == sum(line.needs_you for line in found.lines if line.kind != "next")
    assert len({line.about for line in spent}) == len(spent)


@settings(deadline=None, max_examples=50)
@given(sources(), st.sampled_from(["before ", "x" * 180 + " ", "x" * 220 + " ", "y" * 1000 + " "]))
def test_no_secret_gets_into_a_report_not_even_half_of_one(given_: Sources, before: str) -> None:
    text = f"{before}{SECRET} behind it"

    def spoiled(fact: f.AnyFact) -> f.AnyFact:
        fields = {"text", "message", "why", "title", "how_ended", "detail", "stop_reason"}
        changes = dict.fromkeys(fields & set(fact.__struct_fields__), text)
        if isinstance(fact, f.ReceiptWritten):
            changes["receipt"] = replace(fact.receipt, reason=text)  # type: ignore[assignment]
        if isinstance(fact, f.GateWanted):
            changes["run"] = ["make", text]  # type: ignore[assignment]
        return replace(fact, **changes)

    bad = [
        replace(
            one,
            facts=tuple((seq, spoiled(fact)) for seq, fact in one.facts),
            said=tuple(replace(each, text=f"All tests pass with {text}") for each in one.said),
        )
        for one in given_.sessions
    ]
    masker = Masker({})
    found = masked(report(Sources(sessions=tuple(bad)), Window(0.0, 1e9), 1e9), lambda _, each: masker.text(each))
    shown = msgspec.json.encode(found).decode()
    assert "sk-ant" not in shown and "Ab3Ab3" not in shown


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["well", "die", "timeout", "error", "lose"]), max_size=4), st.integers(0, 4))
def test_a_job_is_asked_for_once_and_ends_once(acts: list, retries: int) -> None:  # type: ignore[type-arg]
    stage = Stage(order(retries=retries), acts)
    stage.run()
    facts: list[jf.JobFact] = stage.facts
    found = report(Sources(jobs=(JobSource("j00000001", tuple(enumerate(facts, 1))),)), Window(0.0, 1e12), 1e12)
    lines: list[ReportLine] = [line for line in found.lines if line.of == "job"]
    assert [line.kind for line in lines].count("asked") == 1
    over = [line for line in lines if line.kind in ("done", "failed")]
    assert len(over) == sum(isinstance(one, jf.JobOver) for one in facts)
    assert ("open" in {line.kind for line in lines}) == (stage.job.over is None)
