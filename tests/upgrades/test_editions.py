"""What earlier versions have left is opened, folded and resumed by this one: every edition, with the real commands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.sql_store.codec import decode_session
from rekindle.adapters.sql_store.open import open_store
from tests.e2e.daemon import Machine
from tests.e2e.features import FEATURE, Shop
from tests.sessions import booked, facts_of
from tests.upgrades import disguise, packing, place
from tests.upgrades.edition import EDITIONS, Edition, editions
from tests.upgrades.told import missing, tell

pytestmark = [pytest.mark.timeout(240), pytest.mark.xdist_group("editions")]  # they all need one place


@pytest.fixture(params=editions(), ids=lambda one: one.folder.name)
def edition(request: pytest.FixtureRequest) -> Edition:
    found: Edition = request.param
    return found


@pytest.fixture
def machine(edition: Edition) -> Iterator[Machine]:
    """The machine of the edition, upgraded to this version. Nothing is left running."""
    with place.held():
        edition.put_back()
        made = place.machine()
        try:
            yield made
        finally:
            made.clean_up()
        assert made.stamped() == []


@pytest.fixture
def another(tmp_path: Path) -> Iterator[Machine]:
    """A machine that knows nothing of the edition."""
    made = Machine(tmp_path / "home", tmp_path / "work")
    made.home.mkdir()
    made.work.mkdir()
    yield made
    made.clean_up()
    assert made.stamped() == []


@pytest.fixture
def recorded(edition: Edition) -> Any:
    return edition.recorded()


def test_there_is_an_edition_and_each_is_whole() -> None:
    assert editions()
    for one in editions():
        assert sorted(path.name for path in one.folder.iterdir()) == ["machine.tar.gz", "session.tar.gz", "told.json"]
        assert sum(path.stat().st_size for path in one.folder.iterdir()) < 400_000
    assert {path.parent for path in EDITIONS.rglob("*.tar.gz")} == {one.folder for one in editions()}


def test_an_edition_tells_nothing_of_a_machine(edition: Edition) -> None:
    with place.held():
        place.make()
        packing.unpack(edition.machine, place.PLACE)
        for folder in (place.PLACE, edition.folder):
            assert disguise.traces(folder, place.WORK) == []
        edition.put_back()
        assert disguise.traces(place.PLACE, place.WORK), "this machine's own, by now"


def test_the_store_opens_and_every_session_is_the_fold_of_its_facts(machine: Machine, recorded: Any) -> None:
    opened = open_store(Path(machine.places.store), now=datetime.now(UTC))
    with closing(opened.store) as store:
        assert opened.notice is None
        facts = {name: facts_of(store.facts("session", name, limit=10_000)) for name in store.named("")}
        assert set(facts) == set(recorded["sessions"])
        sessions = {session.id: session for session in store.sessions()}
    with closing(sqlite3.connect(machine.places.store)) as connection:
        bodies = {name: decode_session(body) for name, body in connection.execute("SELECT id, body FROM sessions")}
    assert bodies == sessions == {session: booked(told) for session, told in facts.items()}


def test_everything_is_told_as_it_was(machine: Machine, recorded: Any) -> None:
    """`ps`, `logs`, `show`, `analyze` and `resume --explain`: what was recorded is told, and perhaps more."""
    told = tell(machine)
    assert missing({part: recorded[part] for part in told}, told) == []
    assert set(told["sessions"]) == set(recorded["sessions"])
    machine.ok("vault", "verify")
    assert recorded["named"]["asleep"] in {one["session"] for one in machine.json("search", "albatross")["hits"]}


@pytest.mark.parametrize("story", ["interrupted", "killed"])
def test_an_interrupted_session_comes_back_in_the_same_conversation(
    machine: Machine, recorded: Any, story: str
) -> None:
    session = recorded["named"][story]
    told = json.loads(machine.ok("resume", session, "--json"))
    assert (told["receipt"]["kind"], told["attempt"]) == ("same", 2)
    assert len(told["receipt"]["unknown"]) == 1, "the step that was under way"
    machine.until_said(session, "I do not repeat it")
    machine.until_said(session, "the end")
    machine.until_status(session, "waiting")
    said = machine.said(session)
    assert said.count("\nthe end\n") == 1
    assert said.count("\nwhat was queued\n") == (story == "killed"), "it was sent once, behind its turn"


def test_a_prompt_wakes_a_sleeping_session_which_remembers(machine: Machine, recorded: Any) -> None:
    session = recorded["named"]["asleep"]
    machine.ok("send", session, "and now?", "--follow")
    assert machine.show(session)["receipt"]["kind"] == "same"
    [*_, heard] = machine.said(session).split("I have seen: ")
    assert json.loads(heard.splitlines()[0])[1:] == ["what have you seen?", "and now?"]


def test_a_question_is_asked_again_and_can_be_answered(machine: Machine, recorded: Any) -> None:
    session = recorded["named"]["asking"]
    assert json.loads(machine.ok("resume", session, "--json"))["receipt"]["kind"] == "same"
    machine.until_status(session, "waiting", "asking")
    machine.ok("send", session, "ask May I now?\nsay thank you")
    machine.until_status(session, "asking")
    [question] = [one for one in machine.json("inbox")["questions"] if one["kind"] == "permission"]
    machine.ok("answer", question["id"], "allow")
    machine.until_said(session, "thank you")


def test_what_waits_goes_on_waiting_and_what_has_ended_stays_so(machine: Machine, recorded: Any) -> None:
    """The daemon of this version changes nothing by itself."""
    before = {session: about["status"] for session, about in recorded["sessions"].items()}
    machine.show(recorded["named"]["asleep"])
    rows = machine.json("ps", "--all")["sessions"]
    assert {row["id"]: row["status"] for row in rows} == before
    waits = [row for row in rows if row["id"] in (recorded["named"]["queued"], recorded["named"]["rate_limited"])]
    assert all(row["waits_until"] and not row["is_running"] for row in waits)
    assert machine.run("send", recorded["named"]["cancelled"], "hello").returncode == 2
    assert machine.run("resume", recorded["named"]["limited"]).returncode != 0, "its limit still holds"


def test_the_feature_s_run_is_finished_and_nothing_is_done_twice(machine: Machine) -> None:
    shop = Shop(machine)
    told = machine.ok("resume", FEATURE)
    assert "same (the agent's own record has every earlier prompt)" in told
    assert "was started, outcome unknown: run: sleep 600" in told
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert shop.git("show", f"feature/{FEATURE}:late.txt") == "x"
    assert shop.count("task.completed") == {"a": 1, "b": 1}
    assert machine.json("analyze", FEATURE)["decision"]["case"] == "none"
    assert machine.ok("journal", "verify", FEATURE)


def test_an_archive_is_imported_and_goes_on(edition: Edition, another: Machine, recorded: Any) -> None:
    session = recorded["exported"]
    told = json.loads(another.ok("import", str(edition.archive), "--cwd", str(another.work), "--json"))
    assert (told["id"], told["status"]) == (session, "interrupted")
    assert missing(recorded["said"][session], another.json("logs", session)["entries"]) == []
    assert json.loads(another.ok("resume", session, "--json"))["receipt"]["kind"] == "same"
    another.until_said(session, "the end")


def test_a_store_that_is_lost_is_rebuilt_from_the_folders(machine: Machine, recorded: Any) -> None:
    Path(machine.places.store).unlink()
    session = recorded["named"]["interrupted"]
    assert machine.show(session)["status"] == "interrupted"
    rows = {row["id"]: row for row in machine.json("ps", "--all")["sessions"]}
    assert set(rows) == set(recorded["sessions"])
    assert missing(recorded["said"], {name: machine.json("logs", name)["entries"] for name in rows}) == []
    assert json.loads(machine.ok("resume", session, "--json"))["receipt"]["kind"] == "same"
