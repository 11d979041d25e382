"""What somebody reads who cannot reach the shared store: the server's reason, and the setting to check."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from rekindle.adapters.sql_store.postgres import explain, parsed, shown_place


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ('connection failed: FATAL:  database "nodb" does not exist', "createdb"),
        ("failed to resolve host 'db': [Errno -2] Name or service not known", "the host in store_url"),
        ("connection failed: server does not support SSL, but SSL was required", "TLS on at the server"),
        ('invalid connection option "nonsense"', "what follows the `?`"),
        ("connection failed: Connection refused", "that the server is running"),
        ('connection failed: FATAL:  password authentication failed for user "x"', "store_password_file"),
    ],
)
def test_each_refusal_names_what_to_check(words: str, remedy: str) -> None:
    assert remedy in explain(sa.exc.OperationalError("", None, Exception(words)), "postgresql://db/x").hint


def test_a_place_is_shown_without_any_sign_of_a_password() -> None:
    url = parsed("postgresql://me@db:5432/x?sslmode=require", "hidden")
    assert shown_place(url) == "postgresql://me@db:5432/x"
