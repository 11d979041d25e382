"""Asks something of a session that another host has: recorded first, then waited for. Says only what is known."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from rekindle.core import mail as m
from rekindle.core.mail import MailKind, MailTold
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.ports.mail import Mail, Mailbox
from rekindle.ports.store import StoreError
from rekindle.ports.told_errors import as_told, from_told

#: How long a message is waited for until its host has taken it, and then until something has come of it.
TAKEN_SECONDS = 10.0
DONE_SECONDS = 150.0
#: How long to try to record a message while the store is away.
RECORD_SECONDS = 15.0
_LOOK_SECONDS = 1.0


class MailWaits(RekindleError):
    """A message is recorded, and nothing has come of it yet."""

    code = "recorded"

    def __init__(self, mail: Mail, host: str, told: str, hint: str) -> None:
        super().__init__(told, hint, details={"mail": mail.id, "host": host, "taken": mail.taken_by is not None})
        self.mail = mail


async def nobody(_session: str, _mail: str) -> None:
    """Wakes no one: there is no engine that could be asleep."""


class MailSending:
    """One host's outgoing messages. `wake` tells the fleet's engine that there is one. Belongs to one loop."""

    def __init__(
        self,
        mailbox: Mailbox,
        clock: Callable[[], float],
        wake: Callable[[str, str], Awaitable[None]] = nobody,
        *,
        taken_seconds: float = TAKEN_SECONDS,
        done_seconds: float = DONE_SECONDS,
        record_seconds: float = RECORD_SECONDS,
    ) -> None:
        self._mailbox = mailbox
        self._clock = clock
        self._wake = wake
        self._taken_seconds = taken_seconds
        self._done_seconds = done_seconds
        self._record_seconds = record_seconds
        self._news = asyncio.Event()

    def heard(self) -> None:
        """Something may have come of a message."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def ask(
        self, kind: MailKind, what: str, session: str, host: str, body: dict[str, Any], *, by: str = "", name: str = ""
    ) -> dict[str, Any]:
        """Have the host that has a session do something, and return its answer. Raises what it raised, and MailWaits.

        `what` is the message in a word or two, for people. `name` makes asking again the same message.
        """
        given = json.dumps(body)
        made = name or secrets.token_hex(12)
        signed = m.signed(by, self._mailbox.host)
        mail = Mail(made, session, kind, given, signed, self._mailbox.host, self._clock())
        posted = await self._recorded(mail, what)
        if (posted.session, posted.kind, posted.body) != (session, kind, given):
            raise UsageError(f"another {what} for session {posted.session} has the id {made}", "use a new id")
        unwoken = await self._woken(session, made)
        found, trouble = await self._awaited(posted)
        if found.outcome is None and found.taken_by is None and m.is_momentary(kind):
            found = await self._withdrawn(found, what, host)
        if found.outcome is None:
            raise _waits(found, what, host, trouble or unwoken)
        return _answer(found.outcome)

    async def _woken(self, session: str, mail: str) -> str:
        """Tell the engine. If that cannot be done, the message is recorded all the same; returns why not."""
        try:
            await self._wake(session, mail)
        except RekindleError as error:
            return error.message
        return ""

    async def _recorded(self, mail: Mail, what: str) -> Mail:
        """The message, on disk. The store may be away for a moment: its id makes trying again harmless."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._record_seconds
        while True:
            try:
                return await asyncio.to_thread(self._mailbox.post, mail)
            except StoreError as error:
                if loop.time() >= deadline:
                    raise StoreError(
                        f"it is not known whether the {what} for session {mail.session} was recorded: {error.message}",
                        f"when the store is back, see `rekindle show {mail.session}` before you ask again",
                        code=error.code,
                    ) from error
            await asyncio.sleep(_LOOK_SECONDS)

    async def _awaited(self, mail: Mail) -> tuple[Mail, str]:
        """The message when something has come of it, or as it is after a while; and why that may be out of date."""
        loop = asyncio.get_running_loop()
        began, trouble = loop.time(), ""
        while mail.outcome is None:
            news = self._news
            try:
                found = await asyncio.to_thread(self._mailbox.find, mail.id)
                mail, trouble = found or mail, ""
            except StoreError as error:
                trouble = error.message
            patience = self._done_seconds if mail.taken_by is not None else self._taken_seconds
            left = began + patience - loop.time()
            if mail.outcome is not None or left <= 0:
                break
            try:
                async with asyncio.timeout(min(left, _LOOK_SECONDS)):
                    await news.wait()
            except TimeoutError:
                continue
        return mail, trouble

    async def _withdrawn(self, mail: Mail, what: str, host: str) -> Mail:
        """Who asks for something now does not want it in an hour."""
        seconds = f"{self._taken_seconds:.0f} s"
        told = RekindleError(
            f"host {host} did not take the {what} for session {mail.session} within {seconds}; it was withdrawn, "
            "and nothing was done",
            "`rekindle fleet status` says when that host was last seen",
            code="not_taken",
        )
        outcome = msgspec.json.encode(MailTold(error=as_told(told))).decode()
        try:
            if await asyncio.to_thread(self._mailbox.withdraw, mail.id, outcome, self._clock()):
                raise told
        except StoreError:
            return mail
        return (await self._awaited(mail))[0]


def _waits(mail: Mail, what: str, host: str, trouble: str) -> MailWaits:
    told = m.waiting(what, mail.session, host, taken=mail.taken_by is not None)
    if trouble:
        told = f"{told}, as far as is known: {trouble}"
    hint = (
        f"it is carried out once, when host {host} takes it, or the next host that has the session; "
        "`rekindle fleet status` says when that host was last seen"
    )
    return MailWaits(mail, host, told, hint)


def _answer(outcome: str) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(outcome, type=MailTold)
    except msgspec.DecodeError as error:
        raise RekindleError(
            f"the message was carried out, and what came of it cannot be read: {error}",
            "use the same version on every host; see `rekindle show`",
        ) from error
    if told.error is not None:
        raise from_told(told.error)
    return told.answer or {}
