"""The agent's messages over ACP, by the names that the agent gave them. Sans-IO."""

from __future__ import annotations

from collections.abc import Iterable

from rekindle.agents.acp.decoding import Notification, Response, decode
from rekindle.agents.base import fields
from rekindle.agents.base.acknowledged import Spoken


def answers(attempts: Iterable[Iterable[bytes]]) -> tuple[Spoken, ...]:
    """The answers in the lines that the agent sent us, oldest attempt first.

    A message without a name comes from the adapter, not the model. One that an earlier attempt showed is a replay here.
    """
    texts: dict[str, str] = {}
    sure: set[str] = set()
    for lines in attempts:
        earlier = frozenset(texts)
        turn: list[str] = []
        for line in lines:
            match decode(line):
                case Notification(method="session/update", params=params):
                    update = fields.mapping(params.get("update"))
                    name = fields.text(update.get("messageId"))
                    if update.get("sessionUpdate") != "agent_message_chunk" or not name or name in earlier:
                        continue
                    texts[name] = texts.get(name, "") + fields.block_text(update.get("content"))
                    turn.append(name)
                case Response(result=result, failure=failure):
                    ended = fields.mapping(result).get("stopReason")
                    sure.update(turn if ended == "end_turn" and failure is None else ())
                    turn.clear()
    return tuple(Spoken("assistant", text, name, name in sure) for name, text in texts.items() if text)
