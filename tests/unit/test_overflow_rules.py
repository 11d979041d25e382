"""When a conversation is dehydrated, and when not: decisions only, no agent."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rekindle.core.effects import End, Launch, Say
from rekindle.core.session import facts as f
from rekindle.core.session.history import with_summary
from rekindle.core.session.overflow import is_question
from rekindle.core.session.plan import plan
from rekindle.core.session.react import taken
from rekindle.core.session.rules import BUILT_IN, Rules
from rekindle.core.session.state import Prompt, Session
from rekindle.core.session.strategy import candidates, choose
from tests.sessions import told

FULL = f.ContextMeasured(at=5.0, attempt=1, used=80, size=100, number=1, skill="")


def begun(*, compact: str | None = None, first: int = 0, at: float | None = 0.76, policy: str = "continue") -> Session:
    """A session whose first turn has ended, with what the agent can do."""
    limits = f.Limits(dehydrate_at=at, dehydrate_first=first)
    facts: list[f.AnyFact] = [
        f.Created(at=0.0, session="s", agent="a", cwd="/", policy=policy, limits=limits),
        f.PromptQueued(at=1.0, prompt="p0", text="do one"),
        f.LaunchIntended(at=1.0, attempt=1, generation=1, how="new"),
        f.Launched(at=2.0, attempt=1, folder="/1", pid=7),
        f.Opened(at=3.0, attempt=1, how="new", token="t1", compact=compact),
        f.PromptSent(at=4.0, attempt=1, prompt="p0", message=1, text="do one"),
        f.TurnBegan(at=4.5, attempt=1, prompt="p0"),
    ]
    return taken(None, facts, replace(BUILT_IN, policy=policy))[0]


def ended(session: Session, *, measured: f.ContextMeasured = FULL, more: str = "do two") -> Session:
    """The turn ends with a full context; somebody has said more meanwhile."""
    if more:
        session = told(session, f.PromptQueued(at=4.6, prompt="p1", text=more))
    session = told(session, measured)
    return told(session, f.TurnFinished(at=6.0, attempt=1, prompt="p0", stop_reason="end_turn"))


def questions(session: Session) -> list[Prompt]:
    return [one for one in session.prompts if is_question(one)]


def asked(session: Session, at: float = 7.0) -> Session:
    """The question is sent, and the agent is about to answer it."""
    [effect] = [one for one in plan(session, at) if isinstance(one, Say)]
    assert is_question(next(one for one in session.prompts if one.id == effect.prompt))
    sent = f.PromptSent(at=at, attempt=1, prompt=effect.prompt, message=2, text=effect.text)
    return told(told(session, sent), f.TurnBegan(at=at, attempt=1, prompt=effect.prompt))


def test_the_question_comes_before_the_prompt_that_waits() -> None:
    session = ended(begun())
    assert [is_question(one) for one in session.queued] == [True, False]


def test_nothing_is_asked_while_nobody_wants_more_unless_a_skill_goes_on() -> None:
    assert questions(ended(begun(), more="")) == []
    assert len(questions(ended(begun(), measured=replace(FULL, skill="/door"), more=""))) == 1
    late = told(ended(begun(), more=""), f.PromptQueued(at=9.0, prompt="p1", text="do two"))
    assert len(questions(late)) == 1, "but before the next prompt"


@pytest.mark.parametrize(
    ("options", "is_asked"),
    [
        ({}, True),
        ({"at": 0.9}, False),
        ({"at": 0.0}, False),
        ({"at": None}, False),
        ({"compact": "/compact"}, False),
        ({"compact": "/compact", "first": 1}, True),
    ],
)
def test_what_comes_first_is_decided_by_the_rules_of_the_session(options: dict[str, object], is_asked: bool) -> None:
    assert bool(questions(ended(begun(**options)))) is is_asked  # type: ignore[arg-type]


def test_a_skill_session_is_dehydrated_even_if_its_agent_compacts() -> None:
    assert questions(ended(begun(compact="/compact"), measured=replace(FULL, skill="/door")))


def test_a_session_of_an_earlier_version_has_no_threshold() -> None:
    assert Rules().limits.dehydrate_at is None


ENDS: dict[str, list[f.AnyFact]] = {
    "finished": [f.TurnFinished(at=8.0, attempt=1, prompt="p0+y0", stop_reason="end_turn")],
    "refused": [f.TurnFailed(at=8.0, attempt=1, prompt="p0+y0", error="context_overflow", message="too long")],
    "failed": [f.TurnFailed(at=8.0, attempt=1, prompt="p0+y0", error="other", message="no")],
    "slow": [f.Due(at=307.0, timer="summary", until=307.0)],
    "died": [],
}


@pytest.mark.parametrize("how", ENDS)
def test_however_the_question_ends_the_conversation_is_left_and_the_prompt_goes_on(how: str) -> None:
    session = asked(ended(begun()))
    for fact in ENDS[how]:
        session = told(session, fact)
    if how != "died":
        assert session.token is None and any(isinstance(one, End) for one in plan(session, 9.0))
    gone = f.Exited(at=400.0, attempt=1, how_ended="killed", by_us=how != "died", cut=f.Cut(said="I am"))
    session = told(session, gone)
    assert session.token is None and session.lost == ["t1"], "it is never loaded again"
    assert session.dehydrated
    assert any(isinstance(one, Launch) for one in plan(session, 500.0)), "without anybody"
    assert session.turn is None and [one.id for one in session.queued] == ["p1"]


def test_a_rate_limit_is_waited_for_and_the_question_asked_again() -> None:
    session = asked(ended(begun()))
    limit = f.TurnFailed(at=8.0, attempt=1, prompt="p0+y0", error="rate_limited", message="later", retry_at=60.0)
    session = told(session, limit)
    assert session.token == "t1"
    assert [is_question(one) for one in session.queued] == [True, False]


def test_there_is_no_second_one_before_a_turn_has_ended_well() -> None:
    session = asked(ended(begun()))
    session = told(session, ENDS["finished"][0])
    session = told(session, f.Exited(at=9.0, attempt=1, how_ended="exit 0", by_us=True))
    for fact in (
        f.LaunchIntended(at=10.0, attempt=2, generation=2, how="new", history="H", given="a summary"),
        f.Launched(at=11.0, attempt=2, folder="/2", pid=8),
        f.Opened(at=12.0, attempt=2, how="new", token="t2"),
        f.ContextMeasured(at=13.0, attempt=2, used=90, size=100, number=1, skill=""),
    ):
        session = told(session, fact)
    assert len(questions(session)) == 1
    assert session.attempts[-1].receipt is not None and session.attempts[-1].receipt.kind == "rebuilt"
    assert "a summary" in session.attempts[-1].receipt.reason


def rehydrated(session: Session) -> Session:
    """The summary is there, and the new conversation has begun the prompt that waited."""
    session = told(session, ENDS["finished"][0])
    session = told(session, f.Exited(at=9.0, attempt=1, how_ended="exit 0", by_us=True))
    for fact in (
        f.LaunchIntended(
            at=10.0, attempt=2, generation=2, how="new", token="t2", history="H{prompt}", given="a summary"
        ),
        f.Launched(at=11.0, attempt=2, folder="/2", pid=8),
        f.Opened(at=12.0, attempt=2, how="new", token="t2"),
        f.PromptSent(at=13.0, attempt=2, prompt="p1", message=1, text="H do two"),
        f.TurnBegan(at=13.0, attempt=2, prompt="p1"),
    ):
        session = told(session, fact)
    return session


def refused(session: Session) -> Session:
    """Its agent is killed, and the next one has no record of the conversation."""
    at, number = session.changed_at + 1, session.attempts[-1].number
    token = session.attempts[-1].token
    facts: list[f.AnyFact] = [
        f.Exited(at=at, attempt=number, how_ended="killed", by_us=False, cut=f.Cut(said="I go", delivered="yes")),
        *([f.ResumeAsked(at=at + 4, by="user")] if session.policy == "ask" else []),
        f.LaunchIntended(at=at + 5, attempt=number + 1, generation=number + 1, how="load", token=token),
        f.Launched(at=at + 6, attempt=number + 1, folder=f"/{number + 1}", pid=9),
        f.OpenRefused(at=at + 7, attempt=number + 1, how="load", problem="unknown_session", message="no such session"),
        f.Exited(at=at + 8, attempt=number + 1, how_ended="exit 1", by_us=False),
    ]
    for fact in facts:
        session = told(session, fact)
    return session


def test_a_new_conversation_that_died_before_its_record_was_written_is_begun_again_without_anybody() -> None:
    session = refused(rehydrated(asked(ended(begun()))))
    assert session.escalation is None and not session.held, "nothing that was acknowledged is lost"
    assert session.dehydrated and session.token is None
    assert any(isinstance(one, Launch) for one in plan(session, 900.0))


def test_but_not_for_ever_and_not_where_somebody_decides() -> None:
    session = refused(rehydrated(asked(ended(begun()))))
    for fact in (
        f.LaunchIntended(at=60.0, attempt=4, generation=4, how="new", token="t4", history="H", given="a summary"),
        f.Launched(at=61.0, attempt=4, folder="/4", pid=8),
        f.Opened(at=62.0, attempt=4, how="new", token="t4"),
        f.Exited(at=63.0, attempt=4, how_ended="killed", by_us=False, cut=f.Cut(said="I go", delivered="yes")),
    ):
        session = told(session, fact)
    assert not session.left("restarts") and not any(isinstance(one, Launch) for one in plan(session, 900.0))
    attended = refused(rehydrated(asked(ended(begun(policy="ask")))))
    assert attended.escalation is not None and attended.held


def test_whoever_is_asked_about_a_lost_conversation_is_not_offered_it_again() -> None:
    attended = refused(rehydrated(asked(ended(begun(policy="ask")))))
    assert attended.escalation is not None
    [label] = [label for name, label, _ in attended.escalation.options if name == "resume"]
    assert "new conversation" in label and "same" not in label


def test_a_summary_turn_does_not_change_how_full_the_conversation_is_said_to_have_been() -> None:
    session = asked(ended(begun()))
    session = told(session, f.ContextMeasured(at=7.5, attempt=1, used=0, size=100, number=2, skill=None))
    session = told(session, ENDS["finished"][0])
    assert session.left_why == "its context window was 80% full, so the conversation was dehydrated"


def test_a_conversation_that_stays_full_is_not_dehydrated_for_ever() -> None:
    session = begun(policy="continue")
    number, count = 1, 0
    prompt = "p0"
    session = told(session, f.PromptQueued(at=4.6, prompt="p1", text="do two"))
    for step in range(40):
        at = 10.0 * (step + 1)
        full = f.ContextMeasured(at=at, attempt=number, used=90, size=100, number=step + 1, skill="/door")
        session = told(session, full)
        session = told(session, f.TurnFinished(at=at + 1, attempt=number, prompt=prompt, stop_reason="end_turn"))
        if session.token is None:  # it was a summary: the next conversation begins
            session = told(session, f.Exited(at=at + 2, attempt=number, how_ended="exit 0", by_us=True))
            number += 1
            for fact in (
                f.LaunchIntended(at=at + 3, attempt=number, generation=number, how="new", history="H", given="x"),
                f.Launched(at=at + 3, attempt=number, folder="/n", pid=8),
                f.Opened(at=at + 4, attempt=number, how="new", token=f"t{number}"),
            ):
                session = told(session, fact)
        if not session.queued:
            break
        prompt = session.queued[0].id
        count += is_question(session.queued[0])
        session = (
            told(session, f.PromptSent(at=at + 5, attempt=number, prompt=prompt, message=step + 2, text="x"))
            if not is_question(session.queued[0])
            else told(
                session,
                f.PromptSent(at=at + 5, attempt=number, prompt=prompt, message=step + 2, text=session.queued[0].text),
            )
        )
    assert count == 3
    assert any("full again" in one for one in session.notices)


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "never opened"])
@pytest.mark.parametrize("by_us", [True, False], ids=["ended by us", "died"])
def test_a_conversation_that_ended_before_it_was_told_the_summary_is_not_loaded(is_open: bool, by_us: bool) -> None:
    session = told(asked(ended(begun())), ENDS["finished"][0])
    session = told(session, f.Exited(at=9.0, attempt=1, how_ended="exit 0", by_us=True))
    why = choose(session, [], 9.0).why
    assert "80% full" in why
    facts: list[f.AnyFact] = [
        f.LaunchIntended(at=10.0, attempt=2, generation=2, how="new", history="H", given="a summary", why=why),
        f.Launched(at=11.0, attempt=2, folder="/2", pid=8),
        *([f.Opened(at=12.0, attempt=2, how="new", token="t2")] if is_open else []),
        f.Exited(at=13.0, attempt=2, how_ended="killed", by_us=by_us),
    ]
    for fact in facts:
        session = told(session, fact)
    assert (candidates(session), session.dehydrated) == ([], True)
    assert choose(session, [], 14.0).why == why, "the reason is the same, and the agent has lost nothing"


def test_the_question_waits_for_the_limit_that_the_session_waits_for() -> None:
    """One turn has ended well; the next one fills the context and reaches a limit; then somebody says more."""
    session = ended(begun(), measured=replace(FULL, used=10))
    for fact in (
        f.PromptSent(at=7.0, attempt=1, prompt="p1", message=2, text="do two"),
        f.TurnBegan(at=7.0, attempt=1, prompt="p1"),
        replace(FULL, at=8.0, number=2),
        f.TurnFailed(at=9.0, attempt=1, prompt="p1", error="rate_limited", message="later", retry_at=60.0),
        f.PromptQueued(at=10.0, prompt="p2", text="do three"),
    ):
        session = told(session, fact)
    assert [is_question(one) for one in session.queued] == [True, False, False]
    assert len({one.limit for one in session.queued[:2]}) == 1, "it waits in the queue of that limit"
    assert not [one for one in plan(session, 11.0) if isinstance(one, Say)], "nothing is sent before the limit ends"
    assert [one for one in plan(session, 61.0) if isinstance(one, Say)]


def test_a_conversation_that_was_shortened_is_not_full_before_its_agent_says_so_again() -> None:
    session = told(told(begun(), FULL), f.Compacted(at=5.5, attempt=1, why="auto", number=1))
    session = told(session, f.PromptQueued(at=5.6, prompt="p1", text="do two"))
    session = told(session, f.TurnFinished(at=6.0, attempt=1, prompt="p0", stop_reason="end_turn"))
    assert session.context is None and questions(session) == []


def test_a_summary_that_was_never_delivered_is_not_lost_with_the_prompt_that_carried_it() -> None:
    session = told(asked(ended(begun())), ENDS["finished"][0])
    session = told(session, f.Exited(at=9.0, attempt=1, how_ended="exit 0", by_us=True))
    history = with_summary("the door is green", f.PROMPT)
    for fact in (
        f.LaunchIntended(at=10.0, attempt=2, generation=2, how="new", history=history, given="a summary", why="full"),
        f.Launched(at=11.0, attempt=2, folder="/2", pid=8),
        f.Opened(at=12.0, attempt=2, how="new", token="t2"),
        f.PromptSent(at=13.0, attempt=2, prompt="p1", message=1, text=history.replace(f.PROMPT, "do two")),
        f.Exited(at=14.0, attempt=2, how_ended="killed", by_us=False, cut=f.Cut(delivered="no")),
        f.CancelAsked(at=15.0, prompt="p1"),
    ):
        session = told(session, fact)
    assert (candidates(session), session.dehydrated) == ([], True)
