"""A live attempt's conversation, sans-IO: bytes of its spools in; facts, messages to send and callbacks to serve out.

The whole spool may be fed again by the next daemon: the resulting facts are recognised as already recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from rekindle.agents.base import fields
from rekindle.agents.base import observation as o
from rekindle.agents.base.booking import Replayed, as_fact
from rekindle.agents.base.dialect import Awaited, OpenState, Outgoing
from rekindle.agents.base.exchange import Exchange, Exchanged, Prompted, SpooledMessage
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.observation import OpenTool
from rekindle.agents.base.terminal import QUIET_SECONDS, READY_SECONDS, UNSEEN_SECONDS
from rekindle.agents.base.transcript import Record
from rekindle.core.session import facts as f
from rekindle.core.session.asking import POLICY
from rekindle.core.session.facts import AnyFact, Cut
from rekindle.core.session.history import Turn
from rekindle.core.session.permission import Allow, Ask, Deny, Mode, decide
from rekindle.core.session.prompt_marks import mark, marks
from rekindle.core.session.state import Prompt, Session
from rekindle.ports.keepers import Ended

Resolve = Callable[[str, Iterable[str]], list[str]]


@dataclass
class Step:
    """What some of the agent's bytes mean."""

    facts: list[AnyFact] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    callbacks: list[o.CallbackAsked] = field(default_factory=list)
    opening: bool = False


