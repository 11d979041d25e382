"""Tells people outside the terminal what waits for them. A slow or failing receiver never holds up the daemon.

What to send and when is decided in `core.inbox.telling`. A message is recorded as meant before it is sent, so that each
item of news is told once. If the daemon is killed in between, the message is sent again, marked as a possible
repetition: a question that nobody hears of would be worse.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from rekindle.core.inbox import told as t
from rekindle.core.inbox.news import Message, News, message
from rekindle.core.inbox.telling import PAUSES, TellRules, due
from rekindle.core.session.news import news_of
from rekindle.core.session.state import Session
from rekindle.core.streams import TELLING
from rekindle.ports.errors import RekindleError
from rekindle.ports.notify import NotDelivered, Receiver
from rekindle.ports.store import Recorded, Store, StoreAccess, StoreChange, StoreError
from rekindle.runtime.own_thread import in_own_thread

log = logging.getLogger(__name__)
#: How long a receiver may take for one message, and how much longer we wait for its thread.
SEND_SECONDS, GRACE_SECONDS = 10.0, 5.0
#: How often to look whether the settings have changed.
_LOOK_SECONDS = 5.0
#: The shortest time between two looks, so that a flood of facts costs little.
_PAUSE_SECONDS = 0.25


@dataclass(frozen=True)
class TellingTerms:
    """Who is told, by which rules. Without receivers, nobody is told. `report_at`: see `runtime.daily_report`."""

    rules: TellRules = field(default_factory=TellRules)
    receivers: Mapping[str, Receiver] = field(default_factory=dict)
    with_text: bool = False
    report_at: int | None = None


@dataclass(frozen=True)
class TellingPorts:
    """`terms` gives the current settings, `minute` the minute of the day where the person is at a time.

    `masked` hides secrets in news. `sessions` are all sessions.
    """

    store: StoreAccess
    clock: Callable[[], float]
    terms: Callable[[], TellingTerms]
    minute: Callable[[float], float]
    masked: Callable[[News], News]
    sessions: Callable[[], Awaitable[list[Session]]]
    pauses: Sequence[float] = PAUSES
    send_seconds: float = SEND_SECONDS


class Teller:
    """The notifications of one daemon."""

    def __init__(self, ports: TellingPorts) -> None:
        self._ports = ports
        self._told = t.Tellings()
        self._news: dict[str, tuple[News, ...]] = {}
        self._dirty: dict[str, Session] = {}
        self._changed = asyncio.Event()
        self._is_on = False
        self._next: float | None = None
        self._messages: dict[str, Message] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._lines: dict[str, asyncio.Lock] = {}

    @property
    def is_busy(self) -> bool:
        """Whether somebody is still to be told something."""
        return self._is_on and (self._next is not None or bool(self._tasks))

    def heard(self, session: Session, _recorded: Sequence[Recorded]) -> None:
        """A session has changed."""
        if self._is_on:
            self._dirty[session.id] = session
            self._changed.set()

    def put(self, source: str, news: Iterable[News]) -> None:
        """All the current news of something that is not a session."""
        self._news[f"put {source}"] = tuple(news)
        self._changed.set()

    def wants(self, key: str, since: float) -> bool:
        """Whether an item would be news to people, as far as is known yet."""
        is_news = self._told.since is not None and since >= self._told.since
        return self._is_on and is_news and key not in self._told.keys

    async def close(self) -> None:
        """Stop sending. What was meant and not sent is in doubt, and is sent by the next daemon."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def run(self) -> None:
        """Tell people, until cancelled."""
        while not await self._open():
            await asyncio.sleep(_LOOK_SECONDS)
        while True:
            self._changed.clear()
            try:
                self._next = await self._step()
            except Exception as error:  # what cannot be recorded is not sent; whatever it is, agents must not suffer
                log.warning("nobody can be told now: %s", error, exc_info=not isinstance(error, RekindleError))
                self._next = self._ports.clock() + _LOOK_SECONDS
            left = _LOOK_SECONDS if self._next is None else self._next - self._ports.clock()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(max(left, 0.0), _LOOK_SECONDS)):
                    await self._changed.wait()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _open(self) -> bool:
        """Read what people were told. False: the store of the fleet is away just now, and nobody is told meanwhile."""
        told = self._told
        for subject in t.subjects(self._ports.clock()):
            try:
                facts = await self._ports.store.ask(_reader(subject))
            except StoreError as error:
                if error.code != "store_away":
                    raise
                log.warning("nobody can be told now: %s", error.message)
                return False
            for one in facts:
                assert isinstance(one.fact, t.TellingFact)
                told = t.booked(told, one.fact)
        self._told = told
        return True

    async def _step(self) -> float | None:
        """Send what is due; returns when to look again."""
        terms, now = self._ports.terms(), self._ports.clock()
        if not terms.receivers:
            if self._told.since is not None:
                await self._record(t.TellingStopped(at=now))
            self._is_on = False
            self._dirty.clear()
            return None
        if self._told.since is None:
            await self._record(t.TellingBegan(at=now))
        if not self._is_on:
            self._is_on = True
            self._dirty = {one.id: one for one in await self._ports.sessions()}
        self._take_in(now)
        news = [one for some in self._news.values() for one in some]
        await self._take_up({one.key: one for one in reversed(news)}, terms, now)
        found = due(news, self._told, terms.rules, now, self._ports.minute(now))
        for group in found.groups:
            await self._tell(group, terms)
        return self._ports.clock() if found.groups else found.at

    def _take_in(self, now: float) -> None:
        dirty, self._dirty = self._dirty, {}
        for name, session in dirty.items():
            news = tuple(news_of(session, now))
            if news:
                self._news[name] = news
            else:
                self._news.pop(name, None)

    async def _tell(self, group: Sequence[News], terms: TellingTerms) -> None:
        """Record a message as meant, then have it sent."""
        keys = [one.key for one in group]
        name = message_id(keys)
        self._messages[name] = self._message(name, group, terms)
        now = self._ports.clock()
        await self._record(t.TellingMeant(at=now, message=name, keys=keys, receivers=list(terms.receivers)))
        self._send(name)

    def _message(self, name: str, group: Sequence[News], terms: TellingTerms) -> Message:
        masked = [self._ports.masked(one) for one in group]
        return message(name, masked, self._ports.clock(), with_text=terms.with_text)

    async def _take_up(self, open_: Mapping[str, News], terms: TellingTerms, now: float) -> None:
        """Messages that an earlier daemon meant to send. What is settled by now is not told any more."""
        for name, pending in list(self._told.pending.items()):
            if any(key[0] == name for key in self._tasks):
                continue
            group = [open_[key] for key in pending.keys if key in open_]
            if not group:
                await self._record(t.TellingDropped(at=now, message=name))
                continue
            if any(pending.is_in_doubt(receiver) for receiver in pending.receivers):
                if not self._told.has_room(terms.rules.hourly, now):
                    continue
                await self._record(t.TellingRepeated(at=now, message=name))
            self._messages[name] = self._message(name, group, terms)
            self._send(name)

    def _send(self, name: str) -> None:
        pending = self._told.pending.get(name)
        for receiver in pending.receivers if pending is not None else ():
            task = asyncio.ensure_future(self._hand_over(name, receiver))
            self._tasks[name, receiver] = task
            task.add_done_callback(lambda _, key=(name, receiver): self._over(*key))  # type: ignore[misc]

    def _over(self, name: str, receiver: str) -> None:
        self._tasks.pop((name, receiver), None)
        if name not in self._told.pending:
            self._messages.pop(name, None)

    async def _hand_over(self, name: str, receiver: str) -> None:
        """Send a message to one receiver, one after the other, and try again within its budget."""
        async with self._lines.setdefault(receiver, asyncio.Lock()):
            while (pending := self._told.pending.get(name)) is not None and receiver in pending.receivers:
                await self._pause(pending.failed_at.get(receiver, ()))
                try:
                    await self._try(name, receiver)
                except NotDelivered as error:
                    tries = len(self._told.pending[name].failed_at.get(receiver, ())) + 1
                    final = error.final or tries > len(self._ports.pauses)
                    failed = t.TellingFailed(
                        at=self._ports.clock(),
                        message=name,
                        receiver=receiver,
                        why=error.message,
                        final=final,
                        unsure=error.unsure,
                    )
                    log.warning("%s did not take a message: %s", receiver, error.message)
                    outcome: t.TellingFact = failed
                else:
                    outcome = t.TellingSent(at=self._ports.clock(), message=name, receiver=receiver)
                try:
                    await self._record(outcome)
                except StoreError as error:  # it stays in doubt, and is taken up again
                    log.warning("that a message was sent could not be recorded: %s", error.message)
                    return

    async def _pause(self, failed: Sequence[float]) -> None:
        if failed:
            pause = self._ports.pauses[min(len(failed), len(self._ports.pauses)) - 1]
            left = failed[-1] + pause - self._ports.clock()
            await asyncio.sleep(min(max(0.0, left), pause))  # the clock may have been set back

    async def _try(self, name: str, receiver: str) -> None:
        found = self._ports.terms().receivers.get(receiver)
        if found is None:
            raise NotDelivered("it is no longer in your settings", final=True)
        again = self._told.pending[name].may_be_repeated
        told = replace(self._messages[name], may_be_repeated=again)
        seconds = self._ports.send_seconds
        try:
            await in_own_thread(lambda: found.send(told, seconds), seconds + GRACE_SECONDS)
        except TimeoutError:
            raise NotDelivered(f"it took longer than {seconds:g} s", unsure=True) from None
        except RekindleError:
            raise
        except Exception as error:  # a fault in a receiver counts as a failed try: it must not be tried for ever
            fault = type(error).__name__  # what it says may have an address with a secret in it
            raise NotDelivered(f"it failed in an unexpected way ({fault})", unsure=True) from error

    async def _record(self, fact: t.TellingFact) -> None:
        await self._ports.store.commit(StoreChange(TELLING.kind, t.subject(fact.at), [fact]))
        self._told = t.booked(self._told, fact)


def message_id(keys: Sequence[str]) -> str:
    """The id of the message about these items: an item is told once, so that no other message has it."""
    return "n" + hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()[:12]


def _reader(subject: str) -> Callable[[Store], list[Recorded]]:
    return lambda store: store.facts(TELLING.kind, subject, limit=1_000_000)
