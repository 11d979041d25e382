"""The state of the wire to one ACP agent, folded from its keeper's two spools: what is open between the agent and us.

A daemon folds while it works, the next one folds the files (`rekindle.agents.base.exchange`), and both get the same
open state, however the two spools are interleaved, as long as causes come before effects. So what is open is decided
by ids and by the order within each spool, never by "which came first". Sans-IO. Any bytes are allowed, and nothing
here raises.
"""

from __future__ import annotations

import re
from typing import Any, Final

from rekindle.agents.acp.decoding import Message, NoMessage, Notification, Request, Response, decode
from rekindle.agents.acp.segment import Segment
from rekindle.agents.base import fields
from rekindle.agents.base.dialect import Opening, OpenState, OurRequest
from rekindle.agents.base.failure import Failure, classify, resets_at, retry_after, why_not_opened
from rekindle.agents.base.framing import Oversized
from rekindle.agents.base.lenient import excerpt
from rekindle.agents.base.observation import (
    AgentAskedPermission,
    AgentCompacted,
    AgentFailedTurn,
    AgentFinishedTurn,
    AgentRefusedToOpen,
    CallbackAsked,
    ContextUsed,
    ConversationOpened,
    How,
    Initialized,
    Noise,
    Observation,
    Unknown,
)
from rekindle.core.session.facts import Usage
from rekindle.core.session.permission import Option

_OPENING: Final[dict[str, How]] = {"session/new": "new", "session/load": "load", "session/resume": "resume"}
#: More than an agent leaves out here and there.
_MUCH_LESS: Final = 0.5
_GENERATION: Final = re.compile(r"(\d+)-")
_PROMPT: Final = re.compile(r"\d+-prompt-", re.ASCII)
_CANCEL: Final = re.compile(r"\d+-cancel-", re.ASCII)


