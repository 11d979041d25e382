"""Claude Code's stream (`--output-format stream-json`, `--input-format stream-json`) as a dialect.

One process serves many turns. The agent repeats each prompt with the uuid that we gave it (`--replay-user-messages`),
so a result counts for a prompt only after its echo: a turn that the agent began by itself ends none of ours.
A command (`/compact`) is not repeated. The first turn of a process may be the agent's own, before any echo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from rekindle.agents.base import fields
from rekindle.agents.base.dialect import CallbackResult, Opening, OpenState, OurRequest, Outgoing, SpeaksInLines
from rekindle.agents.base.failure import Failure, why_not_opened
from rekindle.agents.base.framing import Oversized
from rekindle.agents.base.lenient import excerpt, parse
from rekindle.agents.base.observation import (
    AgentAskedPermission,
    AgentCompacted,
    AgentFailedTurn,
    AgentFinishedTurn,
    AgentRefusedToOpen,
    AgentSpent,
    CallbackAsked,
    ConversationNamed,
    ConversationOpened,
    How,
    Initialized,
    Noise,
    Observation,
    Retrying,
    Said,
    Unknown,
    UserEchoed,
)
from rekindle.agents.claude import messages, permissions, tools
from rekindle.agents.claude.background import BackgroundTools
from rekindle.agents.claude.errors import Told, judge
from rekindle.agents.claude.spending import ContextFilling, Spending, usage_in
from rekindle.agents.claude.words import Words
from rekindle.core.session.facts import Usage

#: Ends of a turn that are not failures: a limit that somebody set was reached.
_LIMITS: Final = {"error_max_turns": "max_turns", "error_max_budget_usd": "max_budget"}
_INITIALIZED: Final = Initialized(
    protocol_version=1,
    agent_name="claude",
    agent_version="",
    can_load=True,
    can_resume=False,
    can_list=False,
    auth_methods=(),
)


class ClaudeDialect(SpeaksInLines):
    """See `rekindle.agents.base.dialect.Dialect`. `generation` is the number of the attempt."""

    def __init__(self, generation: int, cwd: str, stored_token: str | None = None) -> None:
        self.generation = generation
        self.token: str | None = None
        self._stored_token = stored_token
        self.asked: Opening | None = None
        self._opened: How | None = None
        self._messages: set[str] = set()
        self._prompt: OurRequest | None = None
        self._uuid = ""
        self._echoed = False
        self._echoes = self._is_command = False
        self._cancelled: set[str] = set()
        self._questions: dict[str, tuple[AgentAskedPermission, dict[str, Any]]] = {}
        self._answered: set[str] = set()
        self._words = Words()
        self._background = BackgroundTools()
        self._spending = Spending()
        self._told = Told()
        self._cost, self._context = 0.0, ContextFilling()

    @property
    def open(self) -> OpenState:
        """What is still open between the agent and us."""
        turn = self._prompt
        return OpenState(
            initialized=_INITIALIZED if self._opened is not None else None,
            token=self.token,
            opened=self._opened,
            awaiting=(turn,) if turn is not None else (),
            unanswered=tuple(asked for asked, _ in self._questions.values()),
            prompt_id=turn.prompt_id if turn is not None else None,
            cancelling=turn is not None and turn.prompt_id in self._cancelled,
            said=self._words.said if turn is not None else "",
            tools=self._words.tools if turn is not None else (),
            background=self._background.running,
            finished=self._words.finished if turn is not None else (),
        )

    @property
    def is_prompting(self) -> bool:
        """Whether a turn is running."""
        return self._prompt is not None

    def begin(self, how: How, token: str | None) -> list[Outgoing]:
        """Ask the agent whether it is ready; the command line already said which conversation to open."""
        return [messages.initialize(self.generation, how, token or self._stored_token or "")]

    def follow_up(self, seen: Observation) -> list[Outgoing]:
        """A request that we do not serve is refused at once."""
        return [self._refuse(seen)] if isinstance(seen, CallbackAsked) else []

    def say(self, prompt_id: str, text: str) -> Outgoing:
        """The message that carries a prompt."""
        return messages.prompt(self.generation, prompt_id, self.token or self._stored_token or "", text)

    def cancel(self, prompt_id: str) -> list[Outgoing]:
        """End a turn; questions that the agent still has open are answered with no."""
        denied = [messages.deny(self.generation, name, "cancelled", interrupt=True) for name in self._questions]
        return [messages.interrupt(self.generation, prompt_id), *denied]

    def answer(self, request: str, option: str | None) -> Outgoing | None:
        """The answer to a request for permission, if it is still open."""
        for name, (asked, raw) in self._questions.items():
            if fields.key(asked.request_id) != request:
                continue
            return permissions.answer(self.generation, name, raw, option)
        return None

    def reply(self, asked: CallbackAsked, result: CallbackResult) -> Outgoing | None:
        """Other than permissions, nothing that it asks for is served."""
        return self._refuse(asked)

    def _refuse(self, asked: CallbackAsked) -> Outgoing:
        return messages.refuse(self.generation, str(asked.request_id), f"{asked.method} is not served here")

    def prompt_in(self, message_id: str, line: bytes) -> tuple[str, str] | None:
        """The id and text of the prompt, if our message is one."""
        return messages.prompt_in(message_id, line)

    def was_sent(self, message_id: str) -> bool:
        """Whether our message is in the spool, as far as we have been told."""
        return message_id in self._messages

    def sent(self, message_id: str, line: bytes) -> None:
        """One record of the input spool, in order."""
        if message_id in self._messages:
            return
        self._messages.add(message_id)
        opening = messages.opening_in(message_id)
        prompt = messages.prompt_in(message_id, line)
        body = fields.mapping(parse(line))
        if opening is not None:
            self.asked = Opening(opening[0], opening[1] or None)
        elif prompt is not None:
            self._prompt = OurRequest(message_id, "prompt", self.token or "", prompt[0])
            self._uuid, self._echoed = fields.text(body.get("uuid")), False
            self._is_command = prompt[1].lstrip().startswith("/")
        elif body.get("type") == "control_response":
            name = fields.text(fields.mapping(body.get("response")).get("request_id"))
            self._questions.pop(name, None)
            self._answered.add(name)
        elif body.get("type") == "control_request":
            self._cancelled.add(message_id.partition("-cancel-")[2])

    def is_due(self, message_id: str, line: bytes) -> bool:
        """Whether our message can have been sent by now."""
        _, _, key = message_id.partition("-")
        if key.startswith("prompt-"):
            return self._opened is not None and self._prompt is None
        if key.startswith("answer-"):
            name = fields.text(parse(key.removeprefix("answer-").encode()))
            return name in self._questions or name in self._answered
        if key.startswith("cancel-"):
            return f"{self.generation}-prompt-{key.removeprefix('cancel-')}" in self._messages
        return True

    def needed(self, line: bytes, waiting: Sequence[tuple[str, bytes]]) -> int:
        """If the agent repeats a prompt, it was sent, even if the agent does not show how the turn before it ended."""
        if b'"isReplay"' not in line:
            return 0
        uuid = fields.text(fields.mapping(parse(line)).get("uuid"))
        sent = (fields.text(fields.mapping(parse(payload)).get("uuid")) for _, payload in waiting)
        return next((at for at, one in enumerate(sent, start=1) if uuid and one == uuid), 0)

    def received(self, line: bytes) -> list[Observation]:
        """One complete line of the output spool, in order."""
        if not line.strip():
            return []
        value = parse(line)
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return [Noise("no line of its protocol", excerpt(line))]
        return [*self._name(value), *self._fold(value, line)]

    def oversized(self, skipped: Oversized) -> list[Observation]:
        """A line that was too long to keep."""
        return [Noise(f"a line of {skipped.end - skipped.start} bytes, which is too long", excerpt(skipped.head))]

    def _name(self, value: dict[str, Any]) -> list[Observation]:
        """The agent's own name for the conversation: trusted once the conversation shows it, not from the start."""
        token = fields.text(value.get("session_id"))
        shows = value["type"] in ("assistant", "user") or value.get("subtype") == "init"
        if not token or not shows or token == self.token:
            return []
        self.token = token
        return [ConversationNamed(token)]

    def _fold(self, value: dict[str, Any], line: bytes) -> list[Observation]:
        match value["type"]:
            case "assistant":
                return self._assistant(value)
            case "stream_event":
                return [*self._words.partial(value), *self._spent(value)]
            case "user":
                return self._user(value)
            case "system":
                return self._system(value)
            case "rate_limit_event":
                return self._limit(fields.mapping(value.get("rate_limit_info")))
            case "control_request":
                return self._asks(value)
            case "control_cancel_request":
                name = fields.text(value.get("request_id"))
                self._questions.pop(name, None)
                self._answered.add(name)
                return []
            case "control_response":
                return self._control(fields.mapping(value.get("response")), line)
            case "result":
                return self._result(value, line)
            case kind:
                return [Unknown(kind)]

    def _assistant(self, value: dict[str, Any]) -> list[Observation]:
        word = fields.text(value.get("error"))
        if word:
            self._note(word=word)
            return []  # its text is the error's, and comes again with the result
        return [*self._words.assistant(value), *self._spent(value), *self._context.message(value)]

    def _spent(self, value: dict[str, Any]) -> list[Observation]:
        usage = self._spending.take(value)
        return [AgentSpent(self._prompt.prompt_id, usage)] if usage is not None and self._prompt is not None else []

    def _user(self, value: dict[str, Any]) -> list[Observation]:
        content = fields.mapping(value.get("message")).get("content")
        if value.get("isReplay") is not True:
            self._background.started(value, self._words.tools)
            return self._words.results(content)
        self._echoes = True
        if self._prompt is not None and value.get("uuid") == self._uuid:
            self._echoed = True
        return [UserEchoed(tools.output(content))]

    def _system(self, value: dict[str, Any]) -> list[Observation]:
        match fields.text(value.get("subtype")):
            case "api_retry":
                delay = (fields.integer(value.get("retry_delay_ms")) or 0) / 1000
                self._note(retried=fields.text(value.get("error")), retry_seconds=delay or None)
                return [
                    Retrying(
                        attempt=fields.integer(value.get("attempt")) or 0,
                        of=fields.integer(value.get("max_retries")) or 0,
                        seconds=delay,
                        why=fields.text(value.get("error")),
                    )
                ]
            case "compact_boundary":
                return [AgentCompacted(fields.text(fields.mapping(value.get("compact_metadata")).get("trigger")))]
            case "task_notification" as subtype:
                self._background.ended(value)
                return [Unknown(f"system {subtype}")]
            case "init" | "status" | "hook_started" | "hook_response" | "hook_progress":
                return []
            case subtype:
                return [Unknown(f"system {subtype}".rstrip())]

    def _limit(self, info: dict[str, Any]) -> list[Observation]:
        resets = info.get("resetsAt")
        if info.get("status") == "rejected" and isinstance(resets, int | float) and not isinstance(resets, bool):
            self._note(resets_at=float(resets), limit=fields.text(info.get("rateLimitType")))
        return []

    def _asks(self, value: dict[str, Any]) -> list[Observation]:
        name = fields.text(value.get("request_id"))
        request = fields.mapping(value.get("request"))
        if name in self._questions or name in self._answered:
            return [Noise(f"a second request with the id {name}", "")]
        if request.get("subtype") != "can_use_tool":
            return [CallbackAsked(request_id=name, method=fields.text(request.get("subtype")), params={})]
        asked = permissions.asked_of(name, request)
        self._questions[name] = (asked, request)
        return [asked]

    def _control(self, response: dict[str, Any], line: bytes) -> list[Observation]:
        name = fields.text(response.get("request_id"))
        opening = messages.opening_in(name)
        if opening is None or self._opened is not None:
            return []
        how, token = opening
        if response.get("subtype") == "error":
            failure = Failure(None, fields.text(response.get("error"), "the agent did not start"))
            return [
                AgentRefusedToOpen(how=how, problem=why_not_opened(failure, how), code=None, message=failure.message)
            ]
        self._opened = how
        self.token = self.token or token
        return [_INITIALIZED, ConversationOpened(token, how)]

    def _result(self, value: dict[str, Any], line: bytes) -> list[Observation]:
        turn = self._prompt
        errors = value.get("errors")
        texts = [one for one in errors if isinstance(one, str)] if isinstance(errors, list) else []
        text = fields.text(value.get("result")) or "; ".join(texts)
        if turn is None:
            if self._opened is None:
                return [self._refused(text)]
            return [Noise("the end of a turn that nobody asked for", excerpt(line))]
        if not self._echoed and (_is_own(value) or (self._echoes and not self._is_command)):
            return [Noise("the end of a turn of the agent's own", excerpt(line))]
        usage = self._usage(value)
        told = Told(
            text=text,
            word=self._told.word,
            status=fields.integer(value.get("api_error_status")),
            terminal_reason=fields.text(value.get("terminal_reason")),
            retried=self._told.retried,
            retry_seconds=self._told.retry_seconds,
            resets_at=self._told.resets_at,
            limit=self._told.limit,
        )
        silent = not self._words.said and value.get("num_turns") == 0 and value.get("is_error") is not True
        answer: list[Observation] = [Said(text, thought=False)] if text and silent else []
        self._prompt, self._words, self._spending, self._told = None, Words(), Spending(), Told()
        return [*answer, *self._context.result(value), self._ended(turn.prompt_id, value, told, usage)]

    def _ended(self, prompt_id: str, value: dict[str, Any], told: Told, usage: Usage) -> Observation:
        subtype = fields.text(value.get("subtype"))
        if subtype in _LIMITS:
            return AgentFinishedTurn(prompt_id=prompt_id, stop_reason=_LIMITS[subtype], usage=usage)
        if told.terminal_reason.startswith("aborted") or (prompt_id in self._cancelled and value.get("is_error")):
            return AgentFinishedTurn(prompt_id=prompt_id, stop_reason="cancelled", usage=usage)
        if value.get("is_error") is not True:
            reason = fields.text(value.get("stop_reason")) or "end_turn"
            return AgentFinishedTurn(prompt_id=prompt_id, stop_reason=reason, usage=usage)
        verdict = judge(told)
        return AgentFailedTurn(
            prompt_id=prompt_id,
            error_class=verdict.error,
            code=told.status,
            message=told.text or "the turn ended with an error that was not told",
            retry_after_seconds=verdict.retry_after_seconds,
            resets_at=verdict.resets_at,
            limit=told.limit,
            transient=verdict.transient,
            usage=usage,
        )

    def _refused(self, text: str) -> AgentRefusedToOpen:
        how = self.asked.how if self.asked is not None else "new"
        failure = Failure(None, text or "the agent ended before it was ready")
        return AgentRefusedToOpen(how=how, problem=why_not_opened(failure, how), code=None, message=failure.message)

    def _usage(self, value: dict[str, Any]) -> Usage:
        """What the turn used. Costs are reported as a total for the process."""
        total = value.get("total_cost_usd")
        cost = None
        if isinstance(total, int | float) and not isinstance(total, bool):
            cost, self._cost = max(0.0, round(total - self._cost, 9)), float(total)
        return usage_in(value.get("usage"), cost)

    def _note(self, **told: Any) -> None:
        self._told = replace(self._told, **told)


def _is_own(value: dict[str, Any]) -> bool:
    """Whether the agent says that it began this turn by itself: a background command has ended, or was lost."""
    return fields.mapping(value.get("origin")).get("kind") == "task-notification"
