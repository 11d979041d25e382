"""The governor's questions: when one is asked, when it is over, and what an answer leads to. Pure, level-triggered.

There is one question for a thousand restarts, and one for each day or night that has become too expensive.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import Any, Final

from rekindle.core.governor import facts as g
from rekindle.core.governor.machine import MOST_RESTARTS, evolve
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.governor.spending import used_up, windows
from rekindle.core.governor.state import Governor, GovernorQuestion, Restart
from rekindle.core.inbox.news import News
from rekindle.core.inbox.question import Question, QuestionOption

BREAKER: Final = "breaker"
#: Who decides, if a changed setting does.
SETTINGS: Final = "the settings"
#: The option that shows more and leaves the question open.
DETAILS: Final = "details"
_GO_ON: Final = ("go-on", "Let sessions be restarted again", "go")
_STAY: Final = ("stay", "Leave automatic restarts stopped", "leave")
_DETAILS: Final = (DETAILS, "Show which sessions were restarted; the question stays open", "show")
_MOST_NAMED: Final = 20


def take(
    state: Governor | None, fact: g.GovernorFact, rules: GovernorRules, zone: tzinfo | None = None
) -> tuple[Governor, list[g.GovernorFact]]:
    """Book a fact with all that follows from it. Returns the facts to record, in order; none if it changes nothing."""
    before = state or Governor()
    after = evolve(before, fact)
    if after == before:
        return before, []
    kept, waiting = [fact], [*_follows(before, fact), *due(after, rules, fact.at, zone)]
    while waiting:
        then = waiting.pop(0)
        changed = evolve(after, then)
        if changed != after:
            kept.append(then)
            waiting = [*_follows(after, then), *waiting]
            after = changed
    return after, kept


def taken(
    state: Governor | None, facts: Iterable[g.GovernorFact], rules: GovernorRules, zone: tzinfo | None = None
) -> tuple[Governor, list[g.GovernorFact]]:
    """Book facts one after the other, each with all that follows from it."""
    found, kept = state or Governor(), list[g.GovernorFact]()
    for fact in facts:
        found, more = take(found, fact, rules, zone)
        kept += more
    return found, kept


def due(state: Governor, rules: GovernorRules, now: float, zone: tzinfo | None = None) -> list[g.GovernorFact]:
    """What has to be asked now, and which questions are over because what they are about has changed."""
    return [*_breaker(state, rules, now), *_closed(state, rules, now, zone), *_spending(state, rules, now, zone)]


def in_vain(state: Governor, rules: GovernorRules, now: float) -> list[Restart]:
    """The restarts that count now."""
    return [one for one in state.restarts if one.at > now - rules.restart_seconds]


def as_question(question: GovernorQuestion) -> Question:
    """A question in the one shape of all of them; it belongs to no session."""
    return Question(
        id=question.id,
        session=None,
        feature=None,
        kind=question.trigger,
        title=question.title,
        options=tuple(QuestionOption(*one) for one in question.options),
        asked_at=question.at,
        detail=question.detail,
        recommended=question.recommended or None,
        otherwise=question.otherwise,
        expires_at=question.expires_at,
    )


def news_of(state: Governor) -> list[News]:
    """What people may be told of outside the terminal."""
    return [
        News(
            one.id,
            "question",
            one.title,
            f"rekindle answer {one.id}",
            one.at,
            "\n".join([one.detail, f"Until you answer: {one.otherwise}."]),
        )
        for one in state.questions
    ]


def shown(question: GovernorQuestion) -> dict[str, Any]:
    """A question as lists and answers show it: as a session's, but it belongs to none."""
    return as_question(question).document


def _follows(before: Governor, fact: g.GovernorFact) -> list[g.GovernorFact]:
    match fact:
        case g.GovernorAsked(trigger="breaker"):
            return [g.RestartsStopped(at=fact.at)]
        case g.GovernorAnswered():
            return _after_answer(before, fact)
        case _:
            return []


def _after_answer(before: Governor, fact: g.GovernorAnswered) -> list[g.GovernorFact]:
    asked = next((one for one in before.questions if one.id == fact.question), None)
    if asked is None:
        return []
    match (asked.trigger, fact.option):
        case ("breaker", "go-on"):
            return [g.RestartsAllowed(at=fact.at, by=fact.by)]
        case ("breaker", "stay"):
            return [g.RestartsStopped(at=fact.at, by=fact.by)]
        case ("spending", "more"):
            window = asked.about.partition(" ")[0]
            return [g.CapRaised(at=fact.at, about=window, to=asked.amount, by=fact.by)]
        case _:
            return []


def _breaker(state: Governor, rules: GovernorRules, now: float) -> list[g.GovernorFact]:
    asked = next((one for one in state.questions if one.trigger == BREAKER), None)
    if rules.restarts is None:
        over = [g.GovernorClosed(at=now, question=asked.id)] if asked is not None else []
        allowed = [g.RestartsAllowed(at=now, by=SETTINGS)] if state.stopped is not None else []
        return [*over, *allowed]
    counted = in_vain(state, rules, now)
    enough = min(rules.restarts, MOST_RESTARTS)  # more are not remembered, and would never be counted
    if state.stopped is not None or asked is not None or len(counted) < enough:
        return []
    names = list(dict.fromkeys(one.session for one in counted))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    minutes = rules.restart_seconds / 60
    return [
        g.GovernorAsked(
            at=now,
            trigger="breaker",
            about=BREAKER,
            title=f"{len(counted)} automatic restarts in {minutes:g} minutes brought nothing: restarts are stopped",
            detail=f"sessions: {', '.join(names[:_MOST_NAMED])}{more}",
            options=[_GO_ON, _STAY, _DETAILS],
            recommended=DETAILS,
            otherwise="no session is restarted automatically; `rekindle resume ID` still works",
            sessions=tuple(one.session for one in counted),
        )
    ]


def _closed(state: Governor, rules: GovernorRules, now: float, zone: tzinfo | None) -> list[g.GovernorFact]:
    """Questions about spending are over when their day or night is, or when the cap is higher by now."""
    asked = [one for one in state.questions if one.trigger == "spending"]
    if not asked:
        return []
    full = {one.about for one in windows(state, rules, now, zone) if one.is_used_up}
    over = [one for one in asked if one.about.partition(" ")[0] not in full]
    return [g.GovernorClosed(at=now, question=one.id) for one in over]


def _spending(state: Governor, rules: GovernorRules, now: float, zone: tzinfo | None) -> list[g.GovernorFact]:
    window = used_up(state, rules, now, zone)
    if window is None or window.cap is None:
        return []
    higher = round(max(2 * window.cap, window.spent + window.cap), 2)
    about = f"{window.about} {window.cap:g}"
    open_ = any(one.about.partition(" ")[0] == window.about for one in state.questions)
    if open_ or about in state.asked:
        return []
    when = "today" if window.name == "day" else "tonight"
    ends = f"{datetime.fromtimestamp(window.until, zone):%H:%M}"
    return [
        g.GovernorAsked(
            at=now,
            trigger="spending",
            about=about,
            amount=higher,
            title=f"all sessions together have spent ${window.spent:.2f} {when}, and the limit is ${window.cap:g}",
            detail=f"no new turn is started automatically until {ends}; your own prompts still work",
            options=[
                ("more", f"Raise the limit to ${higher:g} {when}", "go"),
                ("stay", f"Start nothing automatically until {ends}", "leave"),
            ],
            recommended="stay",
            otherwise=f"sessions go on by themselves at {ends}",
            expires_at=window.until,
        )
    ]
