"""Rows of the shared store that nobody of ours wrote: no host falls over them, and what is wrong is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, LiteralString
from unittest.mock import Mock

import msgspec
import psycopg
import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.shared_blobs import SharedBlobs
from rekindle.adapters.sql_store.shared_hosts import SharedHosts
from rekindle.adapters.sql_store.shared_jobs import SharedJobs
from rekindle.adapters.sql_store.shared_mail import SharedMail
from rekindle.adapters.sql_store.shared_placements import SharedPlacements
from rekindle.app.mail_deeds import MailDeeds
from rekindle.app.mail_sending import MailSending
from rekindle.core.fleet.needs import queue_of_order
from rekindle.core.fleet.unclaimed import Worker, why_unclaimed
from rekindle.core.job.facts import JobSubmitted
from rekindle.core.job.order import JobOrder, StepOrder
from rekindle.ports.blobs import BlobDamaged, Piece
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.ports.hosts import SILENT_SECONDS, HostReport
from rekindle.ports.mail import Mail
from rekindle.ports.store import DamagedStore, StoreError
from tests.postgres import new_database, the_cluster
from tests.sessions import commit, created, folded


@pytest.fixture
def url() -> Iterator[str]:
    made = new_database()
    opened = open_store(made, now=datetime.now(UTC), host="a")
    first = created("abc123")
    commit(opened.store, folded([first]), [first])
    yield made
    opened.store.close()


def run(url: str, text: LiteralString, *values: Any) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(text, values)


@pytest.mark.parametrize("report", ["{", "[]", "null", '{"labels": 5}', "\u202e\x1b[31m", "x" * 1_000_000])
def test_what_is_wrong_with_one_host_is_nobody_elses_trouble(url: str, report: str) -> None:
    with closing(SharedHosts(url, "a")) as a, closing(SharedHosts(url, "b")) as b:
        a.tell(HostReport(version="1"))
        b.tell(HostReport(version="1"))
        run(url, "UPDATE hosts SET state = %s, report = %s WHERE host = 'b'", "retired", report)
        assert [(one.host, one.state, one.report.version) for one in a.everything()] == [
            ("a", "ready", "1"),
            ("b", "unknown", ""),
        ]
        assert b.tell(HostReport(version="1")) == "cordoned", "it takes nothing until somebody says more"


@pytest.mark.parametrize("seen", ["NaN", "Infinity", "-Infinity", "1e300", "-1e300", "1e11"])
def test_a_host_that_was_seen_at_a_time_that_is_none_is_not_there(url: str, seen: str) -> None:
    """A time that nobody can write down would be told as no time at all, and whoever reads it falls over it."""
    with closing(SharedHosts(url, "a")) as a, closing(SharedHosts(url, "b")) as b:
        b.tell(HostReport(version="1"))
        a.tell(HostReport(version="1"))
        run(url, "UPDATE hosts SET seen_at = %s WHERE host = 'b'", float(seen))
        ago = {one.host: one.seen_seconds_ago for one in a.everything()}
        assert ago["a"] < SILENT_SECONDS < ago["b"] < float("inf")


def test_a_session_of_its_own_that_a_host_cannot_read_is_told_with_the_way_on(url: str) -> None:
    run(url, "UPDATE sessions SET body = ''")
    run(url, "UPDATE facts SET body = ''")
    opened = open_store(url, now=datetime.now(UTC), host="a")
    with closing(opened.store):
        with pytest.raises(DamagedStore, match="abc123") as found:
            opened.store.sessions()
        assert "file" not in found.value.hint
        _, _, way = found.value.hint.partition("after: ")
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(way.encode())
        assert opened.store.sessions() == []


@pytest.mark.parametrize("body", ["", "{", "[]", "7", '{"id": 5}', "x" * 1_000_000])
def test_a_session_whose_row_was_changed_is_what_its_facts_say(url: str, body: str) -> None:
    run(url, "UPDATE sessions SET body = %s", body)
    with closing(SharedPlacements(url, "b")) as b:
        found = b.find("abc123")
        assert found is not None and found.session.id == "abc123"
        assert [one.session.id for one in b.everything()] == ["abc123"]
        assert b.take("abc123", before="a", at=5.0).session.id == "abc123"
        run(url, "UPDATE facts SET body = 'garbage'")
        with pytest.raises(DamagedStore, match="abc123"):
            b.find("abc123")


@pytest.mark.parametrize("body", ["{", "[]", '{"type": "nobody.knows"}', '{"type": "job.over"}'])
def test_a_job_that_cannot_be_read_is_named(url: str, body: str) -> None:
    order = JobOrder(title="t", steps=(StepOrder(name="s", agent="scripted", prompt="say x"),))
    with closing(SharedJobs(url, "a")) as jobs:
        for name in ("f00000001", "f00000002"):
            jobs.submit(JobSubmitted(at=1.0, job=name, order=order, by="x"), "rekindle:scripted:")
        run(url, "UPDATE facts SET body = %s WHERE subject = 'f00000001'", body)
        with pytest.raises(DamagedStore, match="f00000001"):
            jobs.find("f00000001")
        assert jobs.find("f00000002") is not None, "the others go on"


@pytest.mark.parametrize("name", ["../sessions", "..", "", "/etc", "a\x1b[31m", "def456"])
def test_a_session_is_only_what_its_row_is_called_and_a_folder_can_be(url: str, name: str) -> None:
    """Folders are made, moved and removed by a session's id, and a neighbour can write any row."""
    bad = msgspec.structs.replace(created("abc123"), session=name)
    body = msgspec.json.encode(folded([bad])).decode()
    run(url, "UPDATE sessions SET body = %s", body)
    with closing(SharedPlacements(url, "b")) as b:
        found = b.find("abc123")
        assert found is not None and found.session.id == "abc123", "its facts count"
        run(url, "UPDATE facts SET body = %s WHERE subject = 'abc123'", msgspec.json.encode(bad).decode())
        with pytest.raises(DamagedStore, match="abc123"):
            b.find("abc123")
        for table in ("sessions", "placements"):
            run(url, f"UPDATE {table} SET {'id' if table == 'sessions' else 'session'} = %s", name)
        run(url, "UPDATE facts SET subject = %s WHERE stream = 'session'", name)
        if name == "def456":
            assert b.find(name) is not None, "all of it is one session"
        else:
            with pytest.raises(DamagedStore):
                b.find(name)
            opened = open_store(url, now=datetime.now(UTC), host="a")
            with closing(opened.store), pytest.raises(DamagedStore):
                opened.store.session(name)


