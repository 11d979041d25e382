"""A person at a session, on a terminal that can move its cursor: the conversation above, an input line below.

A question shows its options, and half-typed text is set aside until it is answered.
"""

from __future__ import annotations

import functools
import io
import os
import queue
import secrets
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import questions
from rekindle.doors.cli.leaving import LEAVES, SHORT
from rekindle.doors.cli.live import coloured, state_line
from rekindle.doors.cli.measure import cells, fitted, hung, wrapped
from rekindle.doors.cli.options import daemon, who
from rekindle.doors.cli.receipts import Receipts
from rekindle.doors.cli.rendered import RenderedAbove
from rekindle.doors.cli.typed import QuestionAtHand, TooSoon, TypedAnswer, TypedPrompt, UnusedLine
from rekindle.doors.cli.typing_line import How, TypingLine
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.conversations import FollowedConversation
from rekindle.ports.errors import RekindleError

_PAUSE = 0.1
_LOOK_SECONDS = 0.2
#: How long a question in the stream may wait for the block that shows it with its options, and takes its place.
_HELD_SECONDS = 1.0
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def can_talk() -> bool:
    """Whether somebody sees the output, types here, and has a terminal that can move its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@dataclass(frozen=True)
class TalkEnd:
    """How the person left, and the session as last seen."""

    how: How
    told: dict[str, Any] | None


class Conversing:
    """One terminal at one session.

    `until_rest`: it ends when the session is at rest; else when the person leaves. `serve`: start a daemon if there
    is none; else only when there is something to send to it.
    """

    def __init__(
        self,
        session: str,
        conversation: FollowedConversation,
        *,
        until_rest: bool,
        serve: bool,
        known: dict[str, Any] | None = None,
    ) -> None:
        self._session = session
        self._conversation = conversation
        self._until_rest = until_rest
        self._serve = serve
        self._receipts = Receipts(known)
        self._client = daemon()
        self._at_hand = QuestionAtHand(session)
        self._held: list[ConversationEntry] = []
        self._held_at = 0.0
        self._asked: str | None = None
        self._told: dict[str, Any] | None = None
        self._trouble = ""
        self._waits_until: float | None = None
        self._jobs: queue.SimpleQueue[TypedAnswer | TypedPrompt] = queue.SimpleQueue()
        self._jobs_left = 0
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._out = io.StringIO()
        self._view = RenderedAbove(session, self._out)
        self._line = TypingLine(self, self._begin)
        self._worker = threading.Thread(target=self._work, daemon=True)

    def hold(self) -> TalkEnd:
        """Show and listen until it is over, or the person leaves."""
        try:
            how = self._line.run()
            if how != "over":
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C: the person is told what goes on first
        finally:
            self._stop.set()
        self._worker.join(1.0)  # it may be asking a daemon that does not answer
        if self._failure is not None:
            raise self._failure
        self._view.rest()
        sys.stdout.write(self._written())
        sys.stdout.flush()
        if how != "over" and not self._worker.is_alive():
            self._serve = False
            self._look()  # what is said of the session is how it is now, not how it was when somebody last looked
        return TalkEnd(how, self._told)

    # Called by the line, in its own thread.

    def above(self, columns: int) -> str:
        """The end of the agent's current output."""
        return self._view.tail(columns)

    def label(self) -> tuple[str, bool]:
        """Which question a line would answer, as soon as it would."""
        asked = self._at_hand.open
        if asked is None:
            return "› ", False
        if not self._at_hand.takes_answers(time.monotonic()):
            return "  ", True
        count = len(asked["options"])
        return (f"answer {asked['id']} (1-{count}) › " if count > 1 else f"answer {asked['id']} › "), True

    def below(self, columns: int) -> str:
        """What is happening, how long it has taken and what it has used; or what it waits for."""
        told = self._told
        spins = told is not None and told["is_running"] and not told["rested"]
        mark = f"{_SPINNER[int(time.monotonic() * 8) % len(_SPINNER)]} " if spins else "  "
        if self._is_over(told) and not self._line.is_empty:
            said = "finished · Enter sends your line"
        elif self._trouble:
            said = self._trouble
        else:
            said = state_line(told, time.time()) if told is not None else "…"
        room = columns - cells(mark) - 1
        for hint in (LEAVES, SHORT):
            if cells(said) + len(hint) + 3 <= room:
                return mark + said + " " * (room - cells(said) - len(hint)) + hint
        return mark + fitted(said, room)

    def accept(self, text: str) -> bool:
        """Take a line that was typed."""
        line = text.strip()
        if not line:
            return True
        meant = self._at_hand.take(line, time.monotonic())
        if isinstance(meant, TooSoon):
            return False
        if isinstance(meant, UnusedLine):
            self._line.write("".join(f"{part}\n" for part in wrapped(f"rekindle: {meant.why}", self._line.columns)))
            return True
        if isinstance(meant, TypedAnswer):
            self._line.call(self._line.bring_back)
        self._jobs_left += 1
        self._jobs.put(meant)
        return True

    def _begin(self) -> None:
        self._worker.start()

    def _see(self, told: dict[str, Any]) -> None:
        before = self._at_hand.open
        if self._at_hand.see(told["question"], time.monotonic()):
            if before is None:
                self._line.put_aside()
            else:
                self._line.clear()
            first, *more = questions.lines(told["question"])
            title = [coloured(line, "yellow") for line in hung(first, self._line.columns)]
            rest = [line for one in more for line in hung(one, self._line.columns)]
            self._line.write("\n".join([*title, *rest]) + "\n")
        elif before is not None and self._at_hand.open is None:
            self._line.clear()
            self._line.bring_back()
        if self._is_over(told) and self._line.is_empty and not self._jobs_left:
            self._line.finish()

    def _take_back(self, job: TypedAnswer | TypedPrompt) -> None:
        self._at_hand.fail() if isinstance(job, TypedAnswer) else self._line.bring_back(job.text)

    def _job_done(self) -> None:
        self._jobs_left -= 1

    def _is_over(self, told: dict[str, Any] | None) -> bool:
        return self._until_rest and told is not None and told["rested"] and told["question"] is None

    # Run by the worker, in its own thread.

    def _work(self) -> None:
        try:
            looked = 0.0
            while not self._stop.is_set():
                self._do_jobs()
                told = None
                if time.monotonic() - looked >= _LOOK_SECONDS:
                    told = self._look()
                    looked = time.monotonic()
                found = self._fresh()
                self._view.show(found)
                if told is not None:
                    self._tell(told)
                self._flush()
                if any(entry.kind in ("end", "question") for entry in found):
                    looked = 0.0
                elif self._jobs.empty():
                    self._conversation.wait(_PAUSE)
        except BaseException as error:
            self._failure = error
            self._line.call(self._line.finish)

    def _fresh(self) -> list[ConversationEntry]:
        """What is new in the conversation, without the question that has a block of its own."""
        found = [*self._held, *self._conversation.poll()]
        if found[:1] != self._held[:1] or not self._held:
            self._held_at = time.monotonic()
        self._held = []
        if found and found[-1].kind == "question":
            asked = self._told["question"] if self._told is not None else None
            if asked is not None and asked["title"] == found[-1].text:
                found.pop()
            elif time.monotonic() - self._held_at < _HELD_SECONDS:
                self._held.append(found.pop())
        return found

    def _look(self) -> dict[str, Any] | None:
        try:
            told = self._client.ask("wait", start=self._serve, session=self._session, seconds=0)
        except RekindleError as error:  # no daemon serves the session at the moment: retry
            self._trouble = printable(error.message)
            return None
        self._told, self._trouble = told, ""
        return told

    def _tell(self, told: dict[str, Any]) -> None:
        asked = told["question"]["id"] if told["question"] is not None else None
        news = self._receipts.news(told)
        waits = told["waits_until"] not in (None, self._waits_until)
        if asked != self._asked or news or waits or (told["rested"] and self._until_rest):
            self._view.rest()
        self._asked, self._waits_until = asked, told["waits_until"]
        self._print(*news)
        if waits:
            self._print(f"  note: {state_line(told, time.time())}")
        self._flush()
        self._line.call(lambda: self._see(told))

    def _do_jobs(self) -> None:
        while not self._jobs.empty():
            job = self._jobs.get()
            try:
                self._answer(job) if isinstance(job, TypedAnswer) else self._send(job.text)
            except RekindleError as error:
                self._print(
                    f"rekindle: {printable(error.message)}", *([f"  {printable(error.hint)}"] if error.hint else [])
                )
                self._line.call(functools.partial(self._take_back, job))
            self._line.call(self._job_done)

    def _answer(self, job: TypedAnswer) -> None:
        too_late = use_cases().answering().answer_in_time(job.question["id"], job.option, who())
        done = f"  answered {job.question['id']}: {job.label}"
        self._print(done if too_late is None else f"rekindle: {printable(too_late)}")

    def _send(self, text: str) -> None:
        self._serve = True  # from now on the session needs a daemon: one that dies is replaced
        self._client.ask("send", session=self._session, text=text, prompt_id=secrets.token_hex(8))

    def _print(self, *lines: str) -> None:
        for line in lines:
            indent = " " * (len(line) - len(line.lstrip()))
            self._out.write("".join(f"{part}\n" for part in wrapped(line, self._line.columns, indent)))

    def _flush(self) -> None:
        if text := self._written():
            self._line.write(text)

    def _written(self) -> str:
        text = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return text
