"""A secret in the address of a repository is told to nobody: what fails is told to the fleet's engine, and logged."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.off_host import clones
from rekindle.ports.errors import RekindleError


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://alice:s3cr3tw0rd@127.0.0.1:1/{name}.git", "http://…@127.0.0.1:1/work.git"),
        ("https://s3cr3tw0rd@127.0.0.1:1/{name}.git", "https://…@127.0.0.1:1/work.git"),
        ("/nowhere/{name}.git", "/nowhere/work.git"),
    ],
)
def test_an_address_that_cannot_be_fetched_from_is_told_without_its_secret(
    tmp_path: Path, address: str, told: str
) -> None:
    with pytest.raises(RekindleError) as failed:
        clones.ready(str(tmp_path / "clones"), "work", [f"*={address}"])
    assert told in failed.value.message
    assert "s3cr3tw0rd" not in failed.value.message
