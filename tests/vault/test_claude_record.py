"""A Claude transcript on disk, held against what the agent told in its stream: before a resume, and right after it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.agents.claude.transcript import ClaudeTranscript
from rekindle.core.session import facts as f
from rekindle.ports.records import Checked, RecordComparison
from tests.sessions import folded

TOKEN = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"
Line = dict[str, Any]


def row(name: str, parent: str | None, second: int, version: str = "2.1.197", text: str = "") -> Line:
    kind = "assistant" if name.startswith("a") else "user"
    content: Any = [{"type": "text", "text": text or name}] if kind == "assistant" else text or name
    message = {"role": kind, "id": f"msg-{name}", "content": content}
    stamp = f"2026-11-01T09:{second // 60:02}:{second % 60:02}.000Z"
    more = {"isSidechain": False, "sessionId": TOKEN, "version": version, "timestamp": stamp}
    return {"type": kind, "uuid": name, "parentUuid": parent, "message": message, **more}


def told(name: str) -> list[Line]:
    echo = {"type": "user", "isReplay": True, "uuid": f"p{name}", "message": {"content": f"p{name}"}}
    answer = {"type": "assistant", "uuid": f"a{name}", "message": {"content": [{"type": "text", "text": f"a{name}"}]}}
    return [echo, answer, {"type": "result", "subtype": "success", "is_error": False}]


def lines_of(rows: list[Line]) -> bytes:
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in rows)


CONVERSATION = [row("p1", None, 0), row("a1", "p1", 60), row("p2", "a1", 120), row("a2", "p2", 180)]


class Place:
    """A session of two answered prompts whose agent is gone."""

    def __init__(self, folder: Path) -> None:
        self.sessions = folder / "sessions"
        work = folder / "work"
        work.mkdir()
        self.facts: list[f.AnyFact] = [
            f.Created(at=1.0, session="s1", agent="claude", cwd=str(work)),
            f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new", token=TOKEN, agent="claude"),
            f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
            f.Opened(at=5.0, attempt=1, how="new", token=TOKEN, proof="transcript"),
            f.Exited(at=6.0, attempt=1, how_ended="exit code 0", by_us=True),
        ]
        environment = {"HOME": str(folder / "home")}
        self.records = VaultRecords(str(self.sessions), lambda _: environment, {"claude": ClaudeTranscript()})
        self.file = Path(ClaudeTranscript().place(environment, str(work.resolve()), TOKEN))
        self.file.parent.mkdir(parents=True)
        spool = self.sessions / "s1" / "1"
        spool.mkdir(parents=True)
        (spool / "out").write_bytes(lines_of([*told("1"), *told("2")]))

    def check(self, *rows: Line) -> Checked:
        self.file.write_bytes(lines_of(list(rows)))
        return asyncio.run(self.records.check(folded(self.facts), TOKEN))

    def compare(self, before: Checked, *rows: Line) -> RecordComparison:
        """What the agent has written since shows what it goes on with."""
        with self.file.open("ab") as file:
            file.write(lines_of(list(rows)))
        resumed = f.LaunchIntended(at=9.0, attempt=2, generation=2, how="load", token=TOKEN, agent="claude")
        return asyncio.run(self.records.compare(folded([*self.facts, resumed]), TOKEN, before))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_record_that_is_loaded_whole_is_left_alone(place: Place) -> None:
    found = place.check(*CONVERSATION)
    assert (found.state, found.prompts, found.lacks, found.kept) == ("intact", ("p1", "p2"), "", None)


def test_an_agent_that_would_open_a_stale_branch_is_led_to_the_right_one_and_the_original_is_kept(place: Place) -> None:
    stale = [{"type": "last-prompt", "leafUuid": "a0", "sessionId": TOKEN}]
    found = place.check(row("p1", None, 0), row("a0", "p1", 30), *stale, *CONVERSATION[1:])
    assert (found.state, found.lacks, found.prompts) == ("repaired", "", ("p1", "p2"))
    assert found.kept is not None
    added = json.loads(place.file.read_bytes().splitlines()[-1])
    assert added == {"type": "last-prompt", "leafUuid": "a2", "sessionId": TOKEN, "explicit": True}


def test_somebody_who_went_back_by_hand_meant_it(place: Place) -> None:
    by_hand = [row("p9", "a1", 400), row("a9", "p9", 460)]
    found = place.check(*CONVERSATION, *by_hand)
    assert (found.state, found.prompts, found.lacks) == ("intact", ("p1", "p9"), "")
    assert any("gone back" in note for note in found.notes)
    after = place.compare(found, row("p10", "a9", 500))
    assert after.lacks == "1 of 2 earlier prompts and 1 of 2 earlier answers"


def test_a_turn_by_hand_beside_a_live_agent_costs_none_of_what_that_agent_answers(place: Place) -> None:
    """The agent knew nothing of it and went on from where it was; the other program has named its own leaf."""
    named = {"type": "last-prompt", "leafUuid": "a9", "sessionId": TOKEN}
    found = place.check(*CONVERSATION[:2], row("p9", "a1", 90), row("a9", "p9", 100), named, *CONVERSATION[2:])
    assert (found.state, found.prompts, found.lacks) == ("repaired", ("p1", "p2"), "")
    assert any("beside this conversation: p9" in note for note in found.notes), "and what is not loaded is named"
    assert not any("gone back" in note for note in found.notes)


def test_without_a_copy_an_altered_answer_is_named(place: Place) -> None:
    found = place.check(row("p1", None, 0), row("a1", "p1", 60, text="something else"), *CONVERSATION[2:])
    assert found.lacks == "the agent's record lacks 1 of 2 earlier answers"


def test_the_parents_of_the_first_new_record_correct_what_was_expected(place: Place) -> None:
    before = place.check(*CONVERSATION)
    assert place.compare(before).extends is None, "nothing has been written yet"
    found = place.compare(before, row("p3", "a1", 300), row("a3", "p3", 360))
    assert (found.extends, found.prompts) == (True, ("p1", "p3"))
    assert found.lacks == "1 of 2 earlier prompts and 1 of 2 earlier answers"


def test_a_first_new_record_below_everything_proves_it(place: Place) -> None:
    before = place.check(*CONVERSATION)
    found = place.compare(before, row("p3", "a2", 300, "9.9.9"))
    assert (found.extends, found.prompts, found.lacks) == (True, ("p1", "p2", "p3"), "")


@pytest.mark.parametrize(("version", "lacks"), [("2.1.197", False), ("9.9.9", True)])
def test_a_gap_counts_as_mended_only_for_a_version_that_was_measured(place: Place, version: str, lacks: bool) -> None:
    before = place.check(*CONVERSATION)
    found = place.compare(before, row("p3", "nobody", 182, version))
    assert bool(found.lacks) is lacks
