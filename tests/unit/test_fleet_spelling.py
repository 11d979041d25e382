"""Settings of a fleet that cannot be right are refused when they are set; a password is never shown."""

from __future__ import annotations

import pytest

from rekindle.core.setting_keys import fleet_keys

KEYS = {key.name: key for key in fleet_keys()}


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "store_url",
            [
                "postgresql://me@db.example.org/rekindle?sslmode=verify-full&sslrootcert=/etc/ssl/db.pem",
                "postgresql://me@/rekindle?host=/run/postgresql&port=5433",
                "postgres://[::1]:5432/rekindle",
            ],
            ["sqlite:///x", "postgresql://me:secret@db/rekindle", "postgresql://db/rekindle?password=secret", "db"],
        ),
        ("fleet_host", ["vm-1.example.org"], ["a b", "", "-a"]),
        ("fleet_blobs", ["postgresql", "/srv/mount"], ["mount", "s3://bucket"]),
        (
            "fleet_repositories",
            ["*=ssh://git@example.org/{name}.git", "a=/x b=/y"],
            ["nonsense", "=x", "a=", "a='", "a=https://u:pw@h/x", "a=https://token@h/x", "a=ssh://u:pw@h/x"],
        ),
        ("fleet_labels", ["gpu", "gpu big-memory", "account:work"], ["GPU", "a/b", "memory:16g", "account:", "team:a"]),
        ("fleet_heartbeat", ["5s", "30s", "1h"], ["1s", "2h", "soon"]),
        ("temporal_address", ["temporal.example.org:7233", "127.0.0.1:1", "[::1]:7233"], ["12", "host", "http://h:1"]),
    ],
)
def test_values(name: str, good: list[str], bad: list[str]) -> None:
    assert [one for one in good if not KEYS[name].is_valid(one)] == []
    assert [one for one in bad if KEYS[name].is_valid(one)] == []