def test_what_nobody_can_read_hides_none_of_the_others(url: str, caplog: pytest.LogCaptureFixture) -> None:
    order = JobOrder(title="t", steps=(StepOrder(name="s", agent="scripted", prompt="say x"),))
    opened = open_store(url, now=datetime.now(UTC), host="a")
    with closing(opened.store), closing(SharedPlacements(url, "b")) as b, closing(SharedJobs(url, "a")) as jobs:
        second = created("def456")
        commit(opened.store, folded([second]), [second])
        for name in ("f00000001", "f00000002"):
            jobs.submit(JobSubmitted(at=1.0, job=name, order=order, by="x"), "rekindle:scripted:")
        run(url, "UPDATE sessions SET body = '' WHERE id = 'abc123'")
        run(url, "UPDATE facts SET body = '' WHERE subject = 'abc123'")
        other = msgspec.json.encode(JobSubmitted(at=1.0, job="f00000002", order=order, by="x")).decode()
        run(url, "UPDATE facts SET body = %s WHERE subject = 'f00000001'", other)
        for _ in range(3):
            assert [one.session.id for one in b.everything()] == ["def456"]
            assert [one.job.id for one in jobs.everything()] == ["f00000002"]
        with pytest.raises(DamagedStore, match="f00000001"):
            jobs.find("f00000001")
    assert [one for one in ("abc123", "f00000001") if caplog.text.count(f" {one} is left out") != 1] == []


