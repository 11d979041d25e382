"""The tables. `facts` and `sessions.body` are the truth; the other columns and tables are made from them.

They are there for those who look with SQL, for a listing and for a fleet; the store itself never reads them back.
Every change here needs a revision in `migrations/versions` (a test compares the two).
"""

from __future__ import annotations

import sqlalchemy as sa

#: The newest revision, so that opening a store that is up to date does not have to load Alembic.
HEAD = "0002"
#: Stores from before facts were complete. Folding their facts would need the rules of that time.
OLDER = frozenset({"0001"})

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: 64 bits everywhere; SQLite numbers rows by itself only in a column of exactly this type.
_SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _session(*, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column("session", sa.Text, sa.ForeignKey("sessions.id"), primary_key=primary_key, nullable=False)


sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("cwd", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("feature", sa.Text),
    sa.Column("task", sa.Text),
    sa.Column("token", sa.Text),
    sa.Column("token_usable", sa.Boolean, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
    sa.Column("attended", sa.Boolean, nullable=False),
    sa.Column("if_alive", sa.Text, nullable=False),
    sa.Column("if_dead", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index(None, "attended"),
)

#: `stream` is one of `core.streams`; the subject of the stream of sessions is a session's id.
facts = sa.Table(
    "facts",
    metadata,
    sa.Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("stream", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index(None, "stream", "subject", "seq"),
    sqlite_autoincrement=True,
)

#: `folder` is where the keeper is found (its socket stands in it). What no adapter knows yet is null.
attempts = sa.Table(
    "attempts",
    metadata,
    _session(primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("agent_execution_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("how", sa.Text, nullable=False),
    sa.Column("resume_token", sa.Text),
    sa.Column("last_message_uuid", sa.Text),
    sa.Column("container_id", sa.Text),
    sa.Column("worktree_id", sa.Text),
    sa.Column("worktree_path", sa.Text),
    sa.Column("worktree_branch", sa.Text),
    sa.Column("folder", sa.Text, nullable=False),
    sa.Column("pid", sa.BigInteger, nullable=False),
    sa.Column("how_ended", sa.Text, nullable=False),
    sa.Column("started_at", sa.Double),
    sa.Column("ended_at", sa.Double),
)

prompts = sa.Table(
    "prompts",
    metadata,
    _session(primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)

#: `unknown` and `repeated` are JSON lists of sentences.
receipts = sa.Table(
    "receipts",
    metadata,
    _session(primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("unknown", sa.Text, nullable=False),
    sa.Column("repeated", sa.Text, nullable=False),
)

#: A task can have several sessions, one after the other.
tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _session(primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
)

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("position", _SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("repository", sa.Text, nullable=False),
    sa.Column("feature", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("session", sa.Text, nullable=False),
    sa.Column("run", sa.Text, nullable=True),
    sa.Column("settled", sa.Boolean, nullable=False),
    sa.Index(None, "settled", "position"),
    sqlite_autoincrement=True,
)

#: Alembic's own table, as it makes it: it is not part of the metadata, which Alembic compares with a store.
_REVISIONS = """
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""


def make(connection: sa.Connection) -> None:
    """Make everything in an empty database, inside the caller's transaction, and note which revision that is."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(sa.text(_REVISIONS))
    connection.execute(sa.text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
