"""All that is PostgreSQL's own: how it is reached, what its writers wait for, what its errors mean. Needs psycopg.

Several hosts write to one database. A writer takes one lock for the whole store before anything else, and holds it
until its commit: facts are then numbered in the order in which they become visible, so nobody who reads on from a
number misses a fact, and whoever was overtaken is refused in the transaction in which it wanted to write.
"""

from __future__ import annotations

import re
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event

from rekindle.adapters.sql_store.postgres_tls import tls_remedy
from rekindle.adapters.sql_store.sqlite import WRITES
from rekindle.ports.errors import UsageError
from rekindle.ports.store import StoreError

SCHEME: Final = "postgresql"
#: Where it is said that facts were committed; the message is the last one's number.
CHANNEL: Final = "rekindle_facts"
CONNECT_SECONDS: Final = 5
#: The longest a statement may take, and the longest that one waits for another host's commit.
STATEMENT_SECONDS: Final = 60
LOCK_SECONDS: Final = 30
#: A host that hangs in the middle of a transaction loses it after this time: all others wait for its lock.
HANGING_SECONDS: Final = 5
#: How soon a peer that is gone without a word is noticed: the loop does not wait, but its callers do. Keepalives tell
#: only while nothing is on its way; what was sent and never confirmed has a time of its own (in milliseconds), and
#: would otherwise be sent again for a quarter of an hour.
GONE_SECONDS: Final = 11
_ALIVE: Final = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": GONE_SECONDS * 1000,
}
#: Any number that no other program would choose for its own lock in the same database.
_WRITERS: Final = 0x72656B696E646C65 >> 1
#: SQLSTATEs with words of their own.
#: How a server says it while a connection is made: then there is no code.
_MISSING = re.compile(r'database ".*" does not exist')
_FULL, _NO_PASSWORD, _BAD_PASSWORD, _NO_DATABASE, _LATE = "53100", "28000", "28P01", "3D000", "55P03"
_NO_RIGHT, _READ_ONLY, _CROWDED = "42501", "25006", "53300"
#: What the server says while it lets nobody else in: a connection that was refused has no SQLSTATE.
_CROWDED_WORDS: Final = ("too many clients", "too many connections", "remaining connection slots")


def is_url(place: object) -> bool:
    """Whether a place is the address of a PostgreSQL database."""
    return isinstance(place, str) and place.split("://")[0].split("+")[0] in (SCHEME, "postgres")


def parsed(place: str, password: str | None = None) -> sa.URL:
    """The address. A password does not belong in it: settings are shown and copied. Raises UsageError."""
    unfit = UsageError("store_url is not an address of a database", "write it as postgresql://user@host:5432/database")
    if not is_url(place):
        raise unfit
    try:
        url = sa.make_url(place)
    except (sa.exc.ArgumentError, ValueError):
        raise unfit from None  # its words would quote the address, and what is secret in it
    if url.password is not None or "password" in url.query:
        raise UsageError(
            "store_url has a password in it", "put the password in a file with mode 0600 and set store_password_file"
        )
    return url.set(drivername=f"{SCHEME}+psycopg", password=password)


def shown_place(url: sa.URL) -> str:
    """The address as messages and logs may show it: no password, and nothing that stands behind the database's name."""
    return url._replace(password=None).set(query={}, drivername=SCHEME).render_as_string()


def way_to(url: sa.URL) -> dict[str, Any]:
    """How libpq reaches an address: its hosts and what protects the connection. The environment has a say (PGHOST …).

    Named as in `rekindle.core.fleet.exposure.StoreWay`.
    """
    said = {} if "service" in url.query else _defaults()
    said |= {"host": url.host} if url.host else {}
    said |= {name: ",".join([value] if isinstance(value, str) else value) for name, value in url.query.items()}
    places = str(said.get("hostaddr") or said.get("host") or said.get("service") or "")
    hosts = tuple(one.rpartition(":")[0] if one.count(":") == 1 else one for one in places.split(",") if one)
    return {"hosts": hosts, **{name: str(said.get(name) or "") for name in ("sslmode", "channel_binding")}}


