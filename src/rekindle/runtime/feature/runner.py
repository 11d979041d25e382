"""Drives one run of a feature to its end: observe, decide, act, and repeat whenever something changes.

It lives in the daemon, so closing a terminal stops nothing. A resume takes the same path: the runner reads the
journal, git and the sessions as it finds them.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rekindle.core.feature import effects as e
from rekindle.core.feature.decide import due
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.progress import progress
from rekindle.core.feature.records import recorded_trees
from rekindle.core.feature.situation import Situation
from rekindle.core.journal import event as ev
from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.lineage import lineages, overlay
from rekindle.core.journal.run import COMPLETE, Checkpoint
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.state import TERMINAL, Session
from rekindle.core.snapshot_reasons import show_last_end
from rekindle.ports.errors import RekindleError
from rekindle.ports.store import Recorded, StaleGeneration
from rekindle.runtime.feature.performing import EffectPerformer
from rekindle.runtime.feature.run import FeatureRun, RunOrder, RunPorts

log = logging.getLogger(__name__)
_LOOK_AGAIN = 5.0
_PAUSE = 0.2
_FAILED_LOOKS = 25
_NAMED = 20
_STEP = re.compile(r"wave-(\d+)-start\Z")
Reason = Literal["completed", "user_cancelled", "error"]


@dataclass(frozen=True)
class RunEnd:
    """How a run ended."""

    reason: Reason
    message: str = ""


def marked_wave(checkpoint: Checkpoint | None, plan: Plan) -> int | None:
    """The last wave that has a checkpoint; None if no wave has one."""
    if checkpoint is None:
        return None
    step = str(checkpoint.plan_step or "")
    found = _STEP.match(step)
    if found is not None:
        return int(found.group(1)) - 1
    return len(plan.waves) if step == "finish" else 0


def _about(effects: Sequence[e.Effect]) -> frozenset[str]:
    """The tasks whose files have to be looked at before these effects are carried out; "" stands for all."""
    return frozenset(effect.task for effect in effects if e.depends_on_files(effect))


@dataclass
class FeatureRunner:
    """One run of one feature. `read` gives the journal as it is now, and may block."""

    order: RunOrder
    ports: RunPorts
    read: Callable[[], JournalState]
    end: RunEnd | None = None
    situation: Situation | None = None
    _busy: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _patient: set[str] = field(default_factory=set)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _all_anew: bool = True
    #: an effect has ended since the last look, so that git and the journal may say something else by now
    _is_outdated: bool = True
    _cancelled: bool = False
    _fatal: str = ""
    _failed_looks: int = 0
    _forged: set[int] = field(default_factory=set)
    _began: float = 0.0
    _over: float | None = None

    def __post_init__(self) -> None:
        self._run = FeatureRun(self.order, self.ports)
        self._performer = EffectPerformer(self._run)

    def until(self, now: float) -> float:
        """The time up to which it has been running: now, or its end."""
        return self._over or now

    def seconds(self, now: float) -> float:
        """How long it has been running."""
        return round(max(self.until(now) - (self._began or now), 0.0), 1)

    def cancel(self) -> None:
        """End the run at a person's request: agents are put to sleep, everything stays where it is."""
        self._cancelled = True
        self._changed.set()

    async def drive(self) -> RunEnd:
        """Run to the end. A missing journal or store ends it too; it then counts as interrupted."""
        engine = self.ports.supervisor.engine
        self._began = engine.clock()
        engine.listeners.append(self._heard)
        try:
            await engine.load_feature(self.order.repository, self.order.feature)
            found = await self._drive()
            await self._close(found)
        finally:
            self._over = engine.clock()
            engine.listeners.remove(self._heard)
            for task in self._busy.values():
                task.cancel()
        self.end = found
        return found

    async def _drive(self) -> RunEnd:
        while True:
            self._changed.clear()
            if self._cancelled or self._fatal:
                await self._settle_down()
                return RunEnd("user_cancelled") if self._cancelled else RunEnd("error", self._fatal)
            busy = frozenset(self._busy)  # an effect that ends during the look may be missed: it counts as busy
            found = await self._due(busy)
            if found is None:
                self._is_outdated = True
                continue
            now, effects = found
            for effect in effects:
                if isinstance(effect, e.Finish):
                    await self._performer.do(effect, now)
                    return RunEnd(effect.reason, effect.message)
                self._busy[effect.task] = asyncio.ensure_future(self._do(effect, now))
                if isinstance(effect, e.RunChecks | e.CheckWave | e.WaitUntil):
                    self._patient.add(effect.task)
            try:
                async with asyncio.timeout(_LOOK_AGAIN):
                    await self._changed.wait()
            except TimeoutError:
                self._all_anew = True

    async def _due(self, busy: frozenset[str]) -> tuple[Situation, list[e.Effect]] | None:
        """What is due. A worktree known only from memory is checked again before anything is done.

        If only sessions have changed since the last look, and nothing would be due if git and the journal still said
        the same, nobody looks: most facts of a session lead to nothing here. What others do in git is seen later.
        """
        guess = self._by_the_last_look(busy)
        if guess is not None and not guess[1] and not (self._is_outdated or self._all_anew):
            self.situation = guess[0]
            return guess
        anew = None if self._all_anew else _about(guess[1]) if guess is not None else frozenset[str]()
        self._all_anew = self._is_outdated = False
        while True:
            now = await self._look(anew)
            if now is None:
                return None
            effects = due(now, busy)
            about = _about(effects)
            stale = now.git.remembered if "" in about else now.git.remembered & about
            if not stale:
                return now, effects
            anew = (anew or frozenset()) | stale

    def _by_the_last_look(self, busy: frozenset[str]) -> tuple[Situation, list[e.Effect]] | None:
        """What would be due for the sessions as they are now; None if more than sessions has to be looked at."""
        if self.situation is None:
            return None
        sessions = {session.id: session for session in self._sessions()}
        now = replace(self.situation, sessions=sessions, now=self._run.clock())
        return None if now.removed_under() else (now, due(now, busy))

    async def _settle_down(self) -> None:
        """Let work in progress finish, but cut short what only takes time and can be repeated."""
        while self._busy:
            for name in self._patient & self._busy.keys():
                self._busy[name].cancel()
            await asyncio.wait(list(self._busy.values()))

    async def _look(self, anew: frozenset[str] | None = None) -> Situation | None:
        """Observe; None if that failed, for example because a worktree is being removed. It must not keep failing."""
        try:
            now = await self._observe(anew)
        except (RekindleError, OSError) as error:
            self._failed_looks += 1
            if self._failed_looks > _FAILED_LOOKS:
                self._fatal = error.message if isinstance(error, RekindleError) else str(error)
            await asyncio.sleep(_PAUSE)
            return None
        self._failed_looks = 0
        return now

    async def _observe(self, anew: frozenset[str] | None) -> Situation:
        """Read sessions before git: what an agent has finished is in git by then. The other order could miss it."""
        engine = self.ports.supervisor.engine
        sessions = {session.id: session for session in self._sessions()}
        journal = await asyncio.to_thread(self.read)
        await self._name_forged(journal)
        chain = lineages(journal).of(self.order.sid)
        runs = [journal.sids[sid] for sid in chain if sid in journal.sids]
        known = progress(self.order.feature, self.order.plan, runs)
        git = await asyncio.to_thread(self.ports.git.observe, known, recorded_trees(runs), anew)
        seen = Situation(
            repository=self.order.repository_id or self.order.repository,
            feature=self.order.feature,
            plan=self.order.plan,
            progress=known,
            git=git,
            sessions=sessions,
            memory=self._run.memory,
            mode=self.order.mode,
            jobs=self.order.jobs,
            marked=marked_wave(overlay(runs).checkpoint, self.order.plan),
            shared_tree=self.ports.git.shared_tree,
            now=engine.clock(),
            root=runs[0].sid if runs else "",
        )
        self.situation = replace(seen, kept=await self._kept(seen))
        return self.situation

    async def _kept(self, now: Situation) -> frozenset[str]:
        """Sessions whose worktree still existed when their last turn ended, as a snapshot shows."""
        asked = {session.id: session for session in now.removed_under().values()}
        if not asked:
            return frozenset()
        found = await asyncio.to_thread(self.ports.git.snapshot_reasons, list(asked))
        return frozenset(name for name, session in asked.items() if show_last_end(session, found[name]))

    async def _name_forged(self, journal: JournalState) -> None:
        """Report journal lines that look like this run's but are not. They are ignored."""
        new = [one for one in journal.disowned if one.line not in self._forged]
        if new:
            self._forged.update(one.line for one in new)
            named = ", ".join(f"line {one.line} ({one.type})" for one in new[:_NAMED])
            more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
            message = f"the journal has events that rekindle did not write and that meddle with its runs: {named}{more}"
            await self._run.warn(f"{message}; they are ignored", "journal", f"forged-{new[0].line}")

    async def _do(self, effect: e.Effect, now: Situation) -> None:
        try:
            await self._performer.do(effect, now)
        except StaleGeneration:
            self._fatal = "another daemon has taken over"
        except Exception as error:
            await self._trouble(effect, error)
        finally:
            self._busy.pop(effect.task, None)
            self._patient.discard(effect.task)
            self._is_outdated = True
            self._changed.set()

    async def _trouble(self, effect: e.Effect, error: Exception) -> None:
        """Handle a failed step: its task waits for a person; if it has no task, the run waits.

        Unexpected errors are handled the same way: repeating the step would only fail again, forever.
        """
        expected = isinstance(error, RekindleError | OSError)
        message = f"{error.message} ({error.hint})" if isinstance(error, RekindleError) and error.hint else str(error)
        message = message if expected else f"{type(effect).__name__} failed: {type(error).__name__} {message}"
        log.warning("%s: %s: %s", self.order.feature, type(effect).__name__, message, exc_info=not expected)
        if not effect.task:
            self._fatal = message
            return
        self._run.memory.problems[effect.task] = message
        try:
            await self._run.warn(message, f"task {effect.task}", f"trouble-{effect.task}-{type(effect).__name__}")
        except (RekindleError, OSError) as second:
            self._fatal = str(second)

    async def _close(self, end: RunEnd) -> None:
        """End the run: put agents to sleep, record all they did, and only then record the end.

        Raises if that cannot be written: the run stays open and can be resumed.
        """
        engine = self.ports.supervisor.engine
        done = self.situation.progress if self.situation is not None else {}
        for session in self._sessions():
            if session.id in self._performer.rivals:
                continue
            if session.is_up or (wants_agent(session) and session.state not in TERMINAL):
                await self._run.end(session.id, "cancelled" if session.queued else "asleep")
        await self.ports.events.flush()
        for name in await self._still_active():
            gone = {"name": name, "result": "terminated"}
            await self.ports.events.append(ev.AGENT_COMPLETED, gone, f"{self.order.sid}-gone-{name}")
        data: dict[str, Any] = {
            "reason": end.reason,
            "duration_s": max(0, round(engine.clock() - self._began)),
            "tasks_completed": sum(one.status == COMPLETE for one in done.values()),
        }
        if end.message:
            data["message"] = end.message
        await self.ports.events.append(ev.SESSION_END, data, f"{self.order.sid}-end")

    async def _still_active(self) -> list[str]:
        """Agents of earlier runs whose end was never recorded: another orchestrator's, or those of a lost store."""
        journal = await asyncio.to_thread(self.read)
        chain = lineages(journal).of(self.order.sid)
        return overlay([journal.sids[sid] for sid in chain if sid in journal.sids]).active_agents

    def _sessions(self) -> list[Session]:
        """All sessions of the feature as they are now, including those started since the last look."""
        return [session for session in self.ports.supervisor.engine.at_hand() if self._is_ours(session)]

    def _is_ours(self, session: Session) -> bool:
        return session.feature == self.order.feature and session.repository == self.order.repository

    def _heard(self, session: Session, _recorded: Sequence[Recorded]) -> None:
        if self._is_ours(session):
            self._changed.set()
