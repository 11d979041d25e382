"""Alembic runs this file. The connection, and the transaction around everything, are the caller's."""

from __future__ import annotations

from alembic import context

from rekindle.adapters.sql_store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
