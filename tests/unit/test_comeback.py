"""How a session comes back: which conversation is resumed, what the agent is told, what is claimed about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.agents.base.acknowledged import Lacking
from rekindle.core.session import facts as f
from rekindle.core.session.activity import why_skipped
from rekindle.core.session.continuation import continuation
from rekindle.core.session.facts import PROMPT, AnyFact
from rekindle.core.session.history import Turn, with_history
from rekindle.core.session.listing import listing
from rekindle.core.session.plan import plan
from rekindle.core.session.receipt import receipt
from rekindle.core.session.recovery import compacted_prompt, retry_prompt
from rekindle.core.session.rules import BUILT_IN
from rekindle.core.session.state import Session, State
from rekindle.core.session.strategy import Choice, Evidence, candidates, choose
from rekindle.ports.errors import RekindleError
from rekindle.ports.records import Checked
from rekindle.runtime.comeback import Comeback
from tests.fakes.records import FakeRecords
from tests.fakes.workplace import FakeWorkplace
from tests.records import LineDialect
from tests.sessions import folded, told

TOKEN = "tok"


def worked(**limits: float) -> list[AnyFact]:
    """One attempt that finished a turn and was killed in the next one."""
    return [
        f.Created(at=1, session="s1", agent="claude", cwd="/w", limits=f.Limits(**limits)),  # type: ignore[arg-type]
        f.PromptQueued(at=2, prompt="p1", text="one"),
        f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token=TOKEN),
        f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=5, attempt=1, how="new", token=TOKEN, proof="transcript"),
        f.PromptSent(at=6, attempt=1, prompt="p1", message=2, text="one"),
        f.TurnBegan(at=7, attempt=1, prompt="p1"),
        f.TurnFinished(at=8, attempt=1, prompt="p1", stop_reason="end_turn"),
        f.PromptQueued(at=9, prompt="p2", text="two"),
        f.PromptSent(at=10, attempt=1, prompt="p2", message=3, text="two"),
        f.TurnBegan(at=11, attempt=1, prompt="p2"),
        f.Exited(at=12, attempt=1, how_ended="killed", by_us=False, cut=f.Cut(said="half", tools=["make"])),
    ]


def back(how: f.How = "load", **launch: object) -> list[AnyFact]:
    """The second attempt, up and ready."""
    token = TOKEN if how == "load" else "new-token"
    return [
        f.ResumeAsked(at=13, by="user"),
        f.LaunchIntended(at=14, attempt=2, generation=2, how=how, token=token, **launch),  # type: ignore[arg-type]
        f.Launched(at=15, attempt=2, folder="/k/2", pid=2),
        f.Opened(at=16, attempt=2, how=how, token=token, proof="transcript"),
    ]


def written(facts: list[AnyFact]) -> f.Receipt:
    """The last receipt that the facts give rise to."""
    session, found = folded(facts[:1]), None
    for fact in facts[1:]:
        found = receipt(session, fact) or found
        session = told(session, fact)
    assert found is not None
    return found


def compared(extends: bool | None, *known: str) -> f.Compared:
    return f.Compared(at=20, attempt=2, extends=extends, known=list(known), why="looked")


def test_an_intact_record_is_resumed_with_what_it_shows() -> None:
    session = folded(worked())
    assert candidates(session) == [TOKEN]
    chosen = choose(session, [Evidence(TOKEN, "restored", ("one", "two"), ("put back",))], 20)
    assert chosen == Choice("load", TOKEN, ("one", "two"), ("put back",))


def test_a_record_that_lacks_what_was_acknowledged_is_not_resumed_but_told() -> None:
    lacks = "the agent's record lacks 1 of 2 earlier answers"
    chosen = choose(folded(worked()), [Evidence(TOKEN, "intact", ("one", "two"), ("looked",), lacks=lacks)], 20)
    assert chosen == Choice("new", why=lacks, notes=("looked",))


def test_a_missing_record_is_still_asked_for_because_only_the_agent_can_give_it_up() -> None:
    assert choose(folded(worked()), [Evidence(TOKEN, "missing")], 20).how == "load"


def test_nothing_is_given_up_where_nothing_ever_ran() -> None:
    session = folded([*worked()[:5], f.Exited(at=6, attempt=1, how_ended="killed", by_us=False)])
    assert choose(session, [Evidence(TOKEN, "missing")], 20) == Choice("new")


def test_an_earlier_conversation_is_resumed_where_the_newest_record_is_lost_and_that_is_said() -> None:
    session = folded(worked())
    chosen = choose(session, [Evidence("newest", "missing"), Evidence(TOKEN, "intact", ("one",))], 20)
    assert chosen.token == TOKEN
    assert any("earlier" in note for note in chosen.notes)


@pytest.mark.parametrize(
    ("limits", "now", "words"), [({"age_seconds": 10}, 20.0, "more than 10 s ago"), ({"resumes": 0}, 12.5, "0 times")]
)
def test_a_conversation_past_its_limits_is_begun_anew_with_the_reason(
    limits: dict[str, float], now: float, words: str
) -> None:
    chosen = choose(folded(worked(**limits)), [Evidence(TOKEN, "intact", ("one", "two"))], now)
    assert chosen.how == "new"
    assert words in chosen.why


@pytest.mark.parametrize(
    ("facts", "now", "how"),
    [(worked, 14.9, "load"), (worked, 15.1, "new"), (lambda **limits: [*worked(**limits), *back()], 25.9, "load")],
    ids=["young", "old", "opened again since"],
)
def test_the_age_of_a_conversation_counts_from_when_its_token_was_stored_last(
    facts: Callable[..., list[AnyFact]], now: float, how: str
) -> None:
    """The session began at 1; the token was stored at 5, and at 16 once more."""
    chosen = choose(folded(facts(age_seconds=10.0)), [Evidence(TOKEN, "intact", ("one", "two"))], now)
    assert chosen.how == how


def test_a_cut_turn_that_the_record_has_is_told_to_go_on_with_the_truth() -> None:
    session = folded([*worked(), *back(known=["one", "two"], changed=["a.txt"])])
    [told] = [one for one in session.prompts if one.by == "rekindle"]
    assert told.text == continuation("two", f.Cut(said="half", tools=["make"]), ["a.txt"])
    assert all(word in told.text for word in ("half", "make", "outcome is unknown", "a.txt", "same conversation"))


def test_a_cut_turn_that_had_begun_and_is_not_in_the_record_is_neither_repeated_nor_dropped_but_asked_about() -> None:
    session = folded([*worked(), *back(known=["one"])])
    [cut] = [one for one in session.prompts if one.text == "two"]
    assert (cut.state, cut.outcome) == ("failed", "cut off; the agent's record does not have it")
    assert session.queued == []
    assert plan(session, 17) == [], "nothing is sent by itself"
    listed = listing(session, 17, alive=True)
    assert (listed.needs_you, listed.next) == (True, 'rekindle send s1 "how to go on"')
    assert listed.why == "the last prompt was cut off, and the agent does not remember it: say how to go on"


def test_a_new_conversation_is_told_the_history_once_and_the_receipt_says_rebuilt() -> None:
    facts = [*worked(), *back("new", history=f"before {PROMPT} after", why="it is lost")]
    session = folded(facts)
    [say] = plan(session, 17)
    assert getattr(say, "text", "").startswith("before Your process was interrupted")
    assert (written(facts).kind, "it is lost" in written(facts).reason) == ("rebuilt", True)
    name = getattr(say, "prompt", "")
    sent = told(session, f.PromptSent(at=18, attempt=2, prompt=name, message=2, text="told"))
    assert sent.attempts[-1].history == ""


def cut_at_once(policy: Literal["ask", "continue"] = "ask") -> list[AnyFact]:
    """One attempt that was killed in its first turn."""
    return [
        f.Created(at=1, session="s1", agent="claude", cwd="/w", policy=policy),
        f.PromptQueued(at=2, prompt="p1", text="one"),
        f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token=TOKEN),
        f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=5, attempt=1, how="new", token=TOKEN, proof="transcript"),
        f.PromptSent(at=6, attempt=1, prompt="p1", message=2, text="one"),
        f.TurnBegan(at=7, attempt=1, prompt="p1"),
        f.Exited(at=12, attempt=1, how_ended="killed", by_us=False, cut=f.Cut(said="half")),
    ]


def refused(by: str = "user") -> list[AnyFact]:
    """The second attempt, whose agent does not know the conversation."""
    return [
        *([f.ResumeAsked(at=13, by=by)] if by else []),
        f.LaunchIntended(at=14, attempt=2, generation=2, how="load", token=TOKEN),
        f.Launched(at=15, attempt=2, folder="/k/2", pid=2),
        f.OpenRefused(at=16, attempt=2, how="load", problem="unknown_session", message="No conversation found"),
        f.Exited(at=17, attempt=2, how_ended="stopped", by_us=True),
    ]


def anew(at: float = 20) -> list[AnyFact]:
    """The third attempt, in a new conversation."""
    return [
        f.LaunchIntended(at=at, attempt=3, generation=3, how="new", token="t2", history=f"before {PROMPT}", why="lost"),
        f.Launched(at=at + 1, attempt=3, folder="/k/3", pid=3),
        f.Opened(at=at + 2, attempt=3, how="new", token="t2", proof="transcript"),
    ]


def test_a_conversation_with_answers_is_not_given_up_before_somebody_has_said_so() -> None:
    lost = folded([*worked(), *refused()])
    assert lost.held
    assert plan(lost, 18) == []
    skipped = why_skipped(lost, alive=False, kill=False, of_a_run=False)
    assert skipped is not None and "rekindle resume s1" in skipped, "whoever resumes all of them is told what to do"


def test_a_turn_that_was_cut_goes_on_before_a_prompt_that_waited_behind_it() -> None:
    waits = f.PromptQueued(at=8, prompt="p2", text="two")
    *working, ended = cut_at_once("continue")
    session = folded([*working, waits, ended, *refused(""), *anew()])
    assert [one.by for one in session.queued] == ["rekindle", "user"]
    assert "one" in session.queued[0].text and "half" in session.queued[0].text


def test_a_prompt_that_says_how_to_go_on_stands_for_the_turn_that_was_lost() -> None:
    says: list[AnyFact] = [f.PromptQueued(at=18, prompt="p3", text="leave it"), f.ResumeAsked(at=18, by="user")]
    session = folded([*worked(), *refused(), *says, *anew()])
    assert [(one.by, one.text) for one in session.queued] == [("user", "leave it")]


def test_without_a_history_a_new_conversation_is_fresh() -> None:
    assert written([*worked(), *back("new")]).kind == "fresh"


def test_a_record_that_goes_on_with_every_prompt_is_the_same_and_nothing_less_is() -> None:
    before = [*worked(), *back(known=["one", "two"])]
    assert written(before).kind == "unproven"
    assert written([*before, compared(True, "one", "two", "go on")]).kind == "same"
    assert written([*before, compared(True, "two")]).kind == "unproven"
    assert written([*before, compared(False, "one", "two")]).kind == "unproven"
    assert written([*before, compared(None)]).kind == "unproven"
    lacking = replace(compared(True, "one", "two"), lacks="1 of 2 earlier answers")
    assert (written([*before, lacking]).kind, lacking.lacks in written([*before, lacking]).reason) == ("unproven", True)


def test_another_name_of_the_conversation_is_a_fresh_start_whatever_the_record_says() -> None:
    named = f.Named(at=17, attempt=2, token="another")
    facts = [*worked(), *back(known=["one", "two"]), named, compared(True, "one", "two")]
    assert written(facts).kind == "fresh"
    assert "another" in folded(facts).message


def test_what_was_running_stays_in_the_receipt_after_the_agent_was_told() -> None:
    proved = written([*worked(), *back(known=["one", "two"]), compared(True, "one", "two")])
    assert proved.unknown == ["was started, outcome unknown: make"]


def failed(error: f.ErrorClass, at: float = 20, prompt: str = "p1", **more: object) -> f.TurnFailed:
    return f.TurnFailed(at=at, attempt=1, prompt=prompt, error=error, message="no", **more)  # type: ignore[arg-type]


def at_work(
    policy: str = "ask", compact: str | None = None, cost: float | None = None, tokens: int | None = None
) -> Session:
    return folded(
        [
            f.Created(at=1, session="s1", agent="a", cwd="/w", policy=policy, limits=f.Limits(cost, tokens)),
            f.PromptQueued(at=2, prompt="p1", text="one"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token=TOKEN),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token=TOKEN, compact=compact),
            f.PromptSent(at=6, attempt=1, prompt="p1", message=2, text="one"),
        ]
    )


def test_a_rate_limit_waits_until_its_end_and_goes_on_by_itself() -> None:
    session = told(at_work(), failed("rate_limited", retry_at=3600.0))
    assert [getattr(one, "until", None) for one in plan(session, 21)] == [3600.5]
    [say] = plan(session, 3601)
    assert "rate limit" in getattr(say, "text", "")


def test_a_wait_outlives_the_agent() -> None:
    session = told(at_work(), failed("overloaded"))
    gone = told(session, f.Exited(at=21, attempt=1, how_ended="killed", by_us=False))
    assert [type(one).__name__ for one in plan(gone, 22)] == ["Wait"]
    assert [type(one).__name__ for one in plan(gone, 1000)] == ["Launch"]


def test_a_person_need_not_wait() -> None:
    session = told(at_work(), failed("rate_limited", retry_at=3600.0))
    now = told(session, f.ResumeAsked(at=22, by="user"))
    assert [type(one).__name__ for one in plan(now, 23)] == ["Say"]


def test_without_progress_patience_runs_out_and_pauses_grow() -> None:
    session, pauses = at_work(), []
    for turn in range(BUILT_IN.retries.times):
        session = told(session, failed("overloaded", prompt=session.turn.id if session.turn else "", at=20.0 + turn))
        [waiting] = session.queued
        pauses.append((waiting.after or 0) - 20.0 - turn)
        session = told(session, f.PromptSent(at=20.5 + turn, attempt=1, prompt=waiting.id, message=3, text="again"))
    assert pauses == sorted(pauses)
    session = told(session, failed("overloaded", prompt=session.turn.id if session.turn else "", at=90.0))
    assert session.queued == []
    assert session.escalation is not None


@pytest.mark.parametrize("error", ["unauthorized", "out_of_credits", "other"])
def test_what_only_a_person_can_mend_waits_for_one(error: f.ErrorClass) -> None:
    session = told(at_work("continue"), failed(error))
    assert (session.state, session.queued, plan(session, 99)) == (State.WAITING_FOR_INPUT, [], [])


def test_nothing_goes_on_by_itself_where_that_is_forbidden() -> None:
    assert told(at_work("never"), failed("rate_limited")).queued == []


def test_a_conversation_that_is_too_long_is_compacted_by_the_agent_and_then_goes_on() -> None:
    session = told(at_work(compact="/compact"), failed("context_overflow"))
    assert [one.text.splitlines()[0][:20] for one in session.queued] == ["/compact", "Your conversation ha"]


def test_without_a_compaction_it_goes_on_in_a_new_conversation() -> None:
    session = told(at_work(), failed("context_overflow"))
    assert [type(one).__name__ for one in plan(session, 21)] == ["End"]
    gone = told(session, f.Exited(at=22, attempt=1, how_ended="stopped", by_us=True))
    assert candidates(gone) == []
    assert "too long" in choose(gone, [], 23).why or choose(gone, [], 23).why == ""
    assert [type(one).__name__ for one in plan(gone, 40)] == ["Launch"]


def test_a_limit_stops_the_session_and_leaves_it_resumable() -> None:
    session = at_work(cost=0.5)
    spent = f.TurnFinished(at=8, attempt=1, prompt="p1", stop_reason="end_turn", usage=f.Usage(10, 5, 0, 0.6))
    session = told(session, spent)
    assert [type(one).__name__ for one in plan(session, 9)] == ["End"]
    gone = told(session, f.Exited(at=10, attempt=1, how_ended="stopped", by_us=True))
    queued = told(gone, f.PromptQueued(at=11, prompt="p9", text="more"))
    assert (gone.state, plan(queued, 12)) == (State.WAITING_FOR_INPUT, [])
    more = told(queued, f.ResumeAsked(at=13, by="user", limits=f.Limits(cost=5.0)))
    assert [type(one).__name__ for one in plan(more, 14)] == ["Launch"]


def test_a_limit_on_tokens_stops_a_turn_that_runs_and_what_it_took_is_counted_once() -> None:
    session = told(at_work("continue", tokens=100), f.Spent(at=7, attempt=1, prompt="p1", usage=f.Usage(60, 30)))
    assert plan(session, 8) == []
    session = told(session, f.Spent(at=8, attempt=1, prompt="p1", usage=f.Usage(60, 50)))
    assert [type(one).__name__ for one in plan(session, 9)] == ["End"]
    gone = told(session, f.Exited(at=10, attempt=1, how_ended="stopped", by_us=True, cut=f.Cut(said="half")))
    assert (gone.state, gone.usage.tokens, plan(gone, 11)) == (State.WAITING_FOR_INPUT, 110, [])
    assert "110 tokens" in gone.over
    assert gone.turn is not None
    assert gone.turn.state == "cut", "it goes on where it was stopped"
    more = told(gone, f.ResumeAsked(at=13, by="user", limits=f.Limits(tokens=500)))
    assert [type(one).__name__ for one in plan(more, 14)] == ["Launch"]


@pytest.mark.parametrize(("to", "state"), [("cancelled", State.CANCELLED), ("completed", State.COMPLETED)])
def test_a_limit_that_is_reached_while_it_ends_does_not_change_what_somebody_has_asked_for(
    to: str, state: State
) -> None:
    session = told(at_work(tokens=100), f.StopAsked(at=7, by="user", to=to))  # type: ignore[arg-type]
    session = told(session, f.Spent(at=8, attempt=1, prompt="p1", usage=f.Usage(60, 50)))
    gone = told(session, f.Exited(at=10, attempt=1, how_ended="stopped", by_us=True))
    assert (gone.state, gone.stopped_by) == (state, "user")
    assert "110 tokens" in gone.over


def test_what_a_turn_took_is_what_the_agent_says_at_its_end_and_else_what_was_told_on_the_way() -> None:
    session = told(at_work(), f.Spent(at=7, attempt=1, prompt="p1", usage=f.Usage(60, 30)))
    for usage, expected in ((f.Usage(70, 30), 100), (None, 90), (f.Usage(cost=0.0), 90)):
        end = f.TurnFinished(at=8, attempt=1, prompt="p1", stop_reason="end_turn", usage=usage)
        assert told(session, end).usage.tokens == expected


def test_a_turn_that_is_given_up_counts_as_cut_off_and_comes_back_as_the_policy_says() -> None:
    for policy, expected in (("continue", ["Launch"]), ("ask", [])):
        session = told(at_work(policy), f.GivenUp(at=8, attempt=1, why="it said nothing for 240 s"))
        assert [type(one).__name__ for one in plan(session, 9)] == ["End"]
        ended = f.Exited(at=10, attempt=1, how_ended="stopped", by_us=True, cut=f.Cut(said="x"))
        gone = told(session, ended)
        assert gone.attempts[-1].how_ended == "it said nothing for 240 s"
        assert [type(one).__name__ for one in plan(gone, 30)] == expected


def test_a_one_shot_agent_ends_with_its_turn_and_sleeps() -> None:
    session = folded([f.Created(at=1, session="s1", agent="claude", cwd="/w", one_shot=True), *worked()[1:8]])
    assert [type(one).__name__ for one in plan(session, 9)] == ["End"]


def test_a_retry_that_a_person_hastened_is_followed_by_another_one_if_it_fails_too() -> None:
    session = told(at_work(), failed("rate_limited", retry_at=3600.0))
    session = told(session, f.ResumeAsked(at=22, by="user"))
    [first] = session.queued
    session = told(session, f.PromptSent(at=23, attempt=1, prompt=first.id, message=3, text=first.text))
    again = f.TurnFailed(at=24, attempt=1, prompt=first.id, error="rate_limited", message="no", retry_at=3600.0)
    session = told(session, again)
    assert "by itself" in session.message
    [second] = session.queued
    assert second.id != first.id


def test_a_conversation_that_stays_too_long_is_not_compacted_for_ever() -> None:
    session = told(at_work("continue", compact="/compact"), failed("context_overflow"))
    turns = 0
    while session.queued and not session.attempts[-1].given_up:
        prompt, turns = session.queued[0], turns + 1
        assert turns < 10
        session = told(session, f.PromptSent(at=30, attempt=1, prompt=prompt.id, message=9, text=prompt.text))
        if prompt.text == "/compact":
            ended: AnyFact = f.TurnFinished(at=31, attempt=1, prompt=prompt.id, stop_reason="end_turn")
        else:
            ended = f.TurnFailed(at=31, attempt=1, prompt=prompt.id, error="context_overflow", message="no")
        session = told(session, ended)
    assert "too long" in session.attempts[-1].given_up


def test_an_agent_is_reminded_of_its_request_and_not_of_the_history_in_front_of_it() -> None:
    told = with_history([Turn("user", "long ago " * 900)], "the request")
    reminders = (
        continuation(told, f.Cut()),
        compacted_prompt(told),
        retry_prompt(failed("overloaded"), told),
    )
    assert all("the request" in one and "long ago" not in one for one in reminders)


class _Counting(FakeRecords):
    """Knows which records were looked at."""

    def __init__(self) -> None:
        super().__init__(LineDialect())
        self.looked: list[str] = []

    async def check(self, session: Session, token: str) -> Checked:
        self.looked.append(token)
        return await super().check(session, token)


def test_an_older_record_is_left_alone_where_the_newest_is_there() -> None:
    facts = [*worked(), *back("new"), f.Exited(at=20, attempt=2, how_ended="killed", by_us=False)]
    session = folded(facts)
    records = _Counting()
    records.lying = {TOKEN: b"u:one;\n", "new-token": b"u:two;\n"}
    comeback = Comeback(records, FakeWorkplace(), {})
    assert asyncio.run(comeback.prepare(session, 3, 21.0)).token == "new-token"
    assert records.looked == ["new-token"]
    records.lying = {TOKEN: b"u:one;\n"}
    records.copied.clear()
    assert asyncio.run(comeback.prepare(session, 3, 21.0)).token == TOKEN


def test_a_record_with_nothing_of_what_was_said_here_proves_nothing() -> None:
    cut = [*worked()[:7], f.Exited(at=8, attempt=1, how_ended="killed", by_us=False, cut=f.Cut(said="half"))]
    shown = f.Opened(at=16, attempt=2, how="load", token=TOKEN, known=["somebody else's"])
    assert written([*cut, *back()[:3], shown]).kind == "unproven"


class Forgetful(FakeWorkplace):
    """Nothing of what was said is kept here."""

    async def history(self, session: Session) -> list[Turn]:
        return []


class Unreadable(FakeRecords):
    """Records that cannot be compared."""

    async def lacking(self, session: Session, token: str) -> Lacking:
        raise RekindleError("the record cannot be read", "look at it")


def test_answers_that_could_not_be_compared_are_not_called_the_same() -> None:
    done = f.TurnFinished(at=12, attempt=1, prompt="p2", stop_reason="end_turn")
    ended = f.Exited(at=13, attempt=1, how_ended="killed", by_us=False)
    facts = [*worked()[:11], done, ended, *back(known=["one", "two"])[:3]]
    opened = f.Opened(at=16, attempt=2, how="load", token=TOKEN, known=["one", "two"])
    turns = [Turn("user", "one"), Turn("user", "two")]
    for records, kind in ((FakeRecords(), "same"), (Unreadable(), "unproven")):
        found = asyncio.run(Comeback(records, FakeWorkplace(), {}).verdict(folded(facts), opened, turns, 17.0))
        assert written([*facts, found]).kind == kind


class Mixed(FakeRecords):
    """Its model gets a prompt that nobody confirmed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    async def lacking(self, session: Session, token: str) -> Lacking:
        return Lacking(unconfirmed=(self._text,))