def _defaults() -> dict[str, Any]:
    """What libpq takes for all that an address does not say."""
    try:
        from psycopg import pq
    except ImportError:  # who makes the engine says so
        return {}
    return {one.keyword.decode(): one.val.decode() for one in pq.Conninfo.get_defaults() if one.val is not None}


def make_engine(url: sa.URL) -> sa.Engine:
    """One connection, kept open and looked at before it is used: the server may have been restarted."""
    try:
        engine = sa.create_engine(
            url,
            pool_size=1,
            max_overflow=1,
            pool_pre_ping=True,
            connect_args={
                "connect_timeout": CONNECT_SECONDS,
                "application_name": "rekindle",
                "options": f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={LOCK_SECONDS}s "
                f"-c idle_in_transaction_session_timeout={HANGING_SECONDS}s",
                **_ALIVE,
            },
        )
    except ModuleNotFoundError as error:
        raise StoreError(
            "a store in PostgreSQL needs psycopg, which is not installed", "install rekindle with the extra `fleet`"
        ) from error
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    """A commit is on disk when it returns, whatever the server's settings say."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone() == ("off",):
            cursor.execute("SET synchronous_commit = on")
    connection.commit()


def _begin(connection: sa.Connection) -> None:
    if connection.get_execution_options().get(WRITES, False):
        connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_WRITERS})"))


def next_number(connection: sa.Connection, column: sa.Column[int]) -> int:
    """The number of the next fact. What was rolled back leaves no gap: its numbers are given again."""
    return int(connection.scalar(sa.select(sa.func.coalesce(sa.func.max(column), 0))) or 0) + 1


def tell(connection: sa.Connection, number: int) -> None:
    """Say, once this transaction is committed, that there are facts up to this number."""
    connection.execute(sa.select(sa.func.pg_notify(CHANNEL, str(number))))


def explain(error: sa.exc.DBAPIError, place: str) -> StoreError:
    """What a failure means to a person. The server's words may quote a statement: only the first line is told."""
    code = getattr(error.orig, "sqlstate", None)
    words = (str(error.orig).strip().splitlines() or ["no reason given"])[0]
    if (hint := tls_remedy(words)) is not None:
        return StoreError(f"{place} cannot be reached: {words}", hint, code="store_refused")
    if code == _FULL:
        return StoreError(f"{place} cannot grow: the server's disk is full", "free some room there", code="disk_full")
    if code in (_NO_PASSWORD, _BAD_PASSWORD) or "password" in words:
        hint = "check the user in store_url, the password in store_password_file, and pg_hba.conf on the server"
        return StoreError(f"{place} refused the login", hint, code="store_refused")
    if code == _NO_DATABASE or _MISSING.search(words):
        return StoreError(f"{place}: there is no such database", "make it (createdb), or correct store_url")
    if code == _LATE:
        return StoreError(f"{place}: another host writes for more than {LOCK_SECONDS} s", "try again", code="busy")
    if code == _CROWDED or (code is None and any(one in words for one in _CROWDED_WORDS)):
        hint = "raise max_connections there (or the role's limit): each host needs up to 16"
        return StoreError(f"{place} has no connection left for this host", hint, code="store_away")
    if code == _NO_RIGHT:
        hint = "make the role of store_url the owner of the database (docs/fleet.md), or grant it what is missing"
        return StoreError(f"{place}: {words}", hint, code="store_refused")
    if code == _READ_ONLY:
        hint = "it is a standby, or is set to read only: point store_url at the server that takes writes"
        return StoreError(f"{place} takes no writes", hint, code="store_away")
    if code is None or code.startswith(("08", "57P")) or error.connection_invalidated:
        return StoreError(f"{place} cannot be reached: {words}", _remedy(words), code="store_away")
    return StoreError(f"{place}: {words}", "see the server's log")


def _remedy(words: str) -> str:
    """What to check if no connection was made, by the words of libpq: there is no code for that."""
    if "resolve host" in words or "translate host name" in words:
        return "check the host in store_url, and this machine's DNS"
    if "connection option" in words or "connection string" in words:
        return "correct what follows the `?` in store_url"
    return "check that the server is running, and that this host can reach it"
