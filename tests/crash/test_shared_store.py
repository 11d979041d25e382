"""Several hosts write to one store: whoever was overtaken is refused, and nobody who reads on misses a fact."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekindle.adapters.machine.secret_file import read_secret
from rekindle.adapters.sql_store.databases import shown_place
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.postgres import parsed
from rekindle.adapters.sql_store.store import SqlStore
from rekindle.core.session import facts as f
from rekindle.ports.errors import UsageError
from rekindle.ports.store import NewerSchema, Recorded, StaleGeneration, StoreError
from tests.crash.shared_writer import SESSION
from tests.postgres import new_cluster, new_database, the_cluster
from tests.sessions import commit, created, folded

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def read_on(store: SqlStore, over: threading.Event, found: list[Recorded]) -> None:
    """What a reader gets who asks for all facts after the last one that it has."""
    while True:
        is_over = over.is_set()
        while page := store.facts(after=found[-1].seq if found else 0, limit=50):
            found.extend(page)
        if is_over:
            return


@pytest.mark.parametrize("kills", [False, True], ids=["all go on", "some are killed"])
def test_hosts_that_race_for_a_session_never_write_after_a_successor_has(kills: bool) -> None:
    url, choose = new_database(), random.Random(7)
    store = open_store(url, now=NOW, host="first").store
    commit(store, folded([created(SESSION)]), [created(SESSION)], generation=0)
    everything = SqlStore(url)
    over, read = threading.Event(), list[Recorded]()
    reader = threading.Thread(target=read_on, args=(everything, over, read))
    reader.start()
    line = [sys.executable, "-m", "tests.crash.shared_writer", url]
    hosts = [subprocess.Popen([*line, f"h{n}", "6"], stdout=subprocess.PIPE, text=True) for n in range(4)]
    if kills:
        threading.Event().wait(4.0)  # the length of the race, not a wait for anything
        for host in choose.sample(hosts, 2):
            host.send_signal(signal.SIGKILL)
    told = [json.loads(out) for out, _ in (host.communicate(timeout=120) for host in hosts) if out]
    over.set()
    reader.join()
    facts = everything.facts("session", SESSION, limit=1_000_000)
    everything.close()
    store.close()
    assert sum(one["taken"] for one in told) > 10, told
    assert sum(one["refused"] for one in told) > 0, "nobody was ever overtaken: this has shown nothing"
    generation, writer = 0, ""
    for one in facts[1:]:
        if isinstance(one.fact, f.Adopted):
            assert one.fact.generation > generation
            generation, writer = one.fact.generation, ""
        else:
            assert isinstance(one.fact, f.Noticed)
            by, number = one.fact.message.split()
            assert int(number) == generation, "a host wrote after it was overtaken"
            assert writer in ("", by)
            writer = by
    assert [one.seq for one in read] == list(range(1, len(read) + 1)), "a reader missed a fact, or its order"
    assert read == facts


def test_a_server_that_goes_away_and_comes_back_loses_nothing_that_was_acknowledged() -> None:
    cluster = new_cluster()
    store = open_store(cluster.url(cluster.database()), now=NOW, host="a").store
    commit(store, folded([created("one")]), [created("one")])
    cluster.stop()
    with pytest.raises(StoreError) as away:
        commit(store, folded([created("two")]), [created("two")])
    assert away.value.code == "store_away"
    with pytest.raises(StoreError):
        store.sessions()
    cluster.start()
    assert store.named("") == ["one"]
    commit(store, folded([created("two")]), [created("two")])
    assert [one.seq for one in store.facts()] == [1, 2]
    store.close()
    cluster.stop()


def test_a_password_is_needed_read_from_a_private_file_and_never_told(tmp_path: Path) -> None:
    cluster, file = the_cluster(), tmp_path / "password"
    url = cluster.tcp_url(cluster.database())
    file.write_text(cluster.password + "\n")
    file.chmod(0o640)
    with pytest.raises(UsageError, match="others"):
        read_secret(str(file), "store_password_file")
    file.chmod(0o600)
    right = parsed(url, read_secret(str(file), "store_password_file"))
    open_store(right, now=NOW, host="a").store.close()
    assert cluster.password not in shown_place(right)
    for wrong in (parsed(url), parsed(url, "hush-hush")):
        with pytest.raises(StoreError) as refused:
            open_store(wrong, now=NOW, host="a")
        assert refused.value.code == "store_refused"
        assert "hush" not in f"{refused.value.message} {refused.value.hint}"
    for bad in (url.replace("@", ":hush-hush@"), f"{url}?password=hush-hush", "mysql://root@/db", "nonsense"):
        with pytest.raises(UsageError) as unfit:
            parsed(bad)
        assert "hush" not in str(unfit.value)


def test_a_server_that_has_stopped_answering_holds_up_no_connection_for_ever() -> None:
    cluster = new_cluster(quick=True)
    url = cluster.tcp_url(cluster.database())
    cluster.pause()
    try:
        began = time.monotonic()
        with pytest.raises(StoreError):
            open_store(parsed(url, cluster.password), now=NOW, host="a")
        assert time.monotonic() - began < 60
    finally:
        cluster.pause(signal.SIGCONT)
        cluster.stop()


def test_what_was_sent_to_a_server_that_is_gone_without_a_word_is_not_sent_again_for_a_quarter_of_an_hour() -> None:
    """Keepalives say nothing while something is on its way: a link that goes down in the middle of a commit."""
    from rekindle.adapters.sql_store import databases, postgres

    cluster = new_cluster(quick=True)
    try:
        engine = databases.make_engine(parsed(cluster.tcp_url(cluster.database()), cluster.password))
        with engine.connect() as connection:
            held = connection.connection.driver_connection
            assert held is not None
            with socket.socket(fileno=os.dup(held.fileno())) as line:
                patience = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        engine.dispose()
        assert 0 < patience <= postgres.GONE_SECONDS * 1000
    finally:
        cluster.stop()


def test_a_host_that_hangs_in_the_middle_of_a_commit_holds_up_the_others_only_for_a_moment() -> None:
    import sqlalchemy as sa

    from rekindle.adapters.sql_store import databases, postgres, sqlite

    url = new_database()
    store = open_store(url, now=NOW, host="b").store
    hanging = databases.make_engine(url).execution_options(**{sqlite.WRITES: True})
    with hanging.connect() as connection:
        connection.execute(sa.text("SELECT 1"))  # it has the lock from now on, and does nothing
        began = time.monotonic()
        commit(store, folded([created("one")]), [created("one")])
        assert time.monotonic() - began < postgres.HANGING_SECONDS + 10
        with pytest.raises(sa.exc.DBAPIError):
            connection.execute(sa.text("SELECT 1"))
    hanging.dispose()
    store.close()


def test_a_shared_store_of_a_newer_rekindle_is_refused_and_left_as_it_is() -> None:
    import sqlalchemy as sa

    url = new_database()
    open_store(url, now=NOW, host="a").store.close()
    engine = sa.create_engine(parsed(url))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE fleet_edition SET edition = 99"))
    with pytest.raises(NewerSchema, match="99"):
        open_store(url, now=NOW, host="b")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE fleet_edition SET edition = 1"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerSchema, match="9999"):
        open_store(url, now=NOW, host="b")
    engine.dispose()


def test_hosts_that_open_a_new_store_at_once_make_it_once() -> None:
    url, failed = new_database(), list[BaseException]()

    def begin(host: str) -> None:
        try:
            open_store(url, now=NOW, host=host).store.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=begin, args=(f"h{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_what_is_a_hosts_own_is_seen_by_no_other_host() -> None:
    from rekindle.core.daemon_lives import DaemonBegan
    from rekindle.ports.store import OutboxEntry, StoreChange, commit_one

    url = new_database()
    a, b = (open_store(url, now=NOW, host=host).store for host in ("a", "b"))
    began = DaemonBegan(at=1.0, pid=7, version="1")
    commit_one(a, StoreChange("machine", "daemon", [began]))
    entry = OutboxEntry("e", "/r", "search", "checkpoint", session="one")
    commit(a, folded([created("one")]), [created("one")], outbox=[entry])
    assert [one.fact for one in a.facts("machine", "daemon")] == [began]
    assert [one.subject for one in a.facts("machine")] == ["daemon"]
    assert (a.outbox(), a.named("")) == ([entry], ["one"])
    assert (b.facts(), b.facts("machine", "daemon"), b.outbox(), b.named("")) == ([], [], [], [])
    with pytest.raises(StaleGeneration):
        commit(b, folded([created("one")]), [created("one")], generation=50)
    a.close()
    b.close()
