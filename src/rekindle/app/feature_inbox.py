"""The questions of features in the daemon: asked when a run stops, answered from anywhere, carried out once.

An answer is recorded before anything is done about it. If the daemon is killed in between, the next one carries it
out; whether that is still due is seen from what the journal and git say by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from rekindle.app.feature_resume import FoundFeature, look
from rekindle.app.features import Features
from rekindle.app.requests import Choice, FeatureResumeRequest
from rekindle.core.feature.questions import asked, mark, stray_question
from rekindle.core.feature.stray_questions import pending
from rekindle.core.inbox import features as w
from rekindle.core.inbox.news import News
from rekindle.core.inbox.question import Question
from rekindle.core.streams import FEATURE
from rekindle.ports.errors import (
    AnsweredAlready,
    NoOpenRun,
    NoRepository,
    NoSuchFeature,
    NoSuchQuestion,
    OwnedError,
    QuestionError,
    RekindleError,
    UsageError,
)
from rekindle.ports.store import Recorded, Store, StoreAccess, StoreChange
from rekindle.ports.workspace import Workspace
from rekindle.runtime.feature.run import RunOrder
from rekindle.runtime.feature.runner import RunEnd

log = logging.getLogger(__name__)
_LIST = "`rekindle inbox` lists the open questions"
_CHOICES: Mapping[str, Choice] = {"A": "A", "B": "B", "C": "C"}


class FeatureInbox:
    """Raises RekindleError. One change at a time, so that of several answers the first one counts."""

    def __init__(
        self,
        features: Features,
        store: StoreAccess,
        open_here: Callable[[str], Workspace],
        clock: Callable[[], float],
        environment: Mapping[str, str],
        tell: Callable[[str, Iterable[News]], None] = lambda _subject, _news: None,
    ) -> None:
        self._features = features
        self._store = store
        self._open_here = open_here
        self._clock = clock
        self._environment = dict(environment)
        self._tell = tell
        self._watched: dict[str, w.WatchedFeature] = {}
        self._turn = asyncio.Lock()
        self._work: set[asyncio.Future[None]] = set()
        features.watcher = self

    async def open(self) -> None:
        """Read what earlier daemons recorded."""
        for one in await self._store.ask(_facts):
            assert isinstance(one.fact, w.FeatureFact)
            self._watched[one.subject] = w.booked(self._watched.get(one.subject), one.fact)
        for subject, watched in self._watched.items():
            self._tell(subject, w.news_of(watched))

    async def take_up(self) -> None:
        """Carry out answers that an earlier daemon did not, and ask about the runs that it left."""
        for one in list(self._watched.values()):
            try:
                if (over := one.undone) is not None:
                    await self._carry_out(one, over, self._environment)
                elif one.is_running and not self._features.is_driven(one.repository, one.feature):
                    await self._ask(one)
            except (RekindleError, OSError) as error:
                log.warning("%s cannot be asked about: %s", one.feature, error)

    async def attend(self) -> None:
        """The same as a background job of the daemon: it does not end."""
        await self.take_up()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Let go of what is being carried out; the next daemon goes on with it."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    # Told by `Features`.

    async def began(self, order: RunOrder) -> None:
        """A run is driven from now on: whatever was asked about its feature is over."""
        subject = w.subject(order.repository, order.feature)
        began = w.FeatureBegan(at=self._clock(), repository=order.repository, feature=order.feature, run=order.sid)
        await self._record(subject, began)

    async def ended(self, order: RunOrder, end: RunEnd | None) -> None:
        """A run is over; None: it could not go on. If that was nobody's wish, a person is asked."""
        subject = w.subject(order.repository, order.feature)
        reason, message = (end.reason, end.message) if end is not None else ("", "")
        await self._record(subject, w.FeatureEnded(at=self._clock(), run=order.sid, reason=reason, message=message))
        if reason not in ("completed", "user_cancelled"):
            with contextlib.suppress(RekindleError, OSError):
                await self._ask(self._watched[subject])

    # Asked by `Questions`.

    async def questions(self) -> list[Question]:
        """The open questions. One whose feature has moved on is closed first."""
        found = []
        for one in [one for one in self._watched.values() if one.question is not None]:
            await self._close_if_past(one)
            question = w.as_question(self._watched[one.subject])
            found += [question] if question is not None else []
        return found

    def meant(self, given: str) -> list[str]:
        """The ids of questions, open or over, that this is or begins."""
        known = [one.question[0] for one in self._watched.values() if one.question is not None]
        known += [over.id for one in self._watched.values() for over in one.settled]
        return [given] if given in known else [name for name in known if name.startswith(given)]

    async def answer(self, question: str, option: str, *, by: str, text: str, env: Mapping[str, str] | None) -> str:
        """Answer a question; returns the option that counts, once what follows from it is done."""
        async with self._turn:
            one, over = self._find(question)
            if over is None:
                await self._close_if_past(one)
                one, over = self._find(question)
            if over is not None:
                return _again(over, option, by)
            assert one.question is not None
            chosen = _chosen(one.question[1], question, option, text)
            said = w.FeatureAnswered(at=self._clock(), question=question, option=chosen, by=by, text=text)
            now = await self._record(one.subject, said)
            over = self._find(question)[1]
            if over is None or (over.option, over.by, over.at) != (chosen, by, said.at):  # it was closed meanwhile
                assert over is not None
                return _again(over, option, by)
        if (due := now.undone) is not None:  # in a task of its own: who answers may go away
            work = asyncio.ensure_future(self._carry_out(now, due, env or self._environment))
            self._work.add(work)
            work.add_done_callback(self._work.discard)
            await asyncio.shield(work)
        return chosen

    def _find(self, question: str) -> tuple[w.WatchedFeature, w.SettledQuestion | None]:
        for one in self._watched.values():
            if one.question is not None and one.question[0] == question:
                return one, None
            for over in one.settled:
                if over.id == question:
                    return one, over
        raise NoSuchQuestion(f"there is no question {question!r}", _LIST)

    async def _carry_out(self, one: w.WatchedFeature, over: w.SettledQuestion, env: Mapping[str, str]) -> None:
        """Do what an answer asks for, unless that was done before the daemon was killed. Then it is over.

        If it cannot be done, a question is there again in the same moment: nothing leaves the inbox undone.
        """
        problem: RekindleError | OSError | None = None
        further: w.FeatureAsked | None = None
        try:
            found = await self._look(one)
            if found is not None and _mark(found) == over.asked.mark:
                await self._features.resume(_request(one, over, env))
            elif found is not None:
                problem = RekindleError("it has changed since it asked", "`rekindle inbox` shows what it asks now")
        except OwnedError:
            pass  # somebody works on it: the resume has begun
        except QuestionError as error:
            problem, further = error, await self._next_question(one, over, error)
        except (RekindleError, OSError) as error:
            problem = error
        again = await self._asked_again(one, over) if problem is not None and further is None else further
        why = "" if problem is None else problem.message if isinstance(problem, RekindleError) else str(problem)
        done = w.FeatureAnswerDone(at=self._clock(), question=over.id, problem=why)
        await self._record(one.subject, done, *([again] if again is not None else []))
        if problem is not None and further is None:
            hint = problem.hint if isinstance(problem, RekindleError) else "`rekindle inbox` asks again"
            raise RekindleError(f"your answer counts, but {one.feature} could not go on: {why}", hint)

    async def _asked_again(self, one: w.WatchedFeature, over: w.SettledQuestion) -> w.FeatureAsked | None:
        """What to ask after an answer could not be carried out: what is open now or, if nobody can tell, the same.

        None: nothing is left to do, or somebody works on it.
        """
        try:
            found = await self._look(one)
        except OwnedError:
            return None
        except (RekindleError, OSError) as error:
            log.warning("what to ask about %s cannot be seen: %s", one.feature, error)
            return replace(over.asked, at=self._clock())
        return self._question(one, found) if found is not None and not one.is_left(_mark(found)) else None

    async def _next_question(
        self, one: w.WatchedFeature, over: w.SettledQuestion, error: QuestionError
    ) -> w.FeatureAsked | None:
        """A resume that has a further question about strays. Other questions need a terminal: the error says which."""
        try:
            found = await self._look(one) if error.code == "strays" else None
        except (RekindleError, OSError):
            return None
        if found is None:
            return None
        strays = pending(found.progress, found.strays, found.settled)
        run = found.analysis.sid or one.run
        return stray_question(
            one.feature, run, strays, _mark(found), self._clock(), choice=over.option or "", text=over.text
        )

    async def _ask(self, one: w.WatchedFeature) -> None:
        """Ask how a feature goes on, if there is anything to ask that nobody has settled."""
        found = await self._look(one)
        if found is not None and not one.is_left(_mark(found)):
            await self._record(one.subject, self._question(one, found))

    def _question(self, one: w.WatchedFeature, found: FoundFeature) -> w.FeatureAsked:
        """How a feature that was found like this goes on."""
        strays = pending(found.progress, found.strays, found.settled)
        run = found.analysis.sid or one.run
        has_plan = found.plan is not None
        return asked(one.feature, run, found.outlook, strays, self._clock(), has_plan=has_plan)

    async def _look(self, one: w.WatchedFeature) -> FoundFeature | None:
        """What a resume would find; None if there is nothing left to do. Raises OwnedError if somebody works on it."""
        known_as = await self._features.known_as(one.repository)
        try:
            return await asyncio.to_thread(look, self._open_here(one.repository), one.feature, known_as)
        except (NoOpenRun, NoRepository, NoSuchFeature):
            return None

    async def _close_if_past(self, one: w.WatchedFeature) -> None:
        """Close the open question if the feature's newest run is not the one it is about, or was ended by somebody."""
        if one.question is None:
            return
        name, question = one.question
        try:
            here = self._open_here(one.repository)
            analysis, owner = await asyncio.to_thread(here.analysis, one.feature)
        except (NoRepository, NoSuchFeature):
            is_past = True  # the repository or the journal is gone
        except (RekindleError, OSError) as error:  # that says nothing about the feature: the question stays
            log.warning("whether %s has moved on cannot be seen: %s", one.feature, error)
            return
        else:
            run = analysis.run
            is_open = run is not None and (not run.ended or run.end_reason == "error")
            is_past = owner is not None or not is_open or run is None or run.sid != question.run
        if is_past:
            await self._record(one.subject, w.FeatureClosed(at=self._clock(), question=name))

    async def _record(self, subject: str, *facts: w.FeatureFact) -> w.WatchedFeature:
        """Record facts together. Those that change nothing are left out."""
        after, kept = self._watched.get(subject), list[w.FeatureFact]()
        for fact in facts:
            before, after = after, w.booked(after, fact)
            kept += [fact] if after != before else []
        if kept:
            await self._store.commit(StoreChange(FEATURE.kind, subject, kept))
            for fact in kept:
                self._watched[subject] = w.booked(self._watched.get(subject), fact)
            self._tell(subject, w.news_of(self._watched[subject]))
        return self._watched[subject]


