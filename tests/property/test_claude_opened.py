"""Which branch of a Claude transcript is loaded, and that a record with any damage is mended or said to lack something.

The real programs are held against the same rule in `tests/real/test_claude_trees.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rekindle.agents.base.acknowledged import Lacking, Spoken, lacking
from rekindle.agents.base.preflight import decide
from rekindle.agents.claude.opened import LeafRule, above, opened
from rekindle.agents.claude.spoken import spoken, told
from rekindle.agents.claude.transcript import ClaudeTranscript
from tests.golden.claude_samples import STREAMS, TRANSCRIPTS
from tests.real.claude_trees import Tree

DIALECT = ClaudeTranscript()
Line = dict[str, Any]
seeds = st.integers(0, 2**32)
rules = st.sampled_from(LeafRule)


def tree(seed: int) -> list[Line]:
    return Tree(seed, "the-session", "/work", "2.1.197").lines


def file_of(lines: list[Line]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def names(rows: tuple[Line, ...]) -> list[str]:
    return [row["uuid"] for row in rows]


def turns_of(rows: tuple[Line, ...]) -> tuple[Spoken, ...]:
    return tuple(one for row in rows if (one := spoken(row)) is not None)


def conversation(turns: int) -> list[Line]:
    """Prompts and answers one after the other, a minute apart, as one process writes them."""
    lines: list[Line] = []
    for number in range(2 * turns):
        kind = "assistant" if number % 2 else "user"
        text = f"{'answer' if number % 2 else 'prompt'} {number // 2}"
        content: Any = [{"type": "text", "text": text}] if number % 2 else text
        row = {"parentUuid": f"row-{number - 1}" if number else None, "isSidechain": False, "type": kind}
        message = {"role": kind, "content": content, "id": f"msg-{number}"}
        stamp = {"timestamp": f"2026-11-01T09:{number:02}:00.000Z", "sessionId": "the-session", "version": "2.1.197"}
        lines.append({**row, "uuid": f"row-{number}", "message": message, **stamp})
        if number % 2:
            lines.append({"type": "last-prompt", "leafUuid": f"row-{number}", "sessionId": "the-session"})
    return lines


@given(turns=st.integers(1, 12), rule=rules)
def test_a_conversation_without_branches_is_loaded_whole_and_in_order(turns: int, rule: LeafRule) -> None:
    branch = opened(conversation(turns), rule)
    assert names(branch.rows) == [f"row-{number}" for number in range(2 * turns)]
    assert (branch.leaf, branch.cut, branch.spliced) == (f"row-{2 * turns - 1}", None, ())


@given(seed=seeds, rule=rules)
def test_a_file_that_was_doubled_is_loaded_as_before(seed: int, rule: LeafRule) -> None:
    lines = [line for line in tree(seed) if line["type"] != "last-prompt" and line.get("subtype") is None]
    leaf = {"type": "last-prompt", "leafUuid": lines[-1]["uuid"], "sessionId": "s", "explicit": True}
    once, twice = opened([*lines, leaf], rule), opened([*lines, leaf, *lines, leaf], rule)
    assert names(once.rows) == names(twice.rows)


@given(seed=seeds, data=st.data())
def test_a_line_that_names_a_row_makes_every_version_load_the_branch_above_it(seed: int, data: st.DataObject) -> None:
    lines = tree(seed)
    spoken_rows = [one for one in lines if one["type"] in ("user", "assistant") and not one["isSidechain"]]
    assume(spoken_rows)
    if not spoken_rows:
        return
    wanted = data.draw(st.sampled_from(spoken_rows))["uuid"]
    expected = turns_of(above(lines, wanted, splices=True).rows)
    if not [one for one in expected if one.role in ("user", "assistant")]:
        return
    led = DIALECT.redirected(file_of(lines), expected, frozenset())
    if led is None:  # a summary has taken the row out of what can be loaded, or stands there without its boundary
        assert any(one.get("subtype") == "compact_boundary" or one.get("isCompactSummary") for one in lines)
        return
    assert led.data.startswith(file_of(lines)) and led.data.count(b"\n") == len(lines) + 1
    records = [json.loads(line) for line in led.data.splitlines()]
    for rule in LeafRule:
        assert not lacking(expected, turns_of(opened(records, rule).rows)).any


@given(seed=seeds, rule=rules)
def test_nothing_is_loaded_twice_and_each_row_hangs_on_the_one_before_it(seed: int, rule: LeafRule) -> None:
    branch = opened(tree(seed), rule)
    assert len(set(names(branch.rows))) == len(branch.rows)
    assert all(row["uuid"] not in branch.spliced for row in branch.rows[:1])
    assert not {row["uuid"] for row in branch.behind} - {line.get("uuid") for line in tree(seed)}


DAMAGES = ("removed", "altered", "hung elsewhere", "swapped", "foreign", "named", "cut short")


def damaged(lines: list[Line], kind: str, at: int, other: int) -> list[Line]:
    found = [json.loads(json.dumps(line)) for line in lines]
    rows = [number for number, line in enumerate(found) if "uuid" in line]
    row = rows[at % len(rows)]
    match kind:
        case "removed":
            del found[row]
        case "altered":
            found[row] = json.loads(json.dumps(found[row]).replace("answer ", "reply ").replace("prompt ", "query "))
        case "hung elsewhere":
            found[row]["parentUuid"] = f"row-{other % len(rows)}" if other % 2 else "nobody"
        case "swapped":
            partner = rows[other % len(rows)]
            found[row]["message"], found[partner]["message"] = found[partner]["message"], found[row]["message"]
        case "foreign":
            found = [{**line, "uuid": f"strange-{line['uuid']}"} if "uuid" in line else line for line in found]
            found = [
                {**line, "parentUuid": f"strange-{line['parentUuid']}"} if line.get("parentUuid") else line
                for line in found
            ]
            found = json.loads(json.dumps(found).replace("answer", "strange answer").replace("prompt ", "strange "))
        case "named":
            found.append({"type": "last-prompt", "leafUuid": found[row]["uuid"], "explicit": True, "sessionId": "s"})
        case "cut short":
            del found[row:]
    return found


@settings(max_examples=300)
@given(
    turns=st.integers(1, 5),
    kind=st.sampled_from(DAMAGES),
    at=st.integers(0, 20),
    other=st.integers(0, 20),
    vault=st.booleans(),
)
def test_whatever_was_done_to_a_record_nothing_that_was_acknowledged_is_silently_left_out(
    turns: int, kind: str, at: int, other: int, vault: bool
) -> None:
    lines = conversation(turns)
    expected = DIALECT.read(file_of(lines)).turns
    assert len(expected) == 2 * turns
    current = file_of(damaged(lines, kind, at, other))
    found = decide(DIALECT, current, [current, file_of(lines)] if vault else [current], expected)
    lies = found.data if found.data is not None else current
    if vault:
        assert not found.lacks, "the vault has all of it"
    if not found.lacks and found.state != "missing":
        records = [json.loads(line) for line in lies.splitlines()]
        for rule in LeafRule:
            loaded = [one for one in turns_of(opened(records, rule).rows) if one.id in {row.id for row in expected}]
            assert tuple(loaded) == expected, "present, in order, unaltered"


@pytest.mark.parametrize("name", sorted(STREAMS.keys() & TRANSCRIPTS.keys()))
def test_what_the_real_program_told_is_in_what_it_wrote_down(name: str) -> None:
    expected = told([STREAMS[name].split(b"\n")])
    assert DIALECT.lacks(TRANSCRIPTS[name], expected, DIALECT.written(TRANSCRIPTS[name])) == Lacking(
        of_prompts=sum(one.role == "user" for one in expected),
        of_answers=sum(one.role == "assistant" for one in expected),
    )
