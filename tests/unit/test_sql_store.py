"""What only the store on disk can show: opening anything, damage, kills, rights, migrations, the quick reader."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.dialects import postgresql

from rekindle.adapters.sql_store import migrations, quick, schema
from rekindle.adapters.sql_store.databases import make_engine
from rekindle.adapters.sql_store.open import OpenedStore, open_store, rebuild_done
from rekindle.adapters.sql_store.store import SqlStore
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.listing import Listing, listing
from rekindle.ports.store import DamagedStore, NewerSchema, OlderSchema, OutboxEntry, StoreError
from tests.sessions import a_life, booked, commit, created, facts_of

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ASIDE = "store.db.damaged-20260102T030405Z"


def opened(path: Path) -> OpenedStore:
    return open_store(path, now=NOW)


def filled(path: Path, sessions: int = 30) -> Path:
    """A store with content, all of it in the one file."""
    with closing(opened(path).store) as store:
        for n in range(sessions):
            life = a_life(f"s{n}")
            commit(store, booked(life), life, generation=3, outbox=[OutboxEntry(f"e{n}", "/r", "search", "checkpoint")])
    return path


def sql(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


# Rows


def test_rows_say_what_the_session_says(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    told: list[AnyFact] = []
    with closing(opened(path).store) as store:
        for fact in a_life():
            told.append(fact)
            commit(store, booked(told), [fact], generation=3)
    session = booked(told)
    assert sql(path, "SELECT agent, cwd, title, state, policy, feature, task, token, token_usable, generation "
                     "FROM sessions") == [
        ("scripted", "/new", "a title", session.state.value, "ask", "search", "t1", "tok", 1, 3)
    ]  # fmt: skip
    assert sql(path, "SELECT number, agent_execution_id, status, how, resume_token, folder, pid, how_ended, "
                     "started_at, ended_at FROM attempts") == [
        (1, "s1-1", "gone", "new", "tok", "/keep/1", 42, "signal SIGKILL", 4.0, 10.0),
        (2, "s1-2", "gone", "load", "tok", "/keep/2", 43, "it said nothing for 240 s", 13.0, 20.0),
        (3, "s1-3", "gone", "load", "tok", "", 0, "no such program", None, 23.0),
    ]  # fmt: skip
    assert sql(path, "SELECT position, id, text, state, attempt FROM prompts ORDER BY position") == [
        (at, one.id, one.text, one.state, one.attempt) for at, one in enumerate(session.prompts)
    ]
    assert sql(path, "SELECT attempt, kind, reason, unknown, repeated FROM receipts") == [
        (2, "same", "its record", '["make"]', "[]")
    ]
    assert sql(path, "SELECT id, session, state FROM tasks") == [("t1", "s1", session.task_state.value)]


def test_rows_that_another_version_made_are_made_anew(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 3)
    rows = "SELECT id, attended, if_alive, if_dead, body FROM sessions ORDER BY id"
    before = sql(path, rows)
    sql(path, "UPDATE sessions SET attended = 1 - attended WHERE id = 's1'")
    sql(path, "UPDATE sessions SET if_dead = '{}' WHERE id = 's2'")
    with closing(opened(path).store) as store:
        assert store.renew() == 2
        assert store.renew() == 0
    assert sql(path, rows) == before


def test_a_session_told_at_once_has_the_same_rows_as_one_told_fact_by_fact(tmp_path: Path) -> None:
    dumps = []
    for name, step in (("once", len(a_life())), ("slowly", 1)):
        path = tmp_path / name / "store.db"
        life = a_life()
        with closing(opened(path).store) as store:
            for end in range(step, len(life) + 1, step):
                commit(store, booked(life[:end]), life[end - step : end], generation=3)
        with closing(sqlite3.connect(path)) as connection:
            dumps.append(sorted(line for line in connection.iterdump() if "facts" not in line))
    assert dumps[0] == dumps[1]


def test_a_commit_that_the_database_refuses_at_its_end_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(opened(path).store) as store:
        sql(path, "CREATE TRIGGER no BEFORE INSERT ON outbox WHEN NEW.id='b' BEGIN SELECT RAISE(ABORT, 'no'); END")
        entries = [OutboxEntry(name, "/r", "search", "checkpoint") for name in "ab"]
        with pytest.raises(StoreError, match="no"):
            commit(store, booked(a_life()), a_life(), generation=3, outbox=entries)
        for table in schema.metadata.tables:
            assert sql(path, f"SELECT * FROM {table}") == []
        commit(store, booked(a_life()), a_life(), generation=3, outbox=entries[:1])


def test_a_body_that_cannot_be_read_is_made_again_from_the_facts(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 2)
    sql(path, "UPDATE sessions SET body = substr(body, 5) WHERE id = 's1'")
    with closing(opened(path).store) as store:
        assert store.session("s1") == booked(a_life("s1"))
        assert len(store.sessions()) == 2
        sql(path, "UPDATE facts SET body = '{}' WHERE subject = 's1'")
        with pytest.raises(DamagedStore, match="s1"):
            store.session("s1")


def test_a_writer_that_is_kept_waiting_too_long_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekindle.adapters.sql_store.sqlite._PRAGMAS", ("PRAGMA busy_timeout=10",))
    path = filled(tmp_path / "store.db", 1)
    with closing(SqlStore(path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process") as held:
            commit(store, booked([created()]), [created()], generation=1)
        assert held.value.code == "busy"
        assert len(store.sessions()) == 1
        other.execute("ROLLBACK")
        commit(store, booked([created()]), [created()], generation=1)


# Durability


def test_the_database_syncs_every_commit(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 1)
    engine = make_engine(path)
    with engine.connect() as connection:
        got = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    engine.dispose()
    assert got == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_system_calls_are_write_then_sync_then_acknowledge(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 1)
    program = (
        "import os, sys\nfrom rekindle.adapters.sql_store.store import SqlStore\n"
        "from tests.sessions import booked, commit, created\nstore = SqlStore(sys.argv[1])\nos.write(1, b'BEGIN')\n"
        "commit(store, booked([created('new')]), [created('new')])\nos.write(1, b'ACKNOWLEDGED')\n"
    )
    trace = tmp_path / "trace"
    done = subprocess.run(
        [
            "strace",
            "-y",
            "-o",
            str(trace),
            "-e",
            "trace=write,pwrite64,fdatasync,fsync",
            sys.executable,
            "-c",
            program,
            path,
        ],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    if done.returncode != 0 and b"ptrace" in done.stderr.lower():
        pytest.skip("this machine does not let a process be traced")
    assert done.returncode == 0, done.stderr
    calls = trace.read_text().split('"BEGIN"')[1].split('"ACKNOWLEDGED"')[0].splitlines()
    log = [call.split("(")[0] for call in calls if "store.db-wal>" in call]
    assert "pwrite64" in log
    assert log[-1] in ("fdatasync", "fsync")


def test_what_was_acknowledged_survives_kill_minus_9(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.store_writer", str(path), "30", "7"],
        capture_output=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr.decode()
    acknowledged = [line.split() for line in json.loads(done.stdout)["acknowledged"]]
    assert len({name for name, _, _ in acknowledged}) == 30
    found = opened(path)
    assert found.notice is None
    with closing(found.store) as store:
        facts = {(one.subject, one.seq) for one in store.facts(limit=10**6)}
        outbox = {entry.id for entry in store.outbox(limit=10**6)}
        for name, number, seq in acknowledged:
            assert (name, int(seq)) in facts
            assert f"{name}-{number}" in outbox
        for session in store.sessions():
            assert session == booked(facts_of(store.facts("session", session.id, limit=10**6)))


# Opening


def test_a_new_store_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.db"
    with closing(opened(path).store) as store:
        commit(store, booked([created()]), [created()], generation=1)
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    opened(path).store.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_store_from_before_facts_were_complete_is_refused_and_says_what_is_still_readable(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 2)
    sql(path, "UPDATE alembic_version SET version_num = '0001'")
    before = path.read_bytes()
    with pytest.raises(OlderSchema, match=r"journals in your repositories.*snapshots in git") as refused:
        opened(path)
    assert "rebuilt from their folders" in refused.value.hint
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused_with_a_sentence_and_the_file_is_as_it_was(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 2)
    sql(path, "UPDATE alembic_version SET version_num = '9999'")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with pytest.raises(NewerSchema, match=r"newer rekindle.*9999") as refused:
        opened(path)
    assert refused.value.hint
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.suffix == ".db"} == before


def test_a_new_store_is_what_the_revisions_make_and_what_the_metadata_says(tmp_path: Path) -> None:
    opened(tmp_path / "store.db").store.close()
    migrated = make_engine(tmp_path / "migrated.db")
    with migrated.begin() as connection:
        migrations.upgrade(connection)
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []
    migrated.dispose()
    query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_auto%'"
    made = [
        {name: sorted(re.findall(r"[^\s,()]+", str(text))) for name, text in sql(path, query)}
        for path in (tmp_path / "store.db", tmp_path / "migrated.db")
    ]
    assert made[0] == made[1]
    revisions = [sql(tmp_path / name, "SELECT * FROM alembic_version") for name in ("store.db", "migrated.db")]
    assert revisions == [[(schema.HEAD,)], [(migrations.head(),)]]


def test_the_schema_can_be_made_on_postgresql() -> None:
    for table in schema.metadata.sorted_tables:
        text = str(sa.schema.CreateTable(table).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
        assert "BIGSERIAL" in text if table.name in ("facts", "outbox") else "SERIAL" not in text


def test_a_store_that_is_made_only_half_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    monkeypatch.setattr(schema, "make", cut_off_behind(schema.make))
    with pytest.raises(RuntimeError):
        opened(path)
    monkeypatch.undo()
    assert sql(path, "SELECT name FROM sqlite_master") == []
    assert opened(path).notice is None


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path / "store.db", 2)
    before = sql(path, "SELECT name FROM sqlite_master")

    def more(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE more (id)"))

    monkeypatch.setattr(schema, "HEAD", "0003")
    monkeypatch.setattr(migrations, "upgrade", cut_off_behind(more))
    with pytest.raises(RuntimeError):
        opened(path)
    monkeypatch.undo()
    assert sql(path, "SELECT name FROM sqlite_master") == before
    assert opened(path).notice is None


def cut_off_behind(act: Callable[[sa.Connection], None]) -> Callable[[sa.Connection], None]:
    def fails(connection: sa.Connection) -> None:
        act(connection)
        raise RuntimeError("power cut")

    return fails


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    sql(path, "CREATE TABLE recipes (id)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="something else"):
        opened(path)
    assert [one.name for one in tmp_path.iterdir()] == ["store.db"]
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_a_store_is_an_error_and_not_damage(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()
    with pytest.raises(StoreError):
        opened(tmp_path / "store.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        opened(tmp_path / "file" / "store.db")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "store.db"]


# Damage

PAGE = 4096


def damaged(path: Path, at: int, content: bytes) -> bytes:
    data = bytearray(path.read_bytes())
    data[at : at + len(content)] = content
    path.write_bytes(data)
    return bytes(data)


@pytest.mark.parametrize("at", [0, 18, 100, PAGE, 2 * PAGE, 5 * PAGE, 9 * PAGE], ids=str)
def test_a_damaged_file_is_set_aside_whole_and_a_new_store_is_made(tmp_path: Path, at: int) -> None:
    path = filled(tmp_path / "store.db")
    data = damaged(path, at, b"\xa5" * 200)
    found = opened(path)
    assert found.notice is not None
    assert ASIDE in found.notice
    assert (tmp_path / ASIDE).read_bytes() == data
    with closing(found.store) as store:
        assert store.sessions() == []
        commit(store, booked([created()]), [created()], generation=1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at\n" * 100, b"\0" * 8192, b"SQLite"])
def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    found = opened(tmp_path / "store.db")
    found.store.close()
    assert found.notice is not None
    assert (tmp_path / ASIDE).read_bytes() == content


@pytest.mark.parametrize("size", [50, 4000, 3 * PAGE, 6 * PAGE + 7], ids=str)
def test_a_file_that_was_cut_short_is_set_aside(tmp_path: Path, size: int) -> None:
    path = filled(tmp_path / "store.db")
    path.write_bytes(path.read_bytes()[:size])
    found = opened(path)
    found.store.close()
    assert found.notice is not None
    assert (tmp_path / ASIDE).stat().st_size == size


def test_bytes_changed_anywhere_never_make_opening_or_reading_crash(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole.db", 3).read_bytes()
    quiet = 0
    for index, at in enumerate(range(7, len(whole), len(whole) // 60)):
        path = tmp_path / str(index) / "store.db"
        path.parent.mkdir()
        path.write_bytes(whole)
        damaged(path, at, b"\xff\x00\xfe\x01")
        found = opened(path)
        quiet += found.notice is None
        with closing(found.store) as store:
            try:
                store.sessions()
                store.facts()
            except DamagedStore:
                pass
    assert quiet < 60


def test_everything_that_belongs_to_a_damaged_file_moves_with_it_and_nothing_is_overwritten(tmp_path: Path) -> None:
    for round_ in (1, 2):
        path = tmp_path / "store.db"
        path.write_bytes(b"garbage %d" % round_ * 1000)
        (tmp_path / "store.db-wal").write_bytes(b"log %d" % round_)
        opened(path).store.close()
        aside = ASIDE if round_ == 1 else f"{ASIDE}-2"
        assert (tmp_path / aside).read_bytes().startswith(b"garbage %d" % round_)
        assert (tmp_path / f"{aside}-wal").read_bytes() == b"log %d" % round_


def test_a_log_without_its_file_does_not_get_into_the_new_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(opened(path).store) as store:
        commit(store, booked([created()]), [created()], generation=1)
        shutil.copy(tmp_path / "store.db-wal", tmp_path / "kept")
    path.unlink()
    (tmp_path / "kept").rename(tmp_path / "store.db-wal")
    found = opened(path)
    assert found.notice is not None
    with closing(found.store) as store:
        assert store.sessions() == []
    assert (tmp_path / f"{ASIDE}-wal").exists()


def test_a_rebuild_is_due_until_it_is_said_to_be_done(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"garbage" * 1000)
    notices = []
    for _ in range(2):  # the daemon died before it had rebuilt anything
        found = opened(path)
        found.store.close()
        notices.append(found.notice)
    assert notices[0] is not None
    assert notices == [notices[0]] * 2
    rebuild_done(path)
    assert opened(path).notice is None


def test_a_crash_while_a_file_is_set_aside_is_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"garbage" * 1000)
    (tmp_path / "store.db-wal").write_bytes(b"log")
    real = os.rename

    def once(source: Path, target: Path) -> None:
        real(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", once)
    with pytest.raises(KeyboardInterrupt):
        opened(path)
    monkeypatch.undo()
    found = opened(path)
    found.store.close()
    assert found.notice is not None
    assert (tmp_path / ASIDE).read_bytes() == b"garbage" * 1000
    assert (tmp_path / f"{ASIDE}-2-wal").read_bytes() == b"log"


# The quick reader


def test_the_quick_reader_lists_what_is_committed_next_to_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "odd ?#% name" / "store.db"
    assert quick.rows(path) == []
    with closing(opened(path).store) as store:
        assert quick.rows(path) == []
        life = a_life("late")
        commit(store, booked(life), life, generation=3)
        commit(store, booked([created("early", at=0.5)]), [], generation=3)
        found = quick.rows(path)
    assert [row["id"] for row in found] == ["early", "late"]
    assert found[1] == {
        "id": "late",
        "agent": "scripted",
        "state": booked(life).state.value,
        "title": "a title",
        "cwd": "/new",
        "feature": "search",
        "changed_at": 28.0,
        "if_alive": found[1]["if_alive"],
        "if_dead": found[1]["if_dead"],
    }
    for name, alive in (("if_alive", True), ("if_dead", False)):
        kept = msgspec.json.decode(found[1][name], type=Listing)
        assert kept == listing(booked(life), 23.0, alive=alive, served=False)


def test_the_quick_reader_reads_what_a_killed_writer_left_in_its_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(opened(path).store) as store:
        commit(store, booked([created()]), [created()], generation=1)
        (tmp_path / "crash").mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", tmp_path / "crash" / f"store.db{suffix}")
    left = (tmp_path / "crash" / "store.db").read_bytes()
    assert [row["id"] for row in quick.rows(tmp_path / "crash" / "store.db")] == ["s1"]
    assert (tmp_path / "crash" / "store.db").read_bytes() == left


def test_the_quick_reader_makes_no_file_and_takes_an_empty_one(tmp_path: Path) -> None:
    assert quick.rows(tmp_path / "store.db") == []
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "store.db").touch()
    assert quick.rows(tmp_path / "store.db") == []


def test_the_quick_reader_loads_the_standard_library_only() -> None:
    code = (
        "import sys; import rekindle.adapters.sql_store.quick; "
        "print([name for name in ('sqlalchemy', 'alembic', 'msgspec', 'click') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"[]\n"


def test_an_open_store_that_is_up_to_date_does_not_load_alembic(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 1)
    code = (
        "import sys, datetime, pathlib; from rekindle.adapters.sql_store.open import open_store; "
        "open_store(pathlib.Path(sys.argv[1]), now=datetime.datetime.now(datetime.UTC)).store.close(); "
        "print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"False\n"


def test_a_fact_from_a_later_version_is_read_without_its_new_fields(tmp_path: Path) -> None:
    path = filled(tmp_path / "store.db", 1)
    sql(path, "UPDATE facts SET body = json_set(body, '$.later', 1)")
    with closing(opened(path).store) as store:
        assert [one.fact for one in store.facts()] == a_life("s0")
        assert isinstance(store.facts()[0].fact, f.Created)


def test_what_lies_in_the_place_of_a_lost_store_is_kept_with_its_log(tmp_path: Path) -> None:
    """A store that was exchanged twice under a running daemon: each time another one, with commits in its log."""
    path = filled(tmp_path / "store.db", 1)
    store = opened(path).store
    for text in ("first", "second"):
        other = tmp_path / "other.db"
        with closing(sqlite3.connect(other)) as theirs:
            theirs.execute("PRAGMA journal_mode=WAL")
            theirs.execute("CREATE TABLE words (word TEXT)")
            theirs.execute("INSERT INTO words VALUES (?)", (text,))
            theirs.commit()
            for suffix in ("", "-wal"):
                shutil.copy(f"{other}{suffix}", f"{path}{suffix}.new")
        other.unlink()
        for suffix in ("", "-wal"):
            os.rename(f"{path}{suffix}.new", f"{path}{suffix}")
        assert store.stay_in_place()
    found = []
    for number in (1, 2):
        with closing(sqlite3.connect(tmp_path / f"store.db.replaced-{number}")) as kept:
            found += kept.execute("SELECT word FROM words").fetchall()
    assert found == [("first",), ("second",)]


@pytest.mark.parametrize("began", ["empty", "whole"])
def test_a_store_whose_writer_was_killed_before_it_used_a_log_is_rolled_back_and_opened(
    tmp_path: Path, began: str
) -> None:
    """Until a new store has its write-ahead log, SQLite keeps what it overwrites in a journal beside the file."""
    whole, path = tmp_path / "whole.db", tmp_path / "store.db"
    if began == "whole":
        opened(whole).store.close()
    with closing(sqlite3.connect(whole, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=DELETE")
        writer.execute("PRAGMA cache_size=1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("CREATE TABLE half (text)")
        writer.executemany("INSERT INTO half VALUES (?)", [("x" * 3000,)] * 50)
        shutil.copy(whole, path)
        shutil.copy(f"{whole}-journal", f"{path}-journal")
    assert path.stat().st_size > 0
    again = opened(path)
    again.store.close()
    assert again.notice is None and not (tmp_path / ASIDE).exists()
    with closing(sqlite3.connect(path)) as reader:
        tables = {name for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    assert "half" not in tables and tables >= set(schema.metadata.tables)