def _mark(found: FoundFeature) -> str:
    return mark(found.outlook, pending(found.progress, found.strays, found.settled))


def _request(one: w.WatchedFeature, over: w.SettledQuestion, env: Mapping[str, str]) -> FeatureResumeRequest:
    """The resume that an answer asks for."""
    question, option = over.asked, over.option or ""
    tasks = question.tasks
    is_stray = question.kind == "strays"
    return FeatureResumeRequest(
        cwd=one.repository,
        feature=one.feature,
        env=dict(env),
        choice=_CHOICES.get(question.choice if is_stray else option),
        instructions=question.text if is_stray else over.text,
        take=tasks if is_stray and option == "take" else (),
        leave=tasks if is_stray and option == "drop" else (),
    )


def _chosen(question: w.FeatureAsked, name: str, option: str, text: str) -> str:
    """The id of the option that a word means. Raises if there is none, or if it needs text, or takes none."""
    found = next((one for one in question.options if one[0].casefold() == option.casefold()), None)
    if found is None:
        offered = ", ".join(one[0] for one in question.options)
        raise NoSuchQuestion(
            f"{option!r} is not an option of question {name}", f"choose one of: {offered}", code="no_such_option"
        )
    if found[2] == "instruct" and not text.strip():
        raise UsageError("your own instructions are needed", f"rekindle answer {name} {found[0]} --text TEXT")
    if found[2] != "instruct" and text:
        raise UsageError(f"{found[0]!r} tells the agents nothing, so that --text would be lost", "leave --text out")
    return found[0]


def _again(over: w.SettledQuestion, option: str, by: str) -> str:
    """The earlier answer, if this is exactly the same one again."""
    if over.how == "expired":
        raise NoSuchQuestion(
            f"question {over.id} is closed: what it was about has changed", _LIST, code="question_expired"
        )
    if over.by == by and over.option is not None and over.option.casefold() == option.casefold():
        return over.option
    raise AnsweredAlready(
        f"question {over.id} was already answered: {over.option}, by {over.by}",
        _LIST,
        details={"question": over.id, "option": over.option, "by": over.by, "answered_at": over.at},
    )


def _facts(store: Store) -> list[Recorded]:
    return store.facts(FEATURE.kind, limit=1_000_000)
