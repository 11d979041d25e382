"""All that the first store with complete facts has. Never changed again: what comes later is a revision of its own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = None
branch_labels = None
depends_on = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _make_facts_and_sessions()
    _make_parts_of_sessions()
    _make_outbox()


def _make_facts_and_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, nullable=False),
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
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_attended", "sessions", ["attended"])
    op.create_table(
        "facts",
        sa.Column("seq", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_facts"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_facts_stream_subject_seq", "facts", ["stream", "subject", "seq"])


def _make_parts_of_sessions() -> None:
    op.create_table(
        "attempts",
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
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
        sa.PrimaryKeyConstraint("session", "number", name="pk_attempts"),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_attempts_session_sessions"),
    )
    op.create_table(
        "prompts",
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("session", "position", name="pk_prompts"),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_prompts_session_sessions"),
    )
    op.create_table(
        "receipts",
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("unknown", sa.Text, nullable=False),
        sa.Column("repeated", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session", "attempt", name="pk_receipts"),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_receipts_session_sessions"),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", "session", name="pk_tasks"),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name="fk_tasks_session_sessions"),
    )


def _make_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("position", _SEQUENCE, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("repository", sa.Text, nullable=False),
        sa.Column("feature", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=True),
        sa.Column("settled", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("position", name="pk_outbox"),
        sa.UniqueConstraint("id", name="uq_outbox_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_settled_position", "outbox", ["settled", "position"])


def downgrade() -> None:
    raise NotImplementedError("a store is never made older: set the file aside instead")