class Wire:
    """`generation` is the number of the attempt: one agent process, one generation, one wire."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.asked: Opening | None = None
        self._initialized: Initialized | None = None
        self.token: str | None = None
        self._opened: How | None = None
        self._messages: set[str] = set()
        self._ours: dict[str, OurRequest] = {}
        self._theirs: dict[str, AgentAskedPermission | CallbackAsked] = {}
        self._answered: set[str] = set()
        self._cancelled: set[str] = set()
        self._segment = Segment()
        self._prompted = False
        self._denied = False  # whether something was refused in this turn, which may be why it ends
        self._last: tuple[bytes, Message | None] = (b"", None)
        self._used = 0  # tokens of the conversation, as last reported by the agent

    @property
    def open(self) -> OpenState:
        turn = next((one for one in self._ours.values() if one.prompt_id), None)
        return OpenState(
            initialized=self._initialized,
            token=self.token,
            opened=self._opened,
            awaiting=tuple(self._ours.values()),
            unanswered=tuple(self._theirs.values()),
            prompt_id=turn.prompt_id if turn else None,
            cancelling=turn is not None and turn.prompt_id in self._cancelled,
            said=self._segment.said if turn else "",
            tools=self._segment.tools if turn else (),
            finished=self._segment.finished if turn else (),
        )

    @property
    def is_awaiting(self) -> bool:
        """Whether any of our requests still has no response."""
        return bool(self._ours)

    @property
    def is_opening(self) -> bool:
        return any(one.method in _OPENING for one in self._ours.values())

    @property
    def is_prompting(self) -> bool:
        """Whether a turn is running."""
        return any(one.prompt_id for one in self._ours.values())

    def was_sent(self, message_id: str) -> bool:
        return message_id in self._messages

    def has_asked(self, key: str) -> bool:
        """Whether the agent has made the request with this key (`fields.key`), answered or not."""
        return key in self._theirs or key in self._answered

    def sent(self, message_id: str, line: bytes) -> None:
        """One record of the input spool, in order. Feeding the same record again changes nothing."""
        if message_id in self._messages:
            return
        self._messages.add(message_id)
        match decode(line):
            case Request(request_id=str(name), method=method, params=params):
                self._ours[name] = ours = _our_request(name, method, params)
                self.asked = _asked(self.asked, ours)
                self._prompted = self._prompted or method == "session/prompt"
            case Response(request_id=request_id, result=result):
                key = fields.key(request_id)
                asked = self._theirs.pop(key, None)
                if _is_allowed(asked, result):
                    self._segment.allow(key)
                elif isinstance(asked, AgentAskedPermission):
                    self._denied = True
                self._answered.add(key)
            case Notification(method="session/cancel"):
                self._cancelled.add(_CANCEL.sub("", message_id, count=1))

    def received(self, line: bytes) -> list[Observation]:
        """One complete line of the output spool, in order."""
        message = self._read(line)
        return [] if message is None else self._fold(message, line)

    def _read(self, line: bytes) -> Message | None:
        """A line from the agent: it is inspected before it is folded, and decoded only once."""
        if self._last[0] is not line:
            self._last = (line, decode(line))
        return self._last[1]

    def oversized(self, skipped: Oversized) -> list[Observation]:
        """A line that was too long to keep."""
        size = skipped.end - skipped.start
        return [Noise(f"a line of {size} bytes, which is too long", excerpt(skipped.head))]

    def _fold(self, message: Message, line: bytes) -> list[Observation]:
        match message:
            case NoMessage(reason=reason):
                return [Noise(reason, excerpt(line))]
            case Notification(method="session/update", params=params):
                return self._update(params, line)
            case Notification(method=method):
                return [Unknown(method)]
            case Request():
                return self._request(message, line)
            case Response():
                return self._response(message, line)

    def _update(self, params: dict[str, Any], line: bytes) -> list[Observation]:
        named = params.get("sessionId")
        loading = [one for one in self._ours.values() if one.method in _OPENING]
        if self.token is not None and named != self.token and all(named != one.token for one in loading):
            return [Noise("an update of another conversation", excerpt(line))]
        late = self._opened in ("load", "resume") and not self._prompted
        replay = late or any(one.method == "session/load" for one in loading)
        seen = self._segment.update(fields.mapping(params.get("update")), replay=replay)
        return [*seen, *(found for one in seen if isinstance(one, ContextUsed) and (found := self._shortened(one)))]

    def _shortened(self, now: ContextUsed) -> AgentCompacted | None:
        """A conversation only grows: if it is much smaller than before, its agent has summarised it."""
        before, self._used = self._used, now.used
        fell = 0 < now.used < before * _MUCH_LESS
        return AgentCompacted(f"its context fell from {before} to {now.used} tokens") if fell else None

    def _request(self, request: Request, line: bytes) -> list[Observation]:
        key = fields.key(request.request_id)
        if self.has_asked(key):
            return [Noise(f"a second request with the id {key}", excerpt(line))]
        asked = self._permission(request) if request.method == "session/request_permission" else _callback(request)
        self._theirs[key] = asked
        return [asked]

    def _permission(self, request: Request) -> AgentAskedPermission:
        tool = fields.mapping(request.params.get("toolCall"))
        tool_id = fields.text(tool.get("toolCallId"))
        known = self._segment.tool(tool_id)
        self._segment.ask(fields.key(request.request_id), tool)
        title = fields.text(tool.get("title"), known.title if known else "")
        return AgentAskedPermission(
            request_id=request.request_id,
            tool_id=tool_id,
            title=title,
            detail=fields.tool_detail(tool, title),
            kind=fields.text(tool.get("kind"), known.kind if known else "other"),
            paths=tuple(dict.fromkeys((*(known.paths if known else ()), *fields.tool_paths(tool)))),
            options=tuple(
                Option(one["optionId"], fields.text(one.get("name")), fields.text(one.get("kind")))
                for one in fields.mappings(request.params.get("options"))
                if isinstance(one.get("optionId"), str)
            ),
        )

    def _response(self, response: Response, line: bytes) -> list[Observation]:
        name = response.request_id
        ours = self._ours.pop(name, None) if isinstance(name, str) else None
        if ours is None:
            return [Noise(self._why_ignored(name), excerpt(line))]
        if ours.prompt_id and self._is_cut(ours.prompt_id, response):
            self._ours[ours.request_id] = ours
            self._segment.reopen()
            return [Noise("the turn was cancelled, and nobody had asked for that", excerpt(line))]
        if ours.prompt_id:
            ended = self._turn_ended(ours.prompt_id, response)
            self._segment = Segment()
            self._denied = False
            return [ended]
        how = _OPENING.get(ours.method)
        if how is not None:
            return [self._opening(how, ours, response)]
        if ours.method == "initialize":
            return [self._initialize(response)]
        return [Noise(f"the answer to {name}, which needs none", excerpt(line))]

    @property
    def last_words(self) -> str:
        """The last thing the agent said in this turn, as one piece."""
        return self._segment.last

    def failure_in(self, result: dict[str, Any]) -> Failure | None:
        """A failure in the answer to a prompt, from an agent that reports it as a success."""
        return None

    def _turn_ended(self, prompt_id: str, response: Response) -> AgentFinishedTurn | AgentFailedTurn:
        result = fields.mapping(response.result)
        failure = response.failure or self.failure_in(result)
        reason = fields.text(result.get("stopReason"))
        if failure is None and reason:
            return AgentFinishedTurn(prompt_id=prompt_id, stop_reason=reason, usage=_usage(result.get("usage")))
        return _turn_failed(prompt_id, failure or Failure(None, "the agent ended the turn and did not say why"))

    def _is_cut(self, prompt_id: str, response: Response) -> bool:
        """Whether a turn only seems to have ended: an agent whose launcher was killed cancels it before dying."""
        cancelled = fields.mapping(response.result).get("stopReason") == "cancelled"
        return cancelled and prompt_id not in self._cancelled and not self._denied

    def _why_ignored(self, name: object) -> str:
        if name is None:
            return "the agent could not read a message of ours"
        found = _GENERATION.match(name) if isinstance(name, str) else None
        if found and found[1] != str(self.generation):
            return f"an answer to generation {found[1]}; this is generation {self.generation}"
        return "an answer to nothing that is open"

    def _opening(self, how: How, ours: OurRequest, response: Response) -> ConversationOpened | AgentRefusedToOpen:
        failure = response.failure
        token = ours.token if how != "new" else fields.text(fields.mapping(response.result).get("sessionId"))
        if failure is None and not token:
            failure = Failure(None, "the agent opened a conversation and did not name it")
        if failure is not None:
            problem = why_not_opened(failure, how)
            return AgentRefusedToOpen(how=how, problem=problem, code=failure.code, message=_words(failure))
        self.token, self._opened, self._prompted, self._used = token, how, False, 0
        self._segment = Segment(follows_load=how != "new")
        return ConversationOpened(token, how)

    def _initialize(self, response: Response) -> Initialized | AgentRefusedToOpen:
        if response.failure is not None:
            failure = response.failure
            problem = why_not_opened(failure, "new")
            return AgentRefusedToOpen(how="initialize", problem=problem, code=failure.code, message=_words(failure))
        self._initialized = _initialized(fields.mapping(response.result))
        return self._initialized


def _turn_failed(prompt_id: str, failure: Failure) -> AgentFailedTurn:
    return AgentFailedTurn(
        prompt_id=prompt_id,
        error_class=classify(failure),
        code=failure.code,
        message=_words(failure),
        retry_after_seconds=retry_after(failure),
        resets_at=resets_at(failure),
    )


def _our_request(name: str, method: str, params: dict[str, Any]) -> OurRequest:
    prompt_id = _PROMPT.sub("", name, count=1) if method == "session/prompt" else ""
    return OurRequest(name, method, fields.text(params.get("sessionId")), prompt_id)


def _asked(before: Opening | None, ours: OurRequest) -> Opening | None:
    """A prompt names the conversation that it goes to; a request for a new conversation cannot."""
    how = _OPENING.get(ours.method)
    if how is not None and before is None:
        return Opening(how, ours.token or None)
    if ours.prompt_id and (before is None or before.token is None):
        return Opening(before.how if before is not None else "new", ours.token or None)
    return before


def _is_allowed(asked: AgentAskedPermission | CallbackAsked | None, result: object) -> bool:
    """Whether our answer lets a tool run."""
    if not isinstance(asked, AgentAskedPermission):
        return False
    chosen = fields.mapping(fields.mapping(result).get("outcome")).get("optionId")
    return any(one.option_id == chosen and one.kind.startswith("allow") for one in asked.options)


def _callback(request: Request) -> CallbackAsked:
    return CallbackAsked(request_id=request.request_id, method=request.method, params=request.params)


def _initialized(result: dict[str, Any]) -> Initialized:
    can = fields.mapping(result.get("agentCapabilities"))
    session = fields.mapping(can.get("sessionCapabilities"))
    agent = fields.mapping(result.get("agentInfo"))
    return Initialized(
        protocol_version=fields.integer(result.get("protocolVersion")) or 0,
        agent_name=fields.text(agent.get("name")),
        agent_version=fields.text(agent.get("version")),
        can_load=can.get("loadSession") is True,
        can_resume=session.get("resume") is not None,
        can_list=session.get("list") is not None,
        auth_methods=tuple(fields.text(one.get("id")) for one in fields.mappings(result.get("authMethods"))),
    )


def _usage(given: object) -> Usage | None:
    """The tokens of a turn, if the agent reports them. Thoughts count as output too."""
    if not isinstance(given, dict):
        return None

    def tokens(*names: str) -> int:
        return sum(fields.integer(given.get(name)) or 0 for name in names)

    return Usage(
        input_tokens=tokens("inputTokens"),
        output_tokens=tokens("outputTokens", "thoughtTokens"),
        cached_tokens=tokens("cachedReadTokens", "cachedWriteTokens"),
    )


def _words(failure: Failure) -> str:
    """The message, plus the details that many agents hide behind "Internal error"."""
    data = failure.data
    details = data if isinstance(data, str) else fields.text(fields.mapping(data).get("details"))
    return f"{failure.message}: {details}" if details and details not in failure.message else failure.message