def test_a_copy_that_is_larger_than_any_of_ours_is_not_read(url: str) -> None:
    piece = Piece("1/out@1", 0, 4, 1)
    with closing(SharedBlobs(url)) as blobs:
        blobs.claim("abc123", 1)
        blobs.add("abc123", piece, b"data")
        assert blobs.data("abc123", piece) == b"data"
        run(url, "UPDATE blobs SET data = decode(repeat('00', 10000000), 'hex')")
        with pytest.raises(BlobDamaged, match="10000000 bytes"):
            blobs.data("abc123", piece)


def test_labels_that_nobody_of_ours_gives_say_what_no_worker_has() -> None:
    for label in ("a:b", ":", "a+b", "x" * 10_000, "\n"):
        order = JobOrder(title="t", steps=(StepOrder(name="s", agent="sc:ripted", prompt="x"),), labels=(label,))
        assert why_unclaimed(queue_of_order(order), [Worker("a", "ready", ("gpu",), ("scripted",), "")])


def test_a_message_that_nobody_of_ours_sends_is_answered_in_words() -> None:
    deeds = MailDeeds(Mock(), Mock(), Mock(), Mock(), {})
    for kind, body in [
        ("explode", "{}"),
        ("send", "{"),
        ("stop", '{"to": "the moon"}'),
        ("resume", '{"request": {"session": 1, "agent": 5}}'),
    ]:
        mail = Mail("m", "abc123", kind, body, "x", "b", 1.0)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="message") as found:
            asyncio.run(deeds.carry_out(mail))
        assert "same version" in found.value.hint


def test_an_outcome_that_cannot_be_read_is_told_in_words(url: str) -> None:
    with closing(SharedMail(url, "b")) as box:

        async def story() -> None:
            sending = MailSending(box, lambda: 1.0)
            asking = asyncio.ensure_future(sending.ask("hold", "hold", "abc123", "a", {}, name="m1"))
            while await asyncio.to_thread(box.find, "m1") is None:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(run, url, "UPDATE mail SET outcome = '{', taken_by = 'a'")
            sending.heard()
            with pytest.raises(RekindleError, match="cannot be read"):
                await asking

        asyncio.run(story())


def _as_role(url: str, role: str) -> str:
    return url.replace(f"//{the_cluster().user}@", f"//{role}@")


def test_a_role_without_rights_is_told_what_it_needs(url: str) -> None:
    run(url, "DROP ROLE IF EXISTS rk_guest")
    run(url, "CREATE ROLE rk_guest LOGIN")
    with pytest.raises(StoreError, match="permission denied") as found:
        open_store(_as_role(url, "rk_guest"), now=datetime.now(UTC), host="g")
    assert "role" in found.value.hint
    run(url, "DROP ROLE rk_guest")


def test_a_server_that_lets_nobody_else_in_says_how_many_it_needs(url: str) -> None:
    run(url, "DROP ROLE IF EXISTS rk_crowd")
    run(url, "CREATE ROLE rk_crowd LOGIN CONNECTION LIMIT 1")
    crowd = _as_role(url, "rk_crowd")
    with psycopg.connect(crowd), closing(SharedMail(crowd, "a")) as box:
        with pytest.raises(StoreError, match="no connection left") as found:
            box.find("x")
        assert "max_connections" in found.value.hint
    run(url, "DROP ROLE rk_crowd")


def test_a_store_that_only_reads_says_so(url: str) -> None:
    database = url.partition("?")[0].rpartition("/")[2]
    run(url, f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    with closing(SharedHosts(url, "a")) as hosts, pytest.raises(StoreError, match="takes no writes"):
        hosts.tell(HostReport())