@pytest.mark.parametrize(("text", "kind"), [("two", "same"), ("a stranger's wish", "unproven")])
def test_a_prompt_that_nobody_confirmed_is_foreign_unless_it_is_one_of_ours(text: str, kind: str) -> None:
    done = f.TurnFinished(at=12, attempt=1, prompt="p2", stop_reason="end_turn")
    ended = f.Exited(at=13, attempt=1, how_ended="killed", by_us=False)
    facts = [*worked()[:11], done, ended, *back(known=["one", "two"])[:3]]
    opened = f.Opened(at=16, attempt=2, how="load", token=TOKEN, known=["one", "two"])
    turns = [Turn("user", "one"), Turn("user", "two")]
    comeback = Comeback(Mixed(text), Forgetful(), {})
    told = written([*facts, asyncio.run(comeback.verdict(folded(facts), opened, turns, 17.0))])
    assert told.kind == kind
    assert ("another conversation" in told.reason) is (kind != "same")


@pytest.mark.parametrize("shown", [["two", "one"], ["one", "two"]])
def test_a_loss_is_told_also_where_nobody_can_say_what_was_lost(shown: list[str]) -> None:
    """Prompts out of their order: without a history to tell again the conversation goes on, and is not called same."""
    done = f.TurnFinished(at=12, attempt=1, prompt="p2", stop_reason="end_turn")
    facts = [*worked()[:11], done, f.Exited(at=13, attempt=1, how_ended="killed", by_us=False), *back()[:3]]
    opened = f.Opened(at=16, attempt=2, how="load", token=TOKEN, known=shown)
    comeback = Comeback(FakeRecords(), Forgetful(), {})
    turns = [Turn("user", one) for one in shown]
    found = asyncio.run(comeback.verdict(folded(facts), opened, turns, 17.0))
    told = written([*facts, found])
    if shown == ["one", "two"]:
        assert told.kind == "same"
    else:
        assert told.kind == "unproven"
        assert "out of their order" in told.reason


