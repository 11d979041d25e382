"""The session's machine under any facts: no illegal state, terminal states hold, and every prompt is accounted for."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, example, find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.effects import End, Launch, Open, Say
from rekindle.core.session import facts as f
from rekindle.core.session.activity import rests
from rekindle.core.session.facts import Usage
from rekindle.core.session.machine import evolve
from rekindle.core.session.plan import plan, wants_agent
from rekindle.core.session.react import take, taken
from rekindle.core.session.rules import Budget, Rules
from rekindle.core.session.state import ACTIVE, TERMINAL, Session, State
from rekindle.core.session.status import status, word
from rekindle.core.session.tables import (
    ATTEMPTS,
    HOLDS,
    IGNORED_ATTEMPTS,
    IGNORED_PROMPTS,
    PROMPT_STATES,
    REFUSALS,
    STATUSES,
    STOPS,
    TRANSITIONS,
    Status,
)
from rekindle.core.session.tables import (
    PROMPTS as PROMPT_TABLE,
)
from tests.property.session_lives import DERIVED, EVERY_FACT, FACTS, MADE, RULES, TOLD, begun, folded
from tests.sessions import told


@given(FACTS)
def test_no_facts_lead_to_an_illegal_state(facts: list[f.AnyFact]) -> None:
    session = folded(facts)
    assert session.state in State
    assert len([prompt for prompt in session.prompts if prompt.state in ("sent", "began", "cut")]) <= 1
    numbers = [attempt.number for attempt in session.attempts]
    assert numbers == sorted(set(numbers))
    assert all(attempt.status == "gone" for attempt in session.attempts[:-1])
    if session.state is State.RUNNING and session.is_up:
        assert session.turn is not None
    assert word(session, alive=False)
    assert word(session, alive=True)


@given(FACTS)
def test_telling_a_fact_twice_changes_nothing(facts: list[f.AnyFact]) -> None:
    session = begun()
    for fact in facts:
        session = told(session, fact)
        is_counted = not isinstance(fact, f.Compacted) or fact.number > 0
        if is_counted and not isinstance(fact, f.ResumeAsked | f.StopAsked):
            assert told(session, fact) == session


@given(FACTS, st.sampled_from(["ask", "continue", "never"]))
def test_a_plan_starts_at_most_one_agent_and_speaks_only_to_one_that_is_ready(
    facts: list[f.AnyFact], policy: str
) -> None:
    session = folded(facts, policy)
    effects = plan(session, 5.0)
    assert sum(isinstance(effect, Launch | Open | End) for effect in effects) <= 1
    attempt = session.attempt
    for effect in effects:
        if isinstance(effect, Say):
            assert attempt is not None
            assert attempt.status == "ready"
            assert session.turn is None
        if isinstance(effect, Launch) and attempt is not None and attempt.status != "gone":
            assert effect.attempt == attempt.number


@given(FACTS, st.sampled_from(["ask", "continue", "never"]))
def test_terminal_states_block_the_automatic_resume_and_allow_the_explicit_one(
    facts: list[f.AnyFact], policy: str
) -> None:
    session = folded(facts, policy)
    if session.state not in TERMINAL or session.is_up or session.resume_asked is not None:
        return
    assert not wants_agent(session)
    assert plan(session, 5.0) == []
    asked = told(session, f.ResumeAsked(at=6.0, by="me"))
    assert [type(effect) for effect in plan(asked, 7.0)] == [Launch]


@given(FACTS)
def test_every_prompt_is_kept_and_in_order(facts: list[f.AnyFact]) -> None:
    session = folded(facts)
    wanted: dict[str, bool] = {}
    for fact in facts:
        if isinstance(fact, f.PromptQueued):
            wanted.setdefault(fact.prompt, fact.first)
    kept = [prompt.id for prompt in session.prompts if prompt.by == "user"]
    assert sorted(kept) == sorted(wanted)
    assert [name for name in kept if not wanted[name]] == [name for name in wanted if not wanted[name]]


@given(FACTS, st.booleans(), st.sampled_from([None, 1.0, 60.0]))
def test_the_four_cases_of_the_status(facts: list[f.AnyFact], alive: bool, seen: float | None) -> None:
    session = folded(facts)
    found = status(session, alive=alive, seen_seconds_ago=seen)
    if alive:
        assert (found.is_running, found.needs_resume) == (True, False)
    elif found.needs_resume:
        assert session.state in ACTIVE
        assert found.is_resumable
        usable = session.token is not None and session.can_load
        assert found.reason == ("agent_not_running" if usable else "agent_not_running_fresh_start")
    elif found.reason == "recently_seen":
        assert seen is not None
        assert seen < 10
    elif session.state in TERMINAL:
        assert found.is_resumable == (session.state is not State.COMPLETED)
    else:
        assert (found.reason, session.attempt) == ("not_started", None), "an active session without an agent needs one"


@given(FACTS)
@example(
    [
        f.PromptQueued(at=1, prompt="p1", text="do a"),
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.Launched(at=3, attempt=1, folder="x", pid=1),
        f.Opened(at=4, attempt=1, how="new", token="t"),
    ]
)
def test_an_agent_that_gets_a_prompt_next_is_not_said_to_wait_for_one(facts: list[f.AnyFact]) -> None:
    session = folded(facts)
    if any(isinstance(effect, Say) for effect in plan(session, 5.0)):
        assert word(session, alive=True) != "waiting"


@given(FACTS, st.sampled_from(["ask", "continue", "never"]))
def test_a_session_for_which_something_is_still_to_be_done_is_not_at_rest(facts: list[f.AnyFact], policy: str) -> None:
    session = folded(facts, policy)
    if plan(session, 5.0):
        assert session.is_up or not rests(session), "a daemon that leaves now would forget it"


@given(FACTS)
def test_what_a_session_took_is_the_sum_over_its_attempts_and_never_shrinks(facts: list[f.AnyFact]) -> None:
    session = begun()
    for fact in facts:
        before, session = session.usage, told(session, fact)
        assert session.usage.tokens >= before.tokens
        assert session.usage.tokens == sum(attempt.usage.tokens for attempt in session.attempts)


def test_automatic_restarts_end_when_the_budget_is_spent() -> None:
    session = begun("continue")
    session = told(session, f.PromptQueued(at=1, prompt="p1", text="do a"))
    launches = 0
    for _ in range(20):
        effects = plan(session, 1000.0)
        if not effects:
            break
        launch = effects[0]
        assert isinstance(launch, Launch)
        launches += 1
        number = launch.attempt
        for fact in (
            f.LaunchIntended(at=2, attempt=number, generation=number, how="new"),
            f.Launched(at=2, attempt=number, folder="x", pid=1),
            f.Exited(at=3, attempt=number, how_ended="killed", by_us=False),
        ):
            session = told(session, fact)
    assert 1 < launches < 6
    assert word(session, alive=False) == "interrupted"


@given(FACTS, st.sampled_from(["ask", "continue", "never"]))
def test_nothing_but_a_stop_that_was_asked_for_ends_a_session(facts: list[f.AnyFact], policy: str) -> None:
    session = folded([fact for fact in facts if not isinstance(fact, f.StopAsked)], policy)
    assert session.state in ACTIVE


@given(FACTS, st.sampled_from(["ask", "continue", "never"]))
def test_the_budget_is_only_refilled_by_a_person_or_a_turn_that_ended_and_nothing_starts_without_it(
    facts: list[f.AnyFact], policy: str
) -> None:
    session = begun(policy)
    for fact in facts:
        before, session = session, told(session, fact)
        if not isinstance(fact, f.ResumeAsked | f.Hurried | f.TurnFinished):
            assert session.left("restarts") <= before.left("restarts")
        launches = [effect for effect in plan(session, 5000.0) if isinstance(effect, Launch)]
        by_itself = launches and not session.is_up and session.attempt is not None and session.resume_asked is None
        if by_itself:
            assert session.left("restarts") > 0


_FAILURES: dict[str, list[f.AnyFact]] = {
    "missing": [f.LaunchFailed(at=10, attempt=0, message="it is not there", blocked=True)],
    "crashed": [f.LaunchFailed(at=10, attempt=0, message="the guard died")],
    **{
        problem: [
            f.Launched(at=9, attempt=0, folder="x", pid=1),
            f.OpenRefused(at=10, attempt=0, how="new", problem=problem, message="no"),
            f.Exited(at=10, attempt=0, how_ended="stopped (given up)", by_us=True),
        ]
        for problem in ("unauthorized", "timeout", "other")
    },
}


@given(
    st.lists(st.sampled_from(sorted(_FAILURES)), min_size=1, max_size=9),
    st.sampled_from(["ask", "continue", "never"]),
    st.booleans(),
)
def test_a_start_that_fails_leaves_the_session_interrupted_and_is_tried_again_within_the_budget_after_growing_pauses(
    failures: list[str], policy: str, has_prompt: bool
) -> None:
    session = begun(policy)
    if has_prompt:
        session = told(session, f.PromptQueued(at=1, prompt="p1", text="do a"))
    session = told(session, f.ResumeAsked(at=1, by="me"))
    goes_on = policy == "continue" or (has_prompt and policy == "ask")
    pauses = []
    for number, how in enumerate(failures, start=1):
        if not any(isinstance(effect, Launch) for effect in plan(session, 10_000.0)):
            assert number > (4 if goes_on else 1), "given up too early"
            break
        session = told(session, f.LaunchIntended(at=9, attempt=number, generation=number, how="new"))
        for fact in _FAILURES[how]:
            session = told(session, replace(fact, attempt=number))
        assert word(session, alive=False) == "interrupted"
        assert session.message in {fact.message for fact in _FAILURES[how] if hasattr(fact, "message")}
        if goes_on and session.left("restarts"):
            assert not any(isinstance(effect, Launch) for effect in plan(session, 10.5)), "no attempt at once"
        pauses.append((session.retry_at or 0) - 10)
    assert len(pauses) <= (4 if goes_on else 1), "an attempt loop"
    assert pauses == sorted(pauses)
    assert [prompt.state for prompt in session.prompts] == ["queued"] * has_prompt, "what was to be said is kept"


def test_every_refusal_leads_somewhere() -> None:
    assert set(REFUSALS) == set(get_args(f.Refusal))


@given(FACTS)
def test_the_state_moves_only_as_the_tables_say(facts: list[f.AnyFact]) -> None:
    session = begun()
    for fact in facts:
        before, session = session, evolve(session, fact)
        if session.state is not before.state:
            led = TRANSITIONS.get((before.state, type(fact)))
            refused = REFUSALS[fact.problem] if isinstance(fact, f.OpenRefused) else None
            asked = fact.to if isinstance(fact, f.StopAsked) else before.stop_asked
            stopped = STOPS[asked] if asked is not None else None
            assert session.state in (led, refused, stopped), (before.state, fact)


@given(FACTS)
def test_the_task_follows_the_session(facts: list[f.AnyFact]) -> None:
    session = folded(facts)
    expected = {
        State.STARTING: "IN_PROGRESS",
        State.RUNNING: "IN_PROGRESS",
        State.WAITING_FOR_INPUT: "REVIEW",
        State.COMPLETED: "COMPLETED",
        State.FAILED: "FAILED",
        State.CANCELLED: "CANCELLED",
    }
    assert session.task_state == expected[session.state]


def test_every_kind_of_fact_is_made() -> None:
    assert {*MADE, f.Created} == set(get_args(f.AnyFact))


@pytest.mark.parametrize("kind", list(MADE), ids=lambda kind: kind.__name__)
def test_there_are_lives_in_which_a_fact_of_each_kind_counts(kind: type[f.Fact]) -> None:
    """A property of facts that are all ignored would be none."""

    def counts(facts: list[f.AnyFact]) -> bool:
        session = begun()
        for fact in facts:
            before, session = session, evolve(session, fact)
            if isinstance(fact, kind) and session != before:
                return True
        return False

    def is_recorded(facts: list[f.AnyFact]) -> bool:
        return any(isinstance(fact, kind) for fact in taken(begun(), facts)[1])

    enough = settings(max_examples=12000, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    if kind is not f.Stalled:  # it changes nothing itself, but what follows from it does
        assert find(EVERY_FACT, counts, settings=enough, random=Random(1))
    if kind in TOLD or kind in DERIVED:
        assert find(FACTS, is_recorded, settings=enough, random=Random(1))


@given(EVERY_FACT)
def test_whatever_is_told_no_prompt_is_lost_and_only_the_newest_attempt_may_live(facts: list[f.AnyFact]) -> None:
    session = begun()
    for fact in facts:
        before, session = session, evolve(session, fact)
        asked = [one.id for one in before.prompts if one.by == "user"]
        still = [one.id for one in session.prompts if one.by == "user" and one.id in {old.id for old in before.prompts}]
        if isinstance(fact, f.PromptsReordered):  # nothing else changes the order, and this changes nothing else
            assert sorted(one.id for one in before.queued) == sorted(one.id for one in session.queued)
            assert [one for one in before.prompts if one.state != "queued"] == [
                one for one in session.prompts if one.state != "queued"
            ]
        else:
            assert asked == still
    assert all(attempt.status == "gone" for attempt in session.attempts[:-1])
    assert session.state in State


@given(FACTS, RULES)
def test_recorded_facts_are_complete_so_that_folding_them_needs_noRULES(facts: list[f.AnyFact], rules: Rules) -> None:
    made = f.Created(at=0.0, session="s", agent="a", cwd="/", policy=rules.policy, limits=rules.limits)
    session, kept = taken(None, [made, *facts], rules)
    folded_again: Session | None = None
    for fact in kept:
        folded_again = evolve(folded_again, fact)
    assert folded_again == session


@given(FACTS, RULES, RULES)
def test_facts_that_were_recorded_give_the_same_session_under_any_laterRULES(
    facts: list[f.AnyFact], rules: Rules, later: Rules
) -> None:
    session, kept = taken(None, [f.Created(at=0.0, session="s", agent="a", cwd="/"), *facts], rules)
    again: Session | None = None
    for fact in kept:
        again = evolve(again, replace(fact, rules=later) if isinstance(fact, f.RulesSet) else fact)
    assert again is not None
    assert replace(again, rules=session.rules) == session


@given(FACTS, RULES)
def test_what_follows_is_finite_and_a_fact_that_changes_nothing_is_not_recorded(
    facts: list[f.AnyFact], rules: Rules
) -> None:
    session, _ = take(None, f.Created(at=0.0, session="s", agent="a", cwd="/", policy=rules.policy), rules)
    for fact in facts:
        after, kept = take(session, fact, rules)
        assert len(kept) <= 12
        assert bool(kept) or after == session
        session = after


@given(EVERY_FACT)
def test_what_holds_a_session_is_set_and_cleared_by_the_facts_of_the_table_alone(facts: list[f.AnyFact]) -> None:
    session = begun()
    for fact in facts:
        before, session = session, evolve(session, fact)
        for name, (sets, clears) in HOLDS.items():
            was, now = getattr(before, name), getattr(session, name)
            if isinstance(fact, f.ClockSet):  # it moves a time with the clock
                assert (was is None) == (now is None), (name, fact)
            elif was != now:
                assert isinstance(fact, (*sets, *clears)), (name, fact)


def test_the_tables_say_of_every_pair_what_it_leads_to_or_that_it_is_ignored() -> None:
    assert ATTEMPTS.keys() | IGNORED_ATTEMPTS == {(one, fact) for one in STATUSES for _, fact in ATTEMPTS}
    assert PROMPT_TABLE.keys() | IGNORED_PROMPTS == {(one, fact) for one in PROMPT_STATES for _, fact in PROMPT_TABLE}


@given(EVERY_FACT)
def test_attempts_and_prompts_move_as_the_tables_say(facts: list[f.AnyFact]) -> None:
    session = begun()
    for fact in facts:
        before, session = session, evolve(session, fact)
        was = {one.number: one.status for one in before.attempts}
        for one in session.attempts:
            old: Status = was.get(one.number, before.attempt.status if before.attempt is not None else "none")
            if one.number not in was or was[one.number] != one.status:
                assert ATTEMPTS.get((old, type(fact))) == one.status, (old, fact)
        states = {one.id: one.state for one in before.prompts}
        for prompt in session.prompts:
            moved = states.get(prompt.id, "none") != prompt.state
            if moved and not isinstance(fact, f.Exited | f.TurnSettled):
                assert PROMPT_TABLE.get((states.get(prompt.id, "none"), type(fact))) == prompt.state, fact


def test_a_retry_that_was_recorded_is_there_whatever_theRULES_of_later_days_say() -> None:
    story: list[f.AnyFact] = [
        f.Created(at=1, session="s", agent="a", cwd="/"),
        f.PromptQueued(at=2, prompt="p", text="do a"),
        f.LaunchIntended(at=3, attempt=1, generation=1, how="new"),
        f.Launched(at=4, attempt=1, folder="x", pid=1),
        f.Opened(at=5, attempt=1, how="new", token="t"),
        f.PromptSent(at=6, attempt=1, prompt="p", message=1, text="do a"),
        f.TurnFailed(at=7, attempt=1, prompt="p", error="rate_limited", message="later"),
        f.PromptSent(at=20, attempt=1, prompt="p+r0", message=2, text="go on"),
        f.TurnFinished(at=21, attempt=1, prompt="p+r0", stop_reason="end_turn", usage=Usage(5, 5)),
    ]
    session, kept = taken(None, story)
    assert [(one.id, one.state) for one in session.prompts] == [("p", "failed"), ("p+r0", "done")]
    without_retries = [
        replace(one, rules=replace(one.rules, retries=Budget(0))) if isinstance(one, f.RulesSet) else one
        for one in kept
    ]
    again: Session | None = None
    for fact in without_retries:
        again = evolve(again, fact)
    assert again is not None
    assert (again.prompts, again.usage) == (session.prompts, session.usage)
