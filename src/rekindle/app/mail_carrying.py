"""Takes the messages to this host's sessions, has them carried out in order, and says what came of each.

Between taking a message and saying what came of it, this host can be killed, or lose the session. Then it is taken
again, here or by the next host. What a message asks for is done once all the same, see `rekindle.core.mail`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from rekindle.app.mail_deeds import MailDeeds
from rekindle.app.mail_sending import MailSending
from rekindle.core.mail import MailTold, was_carried_out
from rekindle.core.streams import SESSION
from rekindle.ports.errors import RekindleError
from rekindle.ports.mail import Mail, Mailbox
from rekindle.ports.placements import CommitFeed
from rekindle.ports.store import StaleGeneration, StoreAccess, StoreError
from rekindle.ports.told_errors import as_told

log = logging.getLogger(__name__)

#: How long to wait for news before looking anyway.
LOOK_SECONDS = 2.0
#: How long the next message to the same session waits for one that takes long.
IN_LINE_SECONDS = 5.0
#: How long a message is kept after something came of it, and how often old ones are looked for.
KEPT_SECONDS = 7 * 86400.0
_FORGET_SECONDS = 3600.0


class MailCarrying:
    """Belongs to one daemon. `run` has to be kept running."""

    def __init__(
        self,
        mailbox: Mailbox,
        feed: CommitFeed,
        deeds: MailDeeds,
        store: StoreAccess,
        sending: MailSending,
        clock: Callable[[], float],
    ) -> None:
        self._mailbox = mailbox
        self._feed = feed
        self._deeds = deeds
        self._store = store
        self._sending = sending
        self._clock = clock
        self._lines: dict[str, asyncio.Task[None]] = {}
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._forgot = float("-inf")

    async def run(self) -> None:
        """Take what is due, for ever."""
        is_well = True
        while True:
            try:
                await asyncio.to_thread(self._feed.wait, LOOK_SECONDS)
                self._sending.heard()
                due = await asyncio.to_thread(self._mailbox.due)
                await self._forget()
            except StoreError as error:
                if is_well:
                    log.warning("messages from other hosts cannot be read: %s", error.message)
                is_well = False
                await asyncio.sleep(LOOK_SECONDS)
                continue
            is_well = True
            for session in {one.session: None for one in due if one.id not in self._at_work}:
                if session not in self._lines:
                    self._begin(session, due)

    async def catch_up(self, session: str) -> None:
        """Take what waits for a session that this host has just got: its job may be over in a moment.

        A prompt is in the session's queue then. What takes longer than its place in line goes on behind it.
        """
        try:
            due = await asyncio.to_thread(self._mailbox.due)
        except StoreError as error:
            log.warning("messages to %s cannot be read yet: %s", session, error.message)
            return
        if session not in self._lines and any(one.session == session for one in due):
            self._begin(session, due)
        if (line := self._lines.get(session)) is not None:
            await asyncio.wait({line}, timeout=IN_LINE_SECONDS)

    async def close(self) -> None:
        """Stop. What is not settled is taken again by the next daemon."""
        for task in (*self._lines.values(), *self._at_work.values()):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    def _begin(self, session: str, due: list[Mail]) -> None:
        work = asyncio.ensure_future(self._line(session, due))
        self._lines[session] = work
        work.add_done_callback(lambda _done: self._lines.pop(session, None))

    async def _line(self, session: str, due: list[Mail]) -> None:
        """The messages to one session, in order; also those that come meanwhile."""
        tried: set[str] = set()
        while todo := [one for one in due if one.session == session and one.id not in {*tried, *self._at_work}]:
            for mail in todo:
                tried.add(mail.id)
                try:
                    await self._take(mail)
                except (StoreError, StaleGeneration) as error:
                    log.warning("message %s to %s waits: %s", mail.id, session, error.message)
                    return  # those behind it do not overtake it
            try:
                due = await asyncio.to_thread(self._mailbox.due)
            except StoreError:
                return

    async def _take(self, mail: Mail) -> None:
        """Begin to carry a message out. Raises StoreError and StaleGeneration: then nobody knows how far it came."""
        taken = await asyncio.to_thread(self._mailbox.take, mail.id)
        if taken is None:
            return
        if mail.taken_by is not None and await self._was_done(taken):
            await self._settle(taken, self._deeds.as_it_is(taken))
            return
        if taken.kind == "send":
            try:
                await self._deeds.accept(taken)
            except (StoreError, StaleGeneration):
                raise
            except Exception as error:
                await self._settle(taken, _raising(error))
                return
        work = asyncio.ensure_future(self._settle_later(taken))
        self._at_work[taken.id] = work
        work.add_done_callback(lambda _done: self._at_work.pop(taken.id, None))
        if taken.kind != "send":
            await asyncio.wait({work}, timeout=IN_LINE_SECONDS)

    async def _settle_later(self, mail: Mail) -> None:
        try:
            await self._settle(mail, self._deeds.carry_out(mail))
        except (StoreError, StaleGeneration) as error:
            log.warning("what came of message %s to %s is not recorded yet: %s", mail.id, mail.session, error.message)

    async def _settle(self, mail: Mail, work: Coroutine[Any, Any, msgspec.Struct]) -> None:
        """Do something, and write what came of it. If the store fails, nothing is written, and it is tried again."""
        try:
            told = MailTold(answer=msgspec.to_builtins(await work))
        except (StoreError, StaleGeneration):
            raise
        except RekindleError as error:
            told = MailTold(error=as_told(error))
        except Exception as error:
            log.exception("a message from another host failed")
            why = RekindleError(f"{type(error).__name__}: {error}", "see the daemon's log there", code="internal")
            told = MailTold(error=as_told(why))
        outcome = json.dumps(msgspec.to_builtins(told))
        await asyncio.to_thread(self._mailbox.settle, mail.id, outcome, self._clock())

    async def _was_done(self, mail: Mail) -> bool:
        """Whether somebody who was killed after taking it had carried it out."""
        after = mail.after or 0
        since = await self._store.ask(lambda store: store.facts(SESSION.kind, mail.session, after=after, limit=100_000))
        return was_carried_out(mail.kind, mail.by, [one.fact for one in since])

    async def _forget(self) -> None:
        if self._clock() - self._forgot > _FORGET_SECONDS:
            self._forgot = self._clock()
            await asyncio.to_thread(self._mailbox.forget, self._clock() - KEPT_SECONDS)


async def _raising(error: Exception) -> msgspec.Struct:
    raise error
