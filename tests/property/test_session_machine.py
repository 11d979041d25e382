"""The session's machine under any facts: no illegal state, terminal states hold, and every prompt is accounted for."""

from __future__ import annotations

from typing import get_args

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.effects import End, Launch, Open, Say
from rekindle.core.session import facts as f
from rekindle.core.session.facts import Usage
from rekindle.core.session.plan import plan, wants_agent
from rekindle.core.session.standing import rests
from rekindle.core.session.state import ACTIVE, TERMINAL, Session, State
from rekindle.core.session.status import status, word
from rekindle.core.session.tables import REFUSALS, TRANSITIONS
from tests.sessions import told

PROMPTS = ("p1", "p2")
_attempts = st.integers(1, 3)
_prompts = st.sampled_from(PROMPTS)
_cuts = st.one_of(
    st.none(),
    st.builds(
        f.Cut,
        said=st.sampled_from(["", "half a"]),
        tools=st.lists(st.just("run: x"), max_size=1),
        delivered=st.sampled_from(["yes", "no", "unknown"]),
    ),
)
_at = st.just(1.0)
FACTS: st.SearchStrategy[f.AnyFact] = st.one_of(
    st.builds(f.PromptQueued, at=_at, prompt=_prompts, text=st.sampled_from(["do a", "do b"])),
    st.builds(f.ResumeAsked, at=_at, by=st.just("me")),
    st.builds(f.LoadPutOff, at=_at, until=st.sampled_from([0.5, 60.0]), why=st.just("later")),
    st.builds(
        f.LaunchIntended,
        at=_at,
        attempt=_attempts,
        generation=st.integers(0, 5),
        how=st.sampled_from(["new", "load"]),
        token=st.sampled_from([None, "t"]),
    ),
    st.builds(f.Launched, at=_at, attempt=_attempts, folder=st.just("x"), pid=st.just(7)),
    st.builds(f.LaunchFailed, at=_at, attempt=_attempts, message=st.just("no"), blocked=st.booleans()),
    st.builds(f.Adopted, at=_at, generation=st.integers(0, 9)),
    st.builds(
        f.Opened,
        at=_at,
        attempt=_attempts,
        how=st.sampled_from(["new", "load"]),
        token=st.just("t"),
        known=st.one_of(st.none(), st.lists(st.sampled_from(["do a", "do b"]))),
    ),
    st.builds(
        f.OpenRefused,
        at=_at,
        attempt=_attempts,
        how=st.just("load"),
        problem=st.sampled_from(get_args(f.Refusal)),
        message=st.just("m"),
    ),
    st.builds(
        f.PromptSent, at=_at, attempt=_attempts, prompt=_prompts, message=st.integers(1, 4), text=st.just("do a")
    ),
    st.builds(f.TurnBegan, at=_at, attempt=_attempts, prompt=_prompts),
    st.builds(
        f.Spent,
        at=_at,
        attempt=_attempts,
        prompt=_prompts,
        usage=st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
    ),
    st.builds(
        f.TurnFinished,
        at=_at,
        attempt=_attempts,
        prompt=_prompts,
        stop_reason=st.just("end_turn"),
        usage=st.sampled_from([None, Usage(5, 5)]),
    ),
    st.builds(
        f.TurnFailed,
        at=_at,
        attempt=_attempts,
        prompt=_prompts,
        error=st.sampled_from(["other", "rate_limited", "context_overflow"]),
        message=st.just("m"),
    ),
    st.builds(f.CancelAsked, at=_at, prompt=_prompts),
    st.builds(
        f.StopAsked, at=_at, by=st.just("me"), to=st.sampled_from(["asleep", "cancelled", "completed", "failed"])
    ),
    st.builds(f.Exited, at=_at, attempt=_attempts, how_ended=st.just("killed"), by_us=st.booleans(), cut=_cuts),
)


def begun(policy: str = "ask") -> Session:
    return told(None, f.Created(at=0.0, session="s", agent="a", cwd="/", policy=policy))


def folded(facts: list[f.AnyFact], policy: str = "ask") -> Session:
    session = begun(policy)
    for fact in facts:
        session = told(session, fact)
    return session


@given(st.lists(FACTS, max_size=25))
def test_no_facts_lead_to_an_illegal_state(facts: list[f.AnyFact]) -> None:
    session = folded(facts)
    assert session.state in State
    assert len([prompt for prompt in session.prompts if prompt.state in ("sent", "began", "cut")]) <= 1
    numbers = [attempt.number for attempt in session.attempts]
    assert numbers == sorted(set(numbers))
    assert all(attempt.status == "gone" for attempt in session.attempts[:-1])
    if session.state is State.RUNNING:
        assert session.turn is not None
    assert word(session, alive=False)
    assert word(session, alive=True)


@given(st.lists(FACTS, max_size=20))
def test_telling_a_fact_twice_changes_nothing(facts: list[f.AnyFact]) -> None:
    session = begun()
    for fact in facts:
        session = told(session, fact)
        if not isinstance(fact, f.ResumeAsked | f.StopAsked):
            assert told(session, fact) == session


@given(st.lists(FACTS, max_size=25), st.sampled_from(["ask", "continue", "never"]))
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


@given(st.lists(FACTS, max_size=25), st.sampled_from(["ask", "continue", "never"]))
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


@given(st.lists(FACTS, max_size=25))
def test_every_prompt_is_kept_and_in_order(facts: list[f.AnyFact]) -> None:
    session = folded(facts)
    wanted = list(dict.fromkeys(fact.prompt for fact in facts if isinstance(fact, f.PromptQueued)))
    assert [prompt.id for prompt in session.prompts if prompt.by == "user"] == wanted


@given(st.lists(FACTS, max_size=25), st.booleans(), st.sampled_from([None, 1.0, 60.0]))
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


@given(st.lists(FACTS, max_size=25))
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


@given(st.lists(FACTS, max_size=25), st.sampled_from(["ask", "continue", "never"]))
def test_a_session_for_which_something_is_still_to_be_done_is_not_at_rest(facts: list[f.AnyFact], policy: str) -> None:
    session = folded(facts, policy)
    if plan(session, 5.0):
        assert session.is_up or not rests(session), "a daemon that leaves now would forget it"


@given(st.lists(FACTS, max_size=25))
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


@given(st.lists(FACTS, max_size=25), st.sampled_from(["ask", "continue", "never"]))
def test_nothing_but_a_stop_that_was_asked_for_ends_a_session(facts: list[f.AnyFact], policy: str) -> None:
    session = folded([fact for fact in facts if not isinstance(fact, f.StopAsked)], policy)
    assert session.state in ACTIVE


@given(st.lists(FACTS, max_size=25), st.sampled_from(["ask", "continue", "never"]))
def test_the_budget_is_only_refilled_by_a_person_or_a_turn_that_ended_and_nothing_starts_without_it(
    facts: list[f.AnyFact], policy: str
) -> None:
    session = begun(policy)
    for fact in facts:
        before, session = session, told(session, fact)
        if not isinstance(fact, f.ResumeAsked | f.TurnFinished):
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


def test_the_tables_name_known_states_only() -> None:
    assert {state for state, _ in TRANSITIONS} | set(TRANSITIONS.values()) | set(REFUSALS.values()) <= set(State)
    assert set(REFUSALS) == set(get_args(f.Refusal))


@given(st.lists(FACTS, max_size=25))
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
