"""PostgreSQL comes back from an older copy, while hosts have newer files and the engine has newer histories."""

from __future__ import annotations

import shutil

import pytest

from tests.fleet.given import agrees
from tests.fleet.proving import begun
from tests.fleet.yard import Yard, until, yard_of

pytestmark = [pytest.mark.timeout(300), pytest.mark.soak]


def keep(yard: Yard) -> None:
    """Copy the database as it is now."""
    yard.cluster.stop("fast")
    data, older = yard.cluster.folder / "data", yard.cluster.folder / "older"
    shutil.copytree(data, older, symlinks=True)
    for one in (older, *older.rglob("*")):
        shutil.chown(one, yard.cluster.user, yard.cluster.user)
    yard.cluster.start()


def put_back(yard: Yard) -> None:
    """Go back to that copy."""
    yard.cluster.stop("fast")
    shutil.rmtree(yard.cluster.folder / "data")
    (yard.cluster.folder / "older").rename(yard.cluster.folder / "data")
    yard.cluster.start()


def test_a_worker_that_is_restarted_tells_an_older_store_what_its_agent_was_given_and_gives_nothing_again() -> None:
    with yard_of("a") as yard:
        yard.start("a")
        job, told = begun(yard, "a", seconds=12)
        session = told["session"]
        yard.desk.json_of("send", session, "say second")
        keep(yard)
        yard.until_over(job)
        yard.kill_host("a")
        put_back(yard)
        assert yard.job(job)["status"] == "running", "the store knows of neither end"
        assert [one["state"] for one in yard.stored(session)["prompts"]] == ["began", "queued"]
        yard.start("a")
        yard.until_over(job)
        record = agrees(yard, session, "a")
        assert [one["kind"] for one in record].count("user") == 2, "each prompt once"
        until(lambda: yard.stored(session)["state"] == "COMPLETED", "its end is on record again")
        assert len(yard.stored(session)["attempts"]) == 1