_RECORDS = st.sampled_from([None, b"", b"u:one;\n", b"u:one;\na:1;\nu:two;\n", b"u:one;\nu:tw", b"garbage"])


@given(
    lying=_RECORDS,
    copied=_RECORDS,
    older=_RECORDS,
    limits=st.sampled_from([{}, {"resumes": 0}, {"age_seconds": 5.0}, {"resumes": 9}]),
    more=st.sampled_from(["", "lost", "handed over", "not native", "twice"]),
    understood=st.booleans(),
)
def test_what_is_foretold_is_what_happens_and_foretelling_changes_nothing(
    lying: bytes | None,
    copied: bytes | None,
    older: bytes | None,
    limits: dict[str, float],
    more: str,
    understood: bool,
) -> None:
    facts = worked(**limits)
    if more == "twice":
        facts += [*back("new"), f.Exited(at=20, attempt=2, how_ended="killed", by_us=False)]
    elif more == "lost":
        facts += [f.ConversationLeft(at=20, token=TOKEN, why="it was too long")]
    elif more:
        handover = f.Handover(agent="other") if more == "handed over" else None
        facts += [f.ResumeAsked(at=20, by="me", handover=handover, native=more != "not native")]
    session = folded(facts)
    token = session.token or TOKEN
    records = FakeRecords(LineDialect() if understood else None)
    records.lying = {name: data for name, data in ((token, lying), ("older", older)) if data is not None}
    records.copied = {token: [copied]} if copied is not None else {}
    before = (dict(records.lying), {name: list(found) for name, found in records.copied.items()})
    comeback = Comeback(records, FakeWorkplace(), {})
    foretold = asyncio.run(comeback.foretold(session, 30.0))
    assert (records.lying, records.copied) == before
    happens = asyncio.run(comeback.prepare(session, len(session.attempts) + 1, 30.0))
    assert (foretold.how, foretold.token, foretold.why, list(foretold.notes)) == (
        happens.how,
        happens.token,
        happens.why,
        happens.notes,
    )
