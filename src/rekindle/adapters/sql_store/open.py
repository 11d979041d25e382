"""Opening a store's file, whatever is there: nothing, a store, one of a newer rekindle, or damage.

A damaged file is moved aside, never deleted, and a new store is made. That a rebuild is due is remembered in a file
until the caller says that it is done, so that a crash in between does not leave an empty store that looks whole.
The caller holds the daemon's lock: two processes must not open a damaged store at once.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from rekindle import files
from rekindle.adapters.sql_store import schema, shared, sqlite
from rekindle.adapters.sql_store.databases import Place, explain, make_engine, shown_place
from rekindle.adapters.sql_store.store import SqlStore
from rekindle.ports.store import NewerSchema, OlderSchema, StoreError

_HINT = "See whether the file and its folder belong to you and can be read."


@dataclass(frozen=True)
class OpenedStore:
    """`notice` is a sentence for the person if the store was damaged: sessions have to be rebuilt, see `rebuild`."""

    store: SqlStore
    notice: str | None = None


def open_store(place: Place, *, now: datetime, host: str | None = None) -> OpenedStore:
    """Open the store, or make it. `place` is a file, or the address of a database elsewhere.

    `now` names what is set aside. With `host` the store is a host's part of a shared one (see `shared`). Raises
    NewerSchema and OlderSchema (nothing was changed), and StoreError if it cannot be used for a reason outside of it.
    """
    if isinstance(place, sa.URL) or (isinstance(place, str) and "://" in place):
        _migrate(place, host)
        return OpenedStore(SqlStore(place, shared.HostPart(host)))
    path = Path(place)
    try:
        return _open_file(path, now)
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error}", _HINT) from error


def rebuild_due(path: Path, notice: str) -> None:
    """Remember, before `open_store` makes a new store, that sessions have to be rebuilt: it tells until that is done.

    For a caller who knows that there were sessions, although there is no store.
    """
    if not _marker(path).exists():
        files.replace(_marker(path), notice.encode("utf-8", "backslashreplace"), mode=0o600, durable=True)


def rebuild_done(path: Path) -> None:
    """What could be rebuilt is committed: `open_store` does not ask for it again."""
    _marker(path).unlink(missing_ok=True)
    files.sync_folder(str(path.parent))


def set_aside(path: Path, damage: str, now: datetime) -> None:
    """Move a damaged file and what belongs to it out of the way; the next `open_store` makes a new store and tells.

    For a caller to whom a read said DamagedStore: close the store first.
    """
    stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    number = 1
    while any(_beside(aside, suffix).exists() for suffix in ("", *sqlite.COMPANIONS)):
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    notice = f"The store {path} is damaged ({damage}). It was set aside as {aside}; nothing was deleted."
    files.replace(_marker(path), notice.encode("utf-8", "backslashreplace"), mode=0o600, durable=True)
    # The database goes first: a log that stays behind after a crash is then recognised as one without its file.
    for suffix in ("", *sqlite.COMPANIONS):
        if _beside(path, suffix).exists():
            os.rename(_beside(path, suffix), _beside(aside, suffix))
    files.sync_folder(str(path.parent))


def _open_file(path: Path, now: datetime) -> OpenedStore:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    damage = _damage_when_whole(path)
    if damage is not None:
        set_aside(path, damage, now)
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        files.sync_folder(str(path.parent))
    elif path.stat().st_mode & 0o077:
        path.chmod(0o600)
    revision = _revision(path)
    if revision is None:
        _make(path)
    elif revision != schema.HEAD:
        _migrate(path)
    marker = _marker(path)
    return OpenedStore(SqlStore(path), marker.read_text("utf-8", "replace") if marker.exists() else None)


def _damage_when_whole(path: Path) -> str | None:
    try:
        return _damage(path)
    except StoreError as error:
        if not isinstance(error.__cause__, sqlite3.Error) or not sqlite.is_half_written(error.__cause__):
            raise
        sqlite.roll_back(str(path))
        return _damage(path)


def _damage(path: Path) -> str | None:
    """What is wrong with the file's content; None if nothing is, or if there is no file."""
    left = [suffix for suffix in sqlite.COMPANIONS if _beside(path, suffix).exists()]
    if not path.exists():
        # SQLite would put the old log's pages into the new file.
        return f"the file is gone and its {left[0]} is not" if left else None
    if path.stat().st_size == 0 and left:
        # SQLite would take the log of an empty file for nothing, and delete it.
        return f"the file is empty and its {left[0]} is there"
    try:
        with closing(sqlite.connect_to_read(str(path))) as connection:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != ("ok",):
                return str(verdict[0]) if verdict else "the check gave no answer"
            tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
            if tables and "alembic_version" not in tables and not tables & set(schema.metadata.tables):
                raise StoreError(f"{path} is a database of something else.", "Name another file for the store.")
            revisions = connection.execute("SELECT version_num FROM alembic_version").fetchall() if tables else []
            if tables and len(revisions) != 1:
                return "it does not say which schema it has"
            if tables and revisions[0] == (schema.HEAD,) and not tables >= set(schema.metadata.tables):
                return f"tables are missing: {', '.join(sorted(set(schema.metadata.tables) - tables))}"
    except sqlite3.Error as error:
        if sqlite.is_damage(error):
            return str(error)
        raise StoreError(f"{path} cannot be read: {error}", _HINT) from error
    except UnicodeDecodeError as error:
        return f"text that is none: {error}"
    return None


def _revision(path: Path) -> str | None:
    with closing(sqlite.connect_to_read(str(path))) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name='alembic_version'").fetchall():
            return None
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def _make(path: Path) -> None:
    """Make all tables in an empty file, as the revisions would one after the other, but without loading Alembic."""
    with _one_transaction(path) as connection:
        schema.make(connection)


def _migrate(place: Place, host: str | None = None) -> None:
    """Bring the schema up to date in one transaction. A revision that is not ours is refused before that."""
    from rekindle.adapters.sql_store import migrations  # loads Alembic, which an up-to-date store does not need

    name = shown_place(place)
    if isinstance(place, Path):
        _refuse_unknown(name, _revision(place), migrations.is_known)
    with _one_transaction(place) as connection:
        if sa.inspect(connection).has_table("alembic_version"):
            stored = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
            _refuse_unknown(name, stored, migrations.is_known)
        migrations.upgrade(connection)
        if host is not None:
            shared.make(connection, name)


@contextmanager
def _one_transaction(place: Place) -> Iterator[sa.Connection]:
    engine = make_engine(place)
    try:
        with engine.execution_options(**{sqlite.WRITES: True}).begin() as connection:
            yield connection
    except sa.exc.DBAPIError as error:
        raise explain(error, shown_place(place)) from error
    finally:
        engine.dispose()


def _refuse_unknown(place: str, revision: str | None, is_known: Callable[[str], bool]) -> None:
    if revision in schema.OLDER:
        raise OlderSchema(
            f"{place} was written by an earlier rekindle (schema {revision}), whose facts this one cannot fold. "
            "Still readable are the journals in your repositories, the vault's copies and the agents' own records, "
            "and the snapshots in git (refs/rekindle). The file was not changed.",
            f"Move it away (mv {place} {place}.old): sessions are then rebuilt from their folders.",
        )
    if revision is not None and not is_known(revision):
        raise NewerSchema(
            f"{place} was written by a newer rekindle (schema {revision}; this one knows up to {schema.HEAD}).",
            "Use that version, or give this one a store of its own. The file was not changed.",
        )


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _marker(path: Path) -> Path:
    return _beside(path, ".rebuild-due")
