"""Every cell of the table: what a session does by itself when a trigger meets an action of its runbook."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rekindle.core.effects import Launch, RunGate, Say, Wait
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import Reactions
from rekindle.core.session import facts as f
from rekindle.core.session.asking import all_open
from rekindle.core.session.plan import plan
from rekindle.core.session.rules import Rules, governed
from rekindle.core.session.state import Session, State
from tests.sessions import folded, told

GATE = ("make", "test")


def ruled(**rules: Reaction | tuple[Reaction, ...]) -> Rules:
    given = {name: one if isinstance(one, tuple) else (one,) for name, one in rules.items()}
    return governed(Rules(), Reactions(**given))


def at_work(rules: Rules) -> Session:
    """A session in the middle of its first turn."""
    return folded(
        [
            f.Created(at=1, session="s1", agent="a", cwd="/w", rules=rules, rules_source="book.toml"),
            f.PromptQueued(at=2, prompt="p1", text="one"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="t", compact="/compact"),
            f.PromptSent(at=6, attempt=1, prompt="p1", message=2, text="one"),
            f.TurnBegan(at=7, attempt=1, prompt="p1"),
        ]
    )


def finished(session: Session, prompt: str = "p1", at: float = 10) -> Session:
    return told(session, f.TurnFinished(at=at, attempt=1, prompt=prompt, stop_reason="end_turn"))


def killed(session: Session, at: float = 20, attempt: int = 1) -> Session:
    cut = f.Cut(said="half", delivered="yes") if session.turn is not None else None
    return told(session, f.Exited(at=at, attempt=attempt, how_ended="killed by SIGKILL", by_us=False, cut=cut))


def failed(session: Session, error: f.ErrorClass = "other", at: float = 20, **more: object) -> Session:
    prompt = session.turn.id if session.turn is not None else "p1"
    fact = f.TurnFailed(at=at, attempt=1, prompt=prompt, error=error, message="no", **more)  # type: ignore[arg-type]
    return told(session, fact)


def idled(session: Session) -> Session:
    until = session.timers["idle"]
    return told(session, f.Due(at=until, timer="idle", until=until))


def silent(session: Session, seconds: float = 300.0, at: float = 400) -> Session:
    return told(session, f.Stalled(at=at, attempt=1, seconds=seconds))


def effects(session: Session, now: float = 1e6) -> list[str]:
    return [type(one).__name__ for one in plan(session, now)]


def answered(session: Session, option: str, text: str = "", at: float = 500) -> Session:
    [question] = all_open(session)
    return told(session, f.EscalationAnswered(at=at, question=question.id, option=option, by="me", text=text))


def test_idle_nudge_says_something_to_the_live_agent_as_often_as_it_may_and_then_asks() -> None:
    session = finished(at_work(ruled(idle=Reaction("nudge", message="are you done?", attempts=2))))
    for number in range(2):
        session = idled(session)
        [prompt] = session.queued
        assert (prompt.text, prompt.by) == ("are you done?", "rekindle")
        session = told(session, f.PromptSent(at=50 + number, attempt=1, prompt=prompt.id, message=9, text=prompt.text))
        session = finished(session, prompt.id, at=60 + number)
    session = idled(session)
    assert session.queued == []
    assert session.escalation is not None
    assert session.escalation.trigger == "idle"


def test_a_finished_turn_alone_refills_no_nudges_but_changed_files_do() -> None:
    session = idled(finished(at_work(ruled(idle=Reaction("nudge")))))
    [prompt] = session.queued
    session = told(session, f.PromptSent(at=50, attempt=1, prompt=prompt.id, message=9, text=prompt.text))
    session = finished(session, prompt.id, at=60)
    assert session.spent == {"nudges": 1}
    assert told(session, f.FilesChanged(at=61, snapshot="x")).spent == {}


@pytest.mark.parametrize(("action", "state"), [("done", State.COMPLETED), ("fail", State.FAILED)])
def test_idle_done_and_fail_end_the_session(action: str, state: State) -> None:
    session = idled(finished(at_work(ruled(idle=Reaction(action)))))  # type: ignore[arg-type]
    assert effects(session) == ["End"]
    gone = told(session, f.Exited(at=700, attempt=1, how_ended="ended", by_us=True))
    assert gone.state is state


def test_idle_sleep_ends_the_agent_and_a_prompt_wakes_it() -> None:
    session = idled(finished(at_work(ruled(idle=Reaction("sleep", cooldown=(5.0,))))))
    assert session.stop_asked == "asleep"
    gone = told(session, f.Exited(at=700, attempt=1, how_ended="ended", by_us=True))
    woken = told(gone, f.PromptQueued(at=800, prompt="p2", text="more"))
    assert effects(woken) == ["Launch"]


def test_idle_escalate_asks_once_and_leave_puts_it_to_sleep() -> None:
    session = idled(finished(at_work(ruled(idle=Reaction("escalate")))))
    assert session.escalation is not None
    assert session.timers == {}
    left = answered(session, "leave")
    assert (left.escalation, left.stop_asked) == (None, "asleep")


@pytest.mark.parametrize("trigger", ["idle", "dead", "error"])
def test_a_gate_that_passes_finishes_the_task_and_one_that_fails_asks_with_its_output(trigger: str) -> None:
    session = at_work(ruled(**{trigger: Reaction("gate", run=GATE)}))
    session = {
        "idle": lambda: idled(finished(session)),
        "dead": lambda: killed(session),
        "error": lambda: failed(session),
    }[trigger]()
    assert session.gate is not None
    [gate] = [one for one in plan(session, 1e6) if isinstance(one, RunGate)]
    assert gate.run == GATE
    passed = told(session, f.GateRan(at=600, gate=gate.gate, passed=True))
    assert passed.stop_asked == "completed" if passed.is_up else passed.state is State.COMPLETED
    said_no = told(session, f.GateRan(at=600, gate=gate.gate, passed=False, output="3 failed"))
    assert said_no.escalation is not None
    assert "make test" in said_no.escalation.title
    assert said_no.escalation.detail == "3 failed"
    assert told(said_no, f.GateRan(at=601, gate=gate.gate, passed=True)) == said_no  # told twice, or too late


def test_dead_resume_starts_the_agent_again_after_its_cooldown_and_says_the_message() -> None:
    rule = Reaction("resume", message="Continue from where you left off.", append=True, cooldown=(60.0,))
    session = killed(at_work(ruled(dead=rule)))
    assert [getattr(one, "until", 0) for one in plan(session, 21)] == [80.0]
    assert plan(session, 81) == [Launch("s1", 2)]
    session = told(session, f.LaunchIntended(at=81, attempt=2, generation=2, how="load", token="t", known=["one"]))
    session = told(session, f.Launched(at=82, attempt=2, folder="/k/2", pid=2))
    session = told(session, f.Opened(at=83, attempt=2, how="load", token="t", known=["one"]))
    [say] = [one for one in plan(session, 84) if isinstance(one, Say)]
    assert say.text.endswith("Continue from where you left off.")
    assert "the same conversation" in say.text


def test_dead_resume_with_a_message_that_replaces_begins_a_new_conversation_that_is_told_nothing() -> None:
    session = killed(at_work(ruled(dead=Reaction("resume", message="Start over."))))
    assert (session.token, session.untold) == (None, True)
    assert [one.text for one in session.queued] == ["Start over."]
    assert effects(session) == ["Launch"]


def test_dead_resume_is_spent_after_its_attempts_and_then_a_person_is_asked_once() -> None:
    session = killed(at_work(ruled(dead=Reaction("resume", attempts=2))))
    for number in (2, 3):
        assert effects(session) == ["Launch"]
        session = told(
            session, f.LaunchIntended(at=30 * number, attempt=number, generation=number, how="load", token="t")
        )
        session = told(session, f.Launched(at=30 * number + 1, attempt=number, folder="/k", pid=number))
        session = killed(session, at=30 * number + 2, attempt=number)
    assert effects(session) == []
    assert session.escalation is not None
    assert "brought back 2 times" in session.escalation.title


@pytest.mark.parametrize(("action", "state"), [("done", State.COMPLETED), ("fail", State.FAILED)])
def test_dead_done_and_fail_end_the_session(action: str, state: State) -> None:
    session = killed(at_work(ruled(dead=Reaction(action))))  # type: ignore[arg-type]
    assert (session.state, effects(session)) == (state, [])
    assert ("SIGKILL" in session.message) == (action == "fail")


def test_dead_stop_leaves_it_alone() -> None:
    session = killed(at_work(ruled(dead=Reaction("stop"))))
    assert (session.escalation, effects(session)) == (None, [])


def test_dead_escalate_asks_and_every_answer_does_what_it_says() -> None:
    session = killed(at_work(ruled(dead=Reaction("escalate"))))
    assert session.escalation is not None
    assert session.escalation.recommended == "resume"
    assert effects(answered(session, "resume")) == ["Launch"]
    assert [one.text for one in answered(session, "resume", text="use B").queued] == ["use B"]
    assert answered(session, "done").state is State.COMPLETED
    assert answered(session, "fail").state is State.FAILED
    left = answered(session, "leave")
    assert (effects(left), left.escalation) == ([], None)


def test_an_agent_that_dies_at_rest_asks_nobody_anything() -> None:
    session = killed(finished(at_work(ruled(dead=Reaction("escalate")))))
    assert session.escalation is None


def test_the_task_of_a_feature_is_left_to_the_run_of_the_feature() -> None:
    session = replace(at_work(ruled(dead=Reaction("escalate"))), of_run=True)
    assert killed(session).escalation is None


@pytest.mark.parametrize("action", ["wait", "resume"])
def test_error_wait_and_resume_try_again_after_the_cooldown(action: str) -> None:
    session = failed(at_work(ruled(error=Reaction(action, "rate_limited", cooldown=(60.0,)))), "rate_limited")  # type: ignore[arg-type]
    assert plan(session, 21) == [Wait("s1", 80.0)]
    [say] = plan(session, 81)
    assert "rate limit" in getattr(say, "text", "")


def test_a_limit_that_says_when_it_ends_is_waited_for_to_its_end() -> None:
    session = failed(at_work(ruled(error=Reaction("wait", cooldown=(60.0,)))), "rate_limited", retry_at=3600.0)
    assert plan(session, 21) == [Wait("s1", 3600.5)]


def test_error_resume_with_a_message_says_it_in_the_same_conversation_or_in_a_new_one() -> None:
    same = failed(at_work(ruled(error=Reaction("resume", message="again", append=True))))
    assert ([one.text for one in same.queued], same.token) == (["again"], "t")
    fresh = failed(at_work(ruled(error=Reaction("resume", message="again"))))
    assert ([one.text for one in fresh.queued], fresh.token, fresh.untold) == (["again"], None, True)
    assert effects(fresh) == ["End"]


def test_retries_are_counted_for_each_type_of_error_apart_and_refilled_by_a_turn_that_ended_well() -> None:
    rules = ruled(error=(Reaction("wait", "overloaded"), Reaction("wait", "no_internet")))
    session = at_work(rules)
    for error in ("overloaded", "no_internet"):
        session = failed(session, error)
        [again] = session.queued
        session = told(session, f.PromptSent(at=30, attempt=1, prompt=again.id, message=9, text="again"))
    assert session.spent == {"retries:overloaded": 1, "retries:no_internet": 1}
    assert session.turn is not None
    well = finished(session, session.turn.id, at=40)
    assert well.spent == {}
    assert failed(session, "overloaded").escalation is not None


def test_the_first_rule_that_matches_wins_and_the_same_match_is_a_ladder() -> None:
    rules = ruled(
        error=(
            Reaction("compact", "context_overflow"),
            Reaction("renew", "context_overflow"),
            Reaction("fail"),
        )
    )
    session = failed(at_work(rules), "context_overflow")
    compacting = session.queued[0]
    assert compacting.text == "/compact"
    session = told(session, f.PromptSent(at=30, attempt=1, prompt=compacting.id, message=9, text="/compact"))
    session = failed(session, "context_overflow", at=31)
    assert session.token is None  # a new conversation
    assert failed(at_work(rules), "other").stop_asked == "failed"


def test_error_escalate_asks_and_trying_again_goes_on_in_the_same_conversation() -> None:
    session = failed(at_work(ruled(error=Reaction("escalate"))), "unauthorized")
    assert session.escalation is not None
    assert session.escalation.trigger == "error"
    again = answered(session, "resume")
    assert (effects(again), again.token) == (["Say"], "t")


def test_an_error_that_no_rule_is_for_asks() -> None:
    session = failed(at_work(ruled(error=Reaction("wait", "overloaded"))), "unauthorized")
    assert session.escalation is not None


def test_stall_stop_ends_the_agent_and_on_dead_decides() -> None:
    rules = ruled(stall=Reaction("stop", attempts=None), dead=Reaction("fail"))
    session = silent(at_work(rules))
    assert effects(session) == ["End"]
    assert killed(session, at=401).state is State.FAILED


def test_stall_resume_starts_it_again_whatever_on_dead_says_as_often_as_it_may() -> None:
    session = killed(silent(at_work(ruled(stall=Reaction("resume"), dead=Reaction("fail")))), at=401)
    assert effects(session) == ["Launch"]
    assert session.spent == {"stall:resume": 1}
    session = told(session, f.LaunchIntended(at=402, attempt=2, generation=2, how="load", token="t"))
    session = told(session, f.Launched(at=403, attempt=2, folder="/k", pid=2))
    session = told(session, f.Opened(at=404, attempt=2, how="load", token="t", known=["one"]))
    [say] = [one for one in plan(session, 405) if isinstance(one, Say)]
    session = told(session, f.PromptSent(at=406, attempt=2, prompt=say.prompt, message=1, text=say.text))
    session = told(session, f.Stalled(at=800, attempt=2, seconds=300.0))
    assert session.escalation is not None


def test_stall_nudge_ends_the_turn_and_says_something() -> None:
    session = silent(at_work(ruled(stall=Reaction("nudge", message="hello?"))))
    assert (session.cancel_asked, [one.text for one in session.queued]) == ("p1", ["hello?"])
    assert silent(session, at=401) == session  # it gets time to end its turn
    assert silent(session, seconds=999.0, at=900).attempts[-1].given_up


def test_stall_fail_and_escalate() -> None:
    assert silent(at_work(ruled(stall=Reaction("fail")))).stop_asked == "failed"
    asked = silent(at_work(ruled(stall=Reaction("escalate"))))
    assert asked.escalation is not None
    assert silent(asked, at=401) == asked
    waits_on = answered(asked, "leave")
    assert silent(waits_on, at=502).escalation is None
    told_off = answered(asked, "resume")
    assert (told_off.cancel_asked, len(told_off.queued)) == ("p1", 1)


def test_a_prompt_behind_a_silent_turn_leaves_the_question_about_it_open_and_asks_no_other() -> None:
    asked = silent(at_work(ruled(stall=Reaction("escalate"))))
    assert asked.escalation is not None
    more = told(asked, f.PromptQueued(at=450, prompt="p2", text="two"))
    assert more.escalation == asked.escalation
    assert silent(more, at=500).escalation == asked.escalation


def asked_by_agent(session: Session, title: str = "Run rm -rf /", kind: str = "execute") -> Session:
    options = [("y", "Yes", "allow_once"), ("n", "No", "reject_once")]
    fact = f.PermissionAsked(at=30, attempt=1, request="r1", title=title, kind=kind, options=options, prompt="p1")
    return told(session, fact)


def test_a_question_is_answered_by_rule_and_who_answered_is_on_record() -> None:
    rules = ruled(ask=(Reaction("deny", "*rm -rf*"), Reaction("allow", "execute"), Reaction("escalate")))
    denied = asked_by_agent(at_work(rules))
    assert [(one.answered, one.option) for one in denied.permissions] == [(True, "n")]
    assert (denied.settled[-1].by, denied.notices[-1]) == ("the runbook", "answered by the runbook: deny: Run rm -rf /")
    assert asked_by_agent(at_work(rules), "ls").permissions[0].option == "y"
    assert not asked_by_agent(at_work(rules), "look", "fetch").permissions[0].answered


def test_a_question_that_waits_is_no_stall() -> None:
    session = asked_by_agent(at_work(ruled(stall=Reaction("fail"))))
    assert silent(session) == session


@pytest.mark.parametrize("action", ["stop", "escalate", "fail"])
def test_a_limit_stops_the_session_asks_or_fails_it(action: str) -> None:
    rules = replace(ruled(limit=Reaction(action, attempts=None)), limits=f.Limits(tokens=5))  # type: ignore[arg-type]
    session = told(
        at_work(rules),
        f.TurnFinished(at=10, attempt=1, prompt="p1", stop_reason="end_turn", usage=f.Usage(5, 5)),
    )
    assert session.over
    assert session.stop_asked == ("failed" if action == "fail" else "asleep")
    assert (session.escalation is not None) == (action == "escalate")
    if action == "escalate":
        gone = told(session, f.Exited(at=11, attempt=1, how_ended="ended", by_us=True))
        raised = answered(gone, "raise")
        assert (raised.limits.tokens, raised.over, effects(raised)) == (20, "", ["Launch"])


def test_what_is_told_about_an_earlier_attempt_triggers_nothing() -> None:
    session = killed(at_work(ruled(dead=Reaction("resume", attempts=9), idle=Reaction("done"))))
    session = told(session, f.LaunchIntended(at=30, attempt=2, generation=2, how="load", token="t"))
    late: list[f.AnyFact] = [
        f.Exited(at=31, attempt=1, how_ended="again", by_us=False),
        f.TurnFinished(at=32, attempt=1, prompt="p1", stop_reason="end_turn"),
        f.TurnFailed(at=33, attempt=1, prompt="p1", error="other", message="late"),
        f.Stalled(at=34, attempt=1, seconds=999.0),
        f.Due(at=35, timer="idle", until=9.0),
    ]
    for fact in late:
        assert told(session, fact) == session


def test_a_question_expires_when_the_session_goes_on_without_an_answer() -> None:
    session = killed(at_work(ruled(dead=Reaction("escalate"))))
    woken = told(session, f.PromptQueued(at=40, prompt="p2", text="never mind"))
    assert woken.escalation is None
    assert woken.settled[-1].how == "expired"


def cancelled(session: Session, at: float = 10) -> Session:
    asked = told(session, f.CancelAsked(at=at - 1, prompt="p1"))
    return told(asked, f.TurnFinished(at=at, attempt=1, prompt="p1", stop_reason="cancelled"))


@pytest.mark.parametrize("action", ["nudge", "done", "fail", "gate", "escalate"])
def test_a_turn_that_a_person_cancelled_or_that_failed_is_not_called_idle_work(action: str) -> None:
    rules = ruled(idle=Reaction(action, run=GATE if action == "gate" else ()))  # type: ignore[arg-type]
    for session in (cancelled(at_work(rules)), failed(at_work(rules), "unauthorized")):
        rested = idled(session)
        assert (rested.stop_asked, rested.queued, rested.gate) == ("asleep", [], None)


def test_an_error_question_keeps_no_agent_up_for_ever_and_outlives_its_sleep() -> None:
    session = failed(at_work(Rules()), "unauthorized")
    asleep = idled(session)
    gone = told(asleep, f.Exited(at=900, attempt=1, how_ended="ended", by_us=True))
    assert gone.escalation is not None
    again = answered(gone, "resume", at=950)
    assert effects(again) == ["Launch"]
    assert "What you were asked: " in again.queued[0].text
    assert "one" in again.queued[0].text


def test_a_gate_says_nothing_about_a_turn_that_came_after_it() -> None:
    session = idled(finished(at_work(ruled(idle=Reaction("gate", run=GATE)))))
    gate = session.gate
    assert gate is not None
    assert not any(isinstance(one, Say) for one in plan(session, 1e6))
    told_more = told(session, f.PromptQueued(at=40, prompt="p2", text="more"))
    assert told_more.gate is None
    assert told(told_more, f.GateRan(at=41, gate=gate.id, passed=True)) == told_more


def test_a_nudge_that_ends_in_a_cancelled_turn_is_no_progress() -> None:
    session = silent(at_work(ruled(stall=Reaction("nudge"))))
    session = told(session, f.TurnFinished(at=401, attempt=1, prompt="p1", stop_reason="cancelled"))
    assert session.spent == {"stall:nudge": 1}
    [nudge] = session.queued
    session = told(session, f.PromptSent(at=402, attempt=1, prompt=nudge.id, message=3, text=nudge.text))
    assert silent(session, at=800).escalation is not None


@pytest.mark.parametrize("to", ["cancelled", "asleep", "completed"])
def test_a_persons_stop_wins_over_every_rule(to: str) -> None:
    rules = ruled(error=Reaction("fail"), stall=Reaction("fail"), dead=Reaction("fail"))
    session = told(at_work(rules), f.StopAsked(at=19, by="me", to=to))  # type: ignore[arg-type]
    assert silent(session) == session
    after = failed(session, "rate_limited")
    assert (after.stop_asked, after.queued, after.escalation) == (to, [], None)
    gone = told(after, f.Exited(at=30, attempt=1, how_ended="ended", by_us=True))
    assert (gone.state is State.FAILED, gone.escalation, gone.gate, effects(gone)) == (False, None, None, [])


def test_a_question_on_a_session_that_ends_is_over() -> None:
    session = killed(at_work(ruled(dead=Reaction("escalate"))))
    ended = told(session, f.StopAsked(at=40, by="me", to="cancelled"))
    assert (ended.state, ended.escalation) == (State.CANCELLED, None)


def test_a_conversation_that_is_begun_anew_is_no_death() -> None:
    rules = ruled(error=Reaction("renew", "context_overflow"), dead=Reaction("fail"))
    session = failed(at_work(rules), "context_overflow")
    gone = told(session, f.Exited(at=30, attempt=1, how_ended="ended", by_us=True))
    assert (gone.state, effects(gone)) == (State.WAITING_FOR_INPUT, ["Launch"])


def test_a_conversation_is_called_too_long_only_if_it_was() -> None:
    for error, is_long in (("context_overflow", True), ("other", False)):
        session = failed(at_work(ruled(error=Reaction("renew", error))), error)  # type: ignore[arg-type]
        [again] = session.queued
        assert ("too long" in again.text) == is_long, again.text
        assert ("too long" in session.attempts[-1].given_up) == is_long


def test_a_turn_that_hangs_is_never_done() -> None:
    rules = ruled(stall=Reaction("stop", attempts=None), dead=Reaction("done"))
    gone = killed(silent(at_work(rules)), at=401)
    assert gone.state is not State.COMPLETED
    assert gone.escalation is not None


def test_a_stall_question_is_over_with_its_turn_and_with_its_agent() -> None:
    asked = silent(at_work(ruled(stall=Reaction("escalate"))))
    assert finished(asked, at=500).escalation is None
    dead = killed(asked, at=500)
    assert dead.escalation is not None
    assert dead.escalation.trigger == "dead"
    assert effects(answered(dead, "resume", at=501)) == ["Launch"]


@pytest.mark.parametrize("action", ["done", "fail"])
def test_an_agent_that_cannot_be_started_is_asked_about_whatever_on_dead_says(action: str) -> None:
    session = folded(
        [
            f.Created(at=1, session="s1", agent="a", cwd="/w", rules=ruled(dead=Reaction(action))),  # type: ignore[arg-type]
            f.PromptQueued(at=2, prompt="p1", text="one"),
        ]
    )
    for number in range(1, 6):
        if session.escalation is not None:
            break
        at = 100.0 * number
        session = told(session, f.LaunchIntended(at=at, attempt=number, generation=number, how="new"))
        session = told(session, f.LaunchFailed(at=at + 1, attempt=number, message="no such program"))
    assert session.escalation is not None
    assert session.state is State.STARTING


def test_another_agent_does_not_get_the_program_of_the_one_before() -> None:
    session = folded([f.Created(at=1, session="s1", agent="claude", cwd="/w", program="/opt/my-claude")])
    handed = told(session, f.ResumeAsked(at=2, by="me", handover=f.Handover(agent="codex")))
    assert (handed.agent, handed.program) == ("codex", "")


def test_a_task_of_a_run_is_neither_asked_about_nor_left_hanging() -> None:
    rules = ruled(stall=Reaction("escalate"), idle=Reaction("gate", run=GATE, attempts=None))
    session = replace(at_work(rules), of_run=True)
    assert silent(session).attempts[-1].given_up
    gated = idled(finished(session))
    assert gated.gate is not None
    assert told(gated, f.GateRan(at=900, gate=gated.gate.id, passed=False)).stop_asked == "asleep"


@pytest.mark.parametrize(
    ("title", "detail", "is_allowed"),
    [
        ("git status", "", True),
        ("Run git status", "git status --short", True),
        ("git status (harmless)", "rm -rf /", False),
        ("git status; rm -rf ~", "", False),
        ("git status && rm x", "", False),
        ("git status $(rm x)", "", False),
        ("git status\nrm x", "", False),
    ],
)
def test_a_yes_by_rule_is_for_the_whole_command_that_it_names(title: str, detail: str, is_allowed: bool) -> None:
    session = at_work(ruled(ask=(Reaction("allow", "git status*"), Reaction("escalate"))))
    options = [("y", "Yes", "allow_once"), ("n", "No", "reject_once")]
    asked = told(
        session,
        f.PermissionAsked(
            at=30, attempt=1, request="r", title=title, detail=detail, kind="execute", options=options, prompt="p1"
        ),
    )
    assert asked.permissions[0].answered == is_allowed


def test_a_gates_no_reaches_the_agent_that_is_brought_back() -> None:
    session = killed(at_work(ruled(dead=Reaction("gate", run=GATE))))
    assert session.gate is not None
    session = told(session, f.GateRan(at=600, gate=session.gate.id, passed=False, output="3 failed"))
    again = answered(session, "resume", at=601)
    assert effects(again) == ["Launch"]
    assert "3 failed" in again.queued[0].text


def test_a_first_turn_that_is_too_long_for_every_conversation_is_not_begun_anew_for_ever() -> None:
    session = at_work(ruled(error=Reaction("renew", "context_overflow")))
    for number in range(2, 6):
        assert session.turn is not None
        too_long = f.TurnFailed(
            at=20.0 * number, attempt=number - 1, prompt=session.turn.id, error="context_overflow", message="too long"
        )
        session = told(session, too_long)
        if session.escalation is not None:
            break
        session = told(session, f.Exited(at=20.0 * number + 1, attempt=number - 1, how_ended="ended", by_us=True))
        at, [again] = 20.0 * number + 2, session.queued
        for fact in (
            f.LaunchIntended(at=at, attempt=number, generation=number, how="new", token=f"t{number}"),
            f.Launched(at=at, attempt=number, folder=f"/k/{number}", pid=1),
            f.Opened(at=at, attempt=number, how="new", token=f"t{number}"),
            f.PromptSent(at=at, attempt=number, prompt=again.id, message=2, text=again.text),
        ):
            session = told(session, fact)
    assert (session.spent.get("renewals"), len(session.attempts)) == (1, 2)
    assert session.escalation is not None, "a person is asked after the one new conversation"
