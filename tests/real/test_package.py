"""The real agents are pinned to the byte, and the lock is good behind any mirror of the registry."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDERS = [HERE, HERE / "newest"]


@pytest.mark.parametrize("folder", FOLDERS, ids=["agents", "newest"])
def test_every_agent_is_pinned_to_one_version(folder: Path) -> None:
    package = json.loads((folder / "package.json").read_text())
    wanted = package["dependencies"] | package.get("optionalDependencies", {})
    assert [version for version in wanted.values() if not re.fullmatch(r"\d+\.\d+\.\d+(-\w+)?", version)] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=["agents", "newest"])
def test_the_lock_has_a_hash_for_every_package_and_names_no_registry(folder: Path) -> None:
    text = (folder / "package-lock.json").read_text()
    packages = json.loads(text)["packages"]
    assert '"resolved"' not in text
    assert [name for name, one in packages.items() if name and "integrity" not in one] == []
