"""The questions of features: what is recorded about them, and what that adds up to. Pure.

The plan and the progress of a feature are in its journal only. The store remembers which runs this daemon's store has
driven, what was asked about them, and who answered: so that a question has an id, is answered once, and is carried out.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final, Literal, assert_never

import msgspec
from msgspec.structs import replace

from rekindle.core.fact import Fact
from rekindle.core.inbox.news import News
from rekindle.core.inbox.question import Question, QuestionOption

#: `case_b`: there are issues after the checkpoint. `case_c`: there is no checkpoint. `strays`: work is not on its
#: task's branch. `interrupted`: nothing is wrong, but nobody works on it.
FeatureKind = Literal["case_b", "case_c", "strays", "interrupted"]
#: The answer that changes nothing.
LEAVE: Final = "leave"
#: How many finished questions are remembered.
_SETTLED: Final = 20


class FeatureBegan(Fact, frozen=True, kw_only=True, tag="feature_began"):
    """A daemon drives this run from now on."""

    repository: str
    feature: str
    run: str


class FeatureEnded(Fact, frozen=True, kw_only=True, tag="feature_ended"):
    """The run is over. An empty reason: it could not go on, and can be resumed."""

    run: str
    reason: str
    message: str = ""


class FeatureAsked(Fact, frozen=True, kw_only=True, tag="feature_asked"):
    """A person has to say how the feature goes on. `mark` changes whenever what is asked about does.

    `choice` and `text` are what was answered before and led to this question; `tasks` are those it is about.
    """

    run: str
    kind: FeatureKind
    title: str
    detail: str
    options: list[tuple[str, str, str]]
    recommended: str
    otherwise: str
    mark: str
    choice: str = ""
    text: str = ""
    tasks: tuple[str, ...] = ()


class FeatureAnswered(Fact, frozen=True, kw_only=True, tag="feature_answered"):
    """Somebody has answered. What follows from it is still to be done."""

    question: str
    option: str
    by: str
    text: str = ""


class FeatureAnswerDone(Fact, frozen=True, kw_only=True, tag="feature_answer_done"):
    """What follows from the answer was done, or could not be: then `problem` says why."""

    question: str
    problem: str = ""


class FeatureClosed(Fact, frozen=True, kw_only=True, tag="feature_closed"):
    """What the question was about has changed."""

    question: str


FeatureFact = FeatureBegan | FeatureEnded | FeatureAsked | FeatureAnswered | FeatureAnswerDone | FeatureClosed


class SettledQuestion(msgspec.Struct, frozen=True):
    """A question of a feature that is over. `done`: what follows from the answer was done."""

    id: str
    asked: FeatureAsked
    how: Literal["answered", "expired"]
    at: float
    option: str | None = None
    by: str = ""
    text: str = ""
    done: bool = True


class WatchedFeature(msgspec.Struct, frozen=True):
    """A feature as far as the inbox is concerned. `question` is its open question, with its id."""

    repository: str
    feature: str
    run: str
    is_running: bool = True
    began_at: float = 0.0
    ended_at: float | None = None
    reason: str = ""
    message: str = ""
    question: tuple[str, FeatureAsked] | None = None
    settled: tuple[SettledQuestion, ...] = ()

    @property
    def subject(self) -> str:
        """The subject of its stream."""
        return subject(self.repository, self.feature)

    @property
    def undone(self) -> SettledQuestion | None:
        """An answer that is still to be carried out."""
        return next((one for one in self.settled if not one.done), None)

    def is_left(self, mark: str) -> bool:
        """Whether somebody has said that this is to stay as it is."""
        return any(one.option == LEAVE and one.asked.mark == mark for one in self.settled)


def subject(repository: str, feature: str) -> str:
    """The name of a feature's stream."""
    return hashlib.sha256(json.dumps([repository, feature]).encode()).hexdigest()[:16]


