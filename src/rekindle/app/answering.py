"""Answering agents' questions at a terminal: which question is meant, and which option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rekindle.app.session_names import NoSuchSession
from rekindle.core.session.asking import MARK
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import NoSuchQuestion, RekindleError, UsageError

#: A question as the daemon shows it; see `rekindle.core.session.asking.shown`.
Question = dict[str, Any]
#: What the daemon says when an answer came too late for the question it names.
_TOO_LATE = ("answered_already", "question_expired", "no_such_question")


class Answering:
    """Asks the daemon."""

    def __init__(self, daemon: Daemon, environment: Mapping[str, str]) -> None:
        self._daemon = daemon
        self._environment = dict(environment)

    def open(self, *, start: bool = True, session: str | None = None) -> list[Question]:
        """The open questions, oldest first. `start`: start a daemon if there is none."""
        values = {} if session is None else {"session": session}
        return list(self._daemon.ask("questions", start=start, **values)["questions"])

    def meant(self, given: str) -> Question:
        """The open question with this id, or the oldest one of this session."""
        if given.startswith(MARK):
            found = self._beginning(given)
            if len(found) != 1:
                problem = f"can mean {len(found)} open questions" if found else "is not an open question"
                raise NoSuchQuestion(f"{given!r} {problem}", "`rekindle inbox` lists them")
            return found[0]
        try:
            question = self._daemon.ask("show", session=given)["question"]
        except RekindleError as error:
            if error.code != NoSuchSession.code:
                raise
            raise NoSuchQuestion(
                f"there is no question and no session {given!r}", "`rekindle inbox` lists the open questions"
            ) from error
        if question is None:
            raise UsageError(f"session {given} has no open question", "`rekindle inbox` lists the open questions")
        return dict(question)

    def numbered(self, given: str, number: str) -> tuple[str, str]:
        """A question's id, and the id of the option that it shows with this number. Ids that are numbers win."""
        found = self._beginning(given)
        if len(found) != 1 or any(one["id"].isdigit() for one in found[0]["options"]):
            return given, number
        return found[0]["id"], option_typed(found[0], number) or number

    def answer(self, question: str, option: str, by: str, text: str = "") -> dict[str, Any]:
        """Give an answer. Raises NoSuchQuestion, AnsweredAlready."""
        values: dict[str, Any] = {"question": question, "option": option, "by": by, "env": self._environment}
        values |= {"text": text} if text else {}
        return self._daemon.ask("answer", start=True, **values)

    def answer_in_time(self, question: str, option: str, by: str) -> str | None:
        """Answer exactly this question. Returns why the answer came too late, if it did."""
        try:
            self.answer(question, option, by)
        except RekindleError as error:
            if error.code not in _TOO_LATE:
                raise
            return error.message
        return None

    def _beginning(self, given: str) -> list[Question]:
        return [one for one in self.open() if one["id"].startswith(given)]


def option_typed(question: Question, typed: str) -> str | None:
    """The option that a typed line means: its number, its id, or allow / deny. None: it is not an answer."""
    options = question["options"]
    if typed.isascii() and typed.isdigit():
        return str(options[int(typed) - 1]["id"]) if 0 < int(typed) <= len(options) else None
    kind = {"allow": "allow_once", "deny": "reject_once"}.get(typed)
    return next((str(one["id"]) for one in options if (one["kind"] == kind if kind else one["id"] == typed)), None)
