"""Codex's rollout as its model gets it, held against what Codex told over ACP."""

from __future__ import annotations

import json
from typing import Any

from rekindle.agents.codex.transcript import CodexTranscript

DIALECT = CodexTranscript()


def line(kind: str, payload: dict[str, Any]) -> bytes:
    return json.dumps({"timestamp": "1", "type": kind, "payload": payload}).encode() + b"\n"


def asked(text: str, thread: str = "tok") -> list[bytes]:
    content = [{"type": "input_text", "text": text}]
    item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
    return [
        line("response_item", {"type": "message", "role": "user", "content": content}),
        line("event_msg", {"type": "item_completed", "thread_id": thread, "item": item}),
    ]


def answered(name: str, text: str) -> bytes:
    content = [{"type": "output_text", "text": text}]
    return line("response_item", {"type": "message", "id": name, "role": "assistant", "content": content})


def told(*messages: tuple[str, str], ended: str = "end_turn") -> list[bytes]:
    said = [
        {"sessionUpdate": "agent_message_chunk", "messageId": name, "content": {"type": "text", "text": piece}}
        for name, text in messages
        for piece in (text[:3], text[3:])
    ]
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "tok", "update": one}} for one in said
    ]
    lines.append({"jsonrpc": "2.0", "id": "1-prompt-p", "result": {"stopReason": ended}})
    return [json.dumps(one).encode() for one in lines]


META = line("session_meta", {"id": "tok"})
WHOLE = [META, *asked("one"), answered("m1", "answer one"), *asked("two"), answered("m2", "answer two")]
SPOOL = told(("m1", "answer one")) + told(("m2", "answer two"))
EXPECTED = DIALECT.acknowledged([SPOOL, told(("m1", "replayed in other words"))])


def lacks(lines: list[bytes]) -> tuple[int, int]:
    found = DIALECT.lacks(b"".join(lines), EXPECTED, frozenset())
    return found.answers, found.foreign


def test_a_whole_record_lacks_nothing() -> None:
    assert [one.text for one in EXPECTED] == ["answer one", "answer two"]
    assert lacks(WHOLE) == (0, 0)


def test_an_answer_that_is_missing_altered_or_out_of_order_is_lacking() -> None:
    assert lacks([one for one in WHOLE if one != WHOLE[3]]) == (1, 0)
    assert lacks([*WHOLE[:3], answered("m1", "another answer"), *WHOLE[4:]]) == (1, 0)
    assert lacks([*WHOLE[:3], WHOLE[6], *WHOLE[4:6], WHOLE[3]]) == (1, 0)


def test_what_a_turn_that_was_cut_said_need_not_be_there() -> None:
    expected = DIALECT.acknowledged([told(("m1", "answer one"), ended="cancelled")])
    assert not DIALECT.lacks(META, expected, frozenset()).any


def test_a_citation_is_shown_in_another_form() -> None:
    cited = [*WHOLE[:3], answered("m1", "answer \u3010F:a.py\u2020L1\u3011"), *WHOLE[4:]]
    assert lacks(cited) == (0, 0)


def test_another_thread_behind_the_record_is_foreign() -> None:
    assert lacks([*WHOLE, line("session_meta", {"id": "other"}), *asked("theirs", "other")]) == (0, 1)


def test_a_prompt_counts_only_if_the_model_gets_it() -> None:
    assert DIALECT.read(b"".join(WHOLE)).prompts == ("one", "two")
    assert DIALECT.read(b"".join(WHOLE[:1] + WHOLE[2:])).prompts == ("two",)


def test_what_the_model_gets_in_the_users_name_and_nobody_said_is_told() -> None:
    content = [{"type": "input_text", "text": "a stranger's wish"}]
    stranger = line("response_item", {"type": "message", "role": "user", "content": content})
    own = [{"type": "input_text", "text": "<environment_context>here</environment_context>"}]
    context = line("response_item", {"type": "message", "role": "user", "content": own})

    def strange(lines: list[bytes]) -> tuple[str, ...]:
        return DIALECT.lacks(b"".join(lines), EXPECTED, frozenset()).unconfirmed

    assert strange([WHOLE[0], context, *WHOLE[1:]]) == ()
    assert strange([WHOLE[0], context, stranger, *WHOLE[1:]]) == ("a stranger's wish",)
    assert strange([WHOLE[0], stranger, *WHOLE[1:], line("compacted", {"message": "all of it"})]) == ()