def question_id(watched: WatchedFeature, fact: FeatureAsked) -> str:
    """The id follows from what is asked and when, like that of every question."""
    shown = [watched.repository, watched.feature, fact.run, fact.kind, fact.title, fact.mark, fact.at]
    return "q" + hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:10]


def booked(before: WatchedFeature | None, fact: FeatureFact) -> WatchedFeature:
    """The state after a fact. Applying it again changes nothing."""
    if isinstance(fact, FeatureBegan):
        return _began(before, fact)
    now = before or WatchedFeature("", "", "", is_running=False)
    match fact:
        case FeatureEnded():
            if fact.run != now.run or not now.is_running:
                return now
            return replace(now, is_running=False, ended_at=fact.at, reason=fact.reason, message=fact.message)
        case FeatureAsked():
            if now.question is not None or any(one.asked == fact for one in now.settled):
                return now
            return replace(now, question=(question_id(now, fact), fact))
        case FeatureAnswered():
            return _over(now, fact.question, "answered", fact.at, fact.option, fact.by, fact.text)
        case FeatureClosed():
            return _over(now, fact.question, "expired", fact.at)
        case FeatureAnswerDone():
            after = tuple(replace(one, done=True) if one.id == fact.question else one for one in now.settled)
            return replace(now, settled=after)
        case _:
            assert_never(fact)


def as_question(watched: WatchedFeature) -> Question | None:
    """The open question in the one shape of all questions."""
    if watched.question is None:
        return None
    name, asked = watched.question
    return Question(
        id=name,
        session=None,
        feature=watched.feature,
        repository=watched.repository,
        kind=asked.kind,
        title=asked.title,
        detail=asked.detail,
        options=tuple(QuestionOption(*one) for one in asked.options),
        recommended=asked.recommended,
        otherwise=asked.otherwise,
        asked_at=asked.at,
        takes_text=tuple(one[0] for one in asked.options if one[2] == "instruct"),
    )


def news_of(watched: WatchedFeature) -> list[News]:
    """What people may be told about a feature: what it asks, and that it ended.

    An end with a question is one occasion, so that both have the same key. Once that is answered, the end is old news.
    """
    asked = as_question(watched)
    found = []
    if asked is not None:
        offered = "\n".join(f"{one.id}: {one.label}" for one in asked.options)
        link = f"rekindle answer {asked.id}"
        found.append(News(asked.id, "question", asked.title, link, asked.asked_at, f"{asked.detail}\n{offered}"))
    settled = watched.reason == "error" and any(one.asked.run == watched.run for one in watched.settled)
    if watched.ended_at is not None and watched.reason in ("completed", "error") and not settled:
        how = "is completed" if watched.reason == "completed" else f"ended with an error: {watched.message}"
        title, link = f"{watched.feature} {how}", f"rekindle analyze {watched.feature}"
        key = asked.id if asked is not None else f"ended-{watched.subject}-{watched.run}"
        found.append(News(key, "feature", title, link, watched.ended_at))
    return found


def _began(before: WatchedFeature | None, fact: FeatureBegan) -> WatchedFeature:
    if before is None:
        return WatchedFeature(fact.repository, fact.feature, fact.run, began_at=fact.at)
    if before.run == fact.run:
        return before
    now = before
    if before.question is not None:
        now = _over(before, before.question[0], "expired", fact.at)
    return replace(
        now, run=fact.run, is_running=True, began_at=fact.at, ended_at=None, reason="", message="", question=None
    )


def _over(
    now: WatchedFeature,
    question: str,
    how: Literal["answered", "expired"],
    at: float,
    option: str | None = None,
    by: str = "",
    text: str = "",
) -> WatchedFeature:
    """With the end of a question. The first one stands."""
    if now.question is None or now.question[0] != question:
        return now
    done = how == "expired" or option == LEAVE
    over = SettledQuestion(question, now.question[1], how, at, option, by, text, done)
    return replace(now, question=None, settled=(*now.settled, over)[-_SETTLED:])