class Talk:
    """The conversation with one agent process."""

    def __init__(
        self,
        session: Session,
        attempt: int,
        kind: AgentKind,
        *,
        clock: Callable[[], float],
        resolve: Resolve,
        heard_at: float | None = None,
        steady: Callable[[], float] | None = None,
        silent_since: float | None = None,
    ) -> None:
        """`heard_at`: when the agent last wrote something, by the wall clock; None: nobody knows.

        Silence is counted by `steady`, which nobody can set (None: by the wall clock). `silent_since`: since when it
        lasts by that clock, if this agent was followed before.
        """
        self._session = session.id
        self._cwd = session.cwd
        self._mode: Mode = session.permission  # type: ignore[assignment]  # checked when the session was created
        self.attempt = attempt
        self._clock = clock
        self._resolve = resolve
        launched = session.attempt
        token = launched.token if launched is not None and launched.token is not None else session.token
        self.kind = kind
        self.token = token
        self.wire = kind.dialect(attempt, session.cwd, token)
        self._exchange = Exchange(self.wire)
        self._replayed = Replayed()
        self._compactions = 0
        self._measured = 0
        self._context: o.ContextUsed | None = None
        self._is_working = False
        self._how: f.How = "new"
        self._steady = steady if steady is not None else clock
        self._wrote_at = min(heard_at, clock()) if heard_at is not None else clock()
        heard = self._steady() - (clock() - self._wrote_at)
        self._heard_at = heard if silent_since is None else max(heard, silent_since)
        self._told_at = self._steady() - max(0.0, clock() - _last_told(session))
        self._unsent = {one.id for one in session.prompts if one.state == "queued"}
        self._said_at: float | None = None

    def silent_seconds(self) -> float:
        """How long the agent has been silent: 0 while a tool runs, a question is open or it waits to retry.

        It counts from the last thing that it was told, if that is later: an agent at rest has nothing to say.
        """
        state = self.wire.open
        return 0.0 if state.tools or state.unanswered else max(0.0, self._steady() - self.silent_since)

    @property
    def silent_since(self) -> float:
        """When the agent last said something or was told something, by the steady clock."""
        return max(self._heard_at, self._told_at)

    def forgive_silence(self) -> None:
        """Restart the agent's silence from now."""
        self._heard_at = max(self._heard_at, self._steady())

    def sent(self, message: Outgoing) -> None:
        """The agent was told something."""
        self._told_at = max(self._told_at, self._steady())
        self.wire.sent(message.message_id, message.line)

    @property
    def offset(self) -> int:
        """Where the next bytes have to come from."""
        return self._exchange.offset

    def open(self, how: f.How, token: str | None) -> list[Outgoing]:
        """Ask for the conversation to be opened. The keeper does not resend what was already sent."""
        self._how = how
        return self.wire.begin(how, token)

    def rebuild(self, records: Iterable[SpooledMessage], data: bytes) -> Step:
        """Read both spools after the fact. Callbacks that were answered are not requested again.

        A prompt in the input spool was sent, even if the daemon that sent it died before recording that.
        """
        step = Step()
        self._said_at = self._wrote_at  # at the latest: what is read was said before we came
        self.wire.showed(data)
        self._exchange.sent(records)
        self._follow(self._exchange.heard(data), step)
        self._follow(self._exchange.settle(), step)
        self._said_at = None
        state = self.wire.open
        step.callbacks = [one for one in state.unanswered if isinstance(one, o.CallbackAsked)]
        step.outgoing.clear()
        return step

    def feed(self, data: bytes) -> Step:
        """Read what the agent wrote."""
        step = Step()
        self._heard_at = max(self._heard_at, self._steady())
        self.wire.showed(data)
        self._follow(self._exchange.heard(data), step)
        return step

    def _follow(self, exchanged: Iterable[Exchanged], step: Step) -> None:
        for one in exchanged:
            if isinstance(one, Prompted):
                if one.prompt in self._unsent:  # nobody lived to record that, so nobody knows when it was
                    self._unsent.discard(one.prompt)
                    self._told_at = max(self._told_at, self._steady())
                step.facts.append(
                    f.PromptSent(
                        at=self._clock(), attempt=self.attempt, prompt=one.prompt, message=one.message, text=one.text
                    )
                )
                continue
            for seen in one.seen:
                self._take(seen, step)

    def is_quiet(self) -> bool:
        """Whether a terminal shows nothing new."""
        return self._quiet_seconds() >= READY_SECONDS

    def _quiet_seconds(self) -> float:
        return self._steady() - self._heard_at

    def wants_record(self, session: Session) -> bool:
        """Whether the agent's own record says more about the running turn than its terminal does."""
        running = session.turn
        return running is not None and (running.state == "sent" or self._quiet_seconds() >= QUIET_SECONDS)

    def listen(self, session: Session, record: Record | None) -> Step:
        """What the agent's silence means, together with its own record if there is one."""
        step, now = Step(), self._clock()
        running = session.turn
        if running is not None and (running.attempt != self.attempt or running.state == "cut"):
            running = None
        quiet = self._quiet_seconds() if running is None else min(self._quiet_seconds(), now - running.sent_at)
        found = self.wire.silence(quiet, self._awaited(session, running), record)
        if found == "ready":
            step.opening = True
        if running is None:
            return step
        if found in ("began", "over") and not self._is_working:
            self._is_working = True
            step.facts.append(f.TurnBegan(at=now, attempt=self.attempt, prompt=running.id))
        if found in ("over", "unseen"):
            self._is_working = False
        if found == "over":
            step.facts.append(f.TurnFinished(at=now, attempt=self.attempt, prompt=running.id, stop_reason="silence"))
        elif found == "unseen":
            message = f"it is not in the agent's record after {UNSEEN_SECONDS:g} s of silence: look at the terminal"
            step.facts.append(
                f.TurnFailed(at=now, attempt=self.attempt, prompt=running.id, error="other", message=message)
            )
        return step

    def _awaited(self, session: Session, running: Prompt | None) -> Awaited | None:
        if running is None:
            return None
        same = {one.number for one in session.attempts if one.token == self.token}
        done = [one for one in session.prompts if one.attempt in same and one.state == "done"]
        return Awaited(running.text, sum(mark(one.text) == mark(running.text) for one in done))

    def opened(self) -> f.Opened | None:
        """The fact that the conversation is open, once the agent has finished showing its past."""
        state = self.wire.open
        if state.token is None or state.opened is None:
            return None
        return f.Opened(
            at=self._clock(),
            attempt=self.attempt,
            how="new" if state.opened == "new" else "load",
            token=state.token,
            known=marks(self._replayed.texts) if state.opened == "load" and self.kind.proof == "replay" else None,
            can_load=state.initialized is None or state.initialized.can_load or state.initialized.can_resume,
            proof=self.kind.proof,
            compact=self.kind.compact,
        )

    @property
    def shown(self) -> list[Turn]:
        """What the agent has shown of its past."""
        return self._replayed.turns

    def catch_up(self, records: Iterable[SpooledMessage]) -> list[AnyFact]:
        """Prompts in the input spool whose sender died before acknowledging them."""
        step = Step()
        self._exchange.sent(record for record in records if not self.wire.was_sent(record.id))
        self._follow(self._exchange.settle(), step)
        return step.facts

    def ended(self, ended: Ended, session: Session, record: Record | None = None) -> f.Exited:
        """How the attempt ended, and what was going on in it. `record` is the agent's own record at that time."""
        turn, state = session.turn, self.wire.open
        behind = [tool.words for tool in state.background]
        cut = Cut(background=behind) if behind else None
        if turn is not None and turn.attempt == self.attempt:
            delivered = (
                "yes" if turn.message <= ended.delivered else "no" if turn.message > ended.started else "unknown"
            )
            written = () if state.tools else _untold(state, turn, record)
            waiting = {asked.tool_id for asked in state.unanswered if isinstance(asked, o.AgentAskedPermission)}
            settled = {*state.finished, *waiting}
            cut = Cut(
                said=state.said[-4000:],
                tools=[tool.words for tool in state.tools or written if tool.tool_id not in settled],
                swept=list(ended.swept),
                delivered=delivered,  # type: ignore[arg-type]
                background=behind,
                done=[tool.words for tool in written if tool.tool_id in state.finished],
                asked_for=[tool.words for tool in state.tools if tool.tool_id in waiting],
                worked=bool(state.finished),
            )
        return f.Exited(
            at=self._clock(),
            attempt=self.attempt,
            how_ended=ended.how,
            by_us=ended.by_us,
            cut=cut,
            truncated=ended.truncated,
            unseen=ended.unseen,
        )

    def _take(self, seen: o.Observation, step: Step) -> None:
        now = self._clock()
        self._replayed.take(seen)
        follow_up = self.wire.follow_up(seen)
        step.outgoing += follow_up
        fact = as_fact(seen, self.attempt, now, self._said_at)
        if isinstance(fact, f.Compacted):
            self._compactions += 1
            fact = replace(fact, number=self._compactions)
        elif isinstance(fact, f.TurnFinished) and self._context is not None:
            fact = replace(fact, context=self._context.used, window=self._context.size)
        if fact is not None:
            step.facts.append(fact)
        match seen:
            case o.Initialized():
                if self._how == "load" and not (seen.can_load or seen.can_resume):
                    cannot = "the agent cannot load a conversation"
                    step.facts.append(
                        f.OpenRefused(at=now, attempt=self.attempt, how="load", problem="unsupported", message=cannot)
                    )
            case o.Retrying():
                self._heard_at = self._steady() + seen.seconds
            case o.ContextUsed():
                step.facts.extend(self._measure(seen, now))
            case o.ConversationOpened():
                step.opening = True
            case o.Said() | o.ToolStarted() if not seen.replay and not self._is_working:
                running = self.wire.open.prompt_id  # expensive: not asked for with every output
                if running is not None:
                    self._is_working = True
                    step.facts.append(f.TurnBegan(at=now, attempt=self.attempt, prompt=running))
            case o.AgentFinishedTurn() | o.AgentFailedTurn():
                self._is_working = False
            case o.AgentAskedPermission():
                step.facts.extend(self._asked(seen))
            case o.CallbackAsked() if not follow_up:
                step.callbacks.append(seen)
            case _:
                pass

    def _measure(self, seen: o.ContextUsed, now: float) -> list[AnyFact]:
        """How full the context is. Only a change that a person would see is recorded: agents tell it all the time."""
        before, self._context = self._context, seen
        if seen.size <= 0 or (before is not None and _percent(before) == _percent(seen)):
            return []
        self._measured += 1
        return [f.ContextMeasured(at=now, attempt=self.attempt, used=seen.used, size=seen.size, number=self._measured)]

    def _asked(self, seen: o.AgentAskedPermission) -> list[AnyFact]:
        key = fields.key(seen.request_id)
        asked = f.PermissionAsked(
            at=self._clock(),
            attempt=self.attempt,
            request=key,
            title=seen.title,
            kind=seen.kind,
            options=[(one.option_id, one.name, one.kind) for one in seen.options],
            prompt=self.wire.open.prompt_id or "",
            detail=seen.detail,
        )
        paths = self._resolve(self._cwd, seen.paths)
        match decide(self._mode, seen.kind, paths, self._resolve(self._cwd, ["."])[0], seen.options):
            case Allow(option=option):
                chosen: str | None = option.option_id
            case Deny(option=option):
                chosen = option.option_id if option is not None else None
            case Ask():
                return [asked]
        return [asked, f.PermissionAnswered(at=self._clock(), request=key, option=chosen, by=POLICY)]


def _last_told(session: Session) -> float:
    """When the agent was last told something that it has to react to, as far as is recorded; 0: never."""
    turn = session.turn
    return max([turn.sent_at if turn is not None else 0.0, *(one.at for one in session.settled[-1:])])


def _percent(context: o.ContextUsed) -> int:
    return 100 * context.used // context.size if context.size > 0 else -1


def _untold(state: OpenState, turn: Prompt, record: Record | None) -> tuple[OpenTool, ...]:
    """Tools that the agent recorded but died before reporting. Those still waiting for permission had not started."""
    if record is None or state.unanswered or record.prompts[-1:] != (turn.text,):
        return ()
    return record.open_tools
