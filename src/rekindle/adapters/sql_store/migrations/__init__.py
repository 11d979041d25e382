"""Revisions of the schema (Alembic), applied from inside the program: there is no ini file to be found or lost."""

from __future__ import annotations

import os

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError


def upgrade(connection: sa.Connection) -> None:
    """Bring the schema up to date, inside the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def is_known(revision: str) -> bool:
    """Whether this version has the revision."""
    try:
        return ScriptDirectory.from_config(_config()).get_revision(revision) is not None
    except CommandError:
        return False


def head() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", os.path.dirname(__file__).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
