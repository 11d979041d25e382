"""What Claude Code asks a person: whether a tool may run, and its own questions (AskUserQuestion), which come the same
way. A question of its own is answered with one of its options, and only by a person: no policy has an answer to it.
"""

from __future__ import annotations

from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.base.observation import AgentAskedPermission
from rekindle.agents.claude import messages, tools
from rekindle.core.session.permission import Option

_ALLOW: Final = Option("allow", "Allow", "allow_once")
_ALWAYS: Final = Option("allow_always", "Always allow this", "allow_always")
_DENY: Final = Option("deny", "Do not allow", "reject_once")
_SILENT: Final = Option("deny", "Do not answer", "reject_once")
QUESTION_TOOL: Final = "AskUserQuestion"
#: How the id of an answer to a question of the agent's begins; its number follows.
_CHOICE: Final = "choice-"


def asked_of(name: str, request: dict[str, Any]) -> AgentAskedPermission:
    """The question that a request puts."""
    given = fields.mapping(request.get("input"))
    tool = fields.text(request.get("tool_name"))
    own = _question(given) if tool == QUESTION_TOOL else None
    if own is not None:
        labels = [fields.text(one.get("label")) for one in _options(own)]
        options = (*(Option(f"{_CHOICE}{number}", label, "choice") for number, label in enumerate(labels, 1)), _SILENT)
        title, detail, kind = fields.text(own.get("question")), _detail(own), "question"
    elif tool == QUESTION_TOOL:
        title, kind, options = (
            "The agent asks several things at once, which cannot be answered here",
            "question",
            (_SILENT,),
        )
        detail = fields.input_detail(given, title)
    else:
        title = tools.title(tool, given)
        detail, kind = fields.input_detail(given, title), tools.kind(tool)
        options = (_ALLOW, _ALWAYS, _DENY) if request.get("permission_suggestions") else (_ALLOW, _DENY)
    return AgentAskedPermission(
        request_id=name,
        tool_id=fields.text(request.get("tool_use_id")),
        title=title,
        detail=detail,
        kind=kind,
        paths=fields.input_paths(given),
        options=options,
    )


def answer(generation: int, name: str, request: dict[str, Any], option: str | None) -> Outgoing:
    """The answer to a request."""
    given = fields.mapping(request.get("input"))
    if option in ("allow", "allow_always"):
        rules = request.get("permission_suggestions") if option == "allow_always" else None
        return messages.allow(generation, name, given, rules if isinstance(rules, list) else [])
    own = _question(given)
    if option is not None and option.startswith(_CHOICE) and own is not None:
        chosen = _options(own)[int(option.removeprefix(_CHOICE)) - 1]
        answers = {fields.text(own.get("question")): fields.text(chosen.get("label"))}
        return messages.allow(generation, name, {**given, "answers": answers}, [])
    why = "This is not allowed here." if option is None else "A person did not allow this."
    if fields.text(request.get("tool_name")) == QUESTION_TOOL:
        why = "Nobody answered. Ask one question at a time, with one answer to choose."
    return messages.deny(generation, name, why)


def _question(given: dict[str, Any]) -> dict[str, Any] | None:
    """The question of the agent's own, if it is one that has one answer: several at once cannot be answered so."""
    asked = list(fields.mappings(given.get("questions")))
    if len(asked) != 1 or asked[0].get("multiSelect") is True:
        return None
    labels = [fields.text(one.get("label")) for one in _options(asked[0])]
    return asked[0] if labels and all(labels) and fields.text(asked[0].get("question")) else None


def _detail(question: dict[str, Any]) -> str:
    """What the options mean, one in a line."""
    lines = [(fields.text(one.get("label")), fields.text(one.get("description"))) for one in _options(question)]
    return "\n".join(f"{label}: {about}" if about else label for label, about in lines)


def _options(question: dict[str, Any]) -> list[dict[str, Any]]:
    return list(fields.mappings(question.get("options")))
