"""What is installed has the page: it is built into wheel and sdist."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(280)
ROOT = Path(__file__).parents[2]


def built(kind: str, folder: Path) -> Path:
    """The package, built as pip builds it."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.iterdir())


def test_a_built_wheel_has_the_page_and_everything_that_it_loads(tmp_path: Path) -> None:
    with zipfile.ZipFile(built("wheel", tmp_path)) as wheel:
        names = set(wheel.namelist())
        markup = wheel.read("rekindle/page/index.html").decode()
    loaded = [part.split('"')[0] for part in markup.replace('src="', 'href="').split('href="')[1:]]
    assert len(loaded) >= 3
    assert {f"rekindle/page{path}" for path in loaded} <= names


def test_an_sdist_has_the_page_and_its_sources(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"src/rekindle/page/index.html", "web/src/main.tsx", "web/package-lock.json", "hatch_build.py"} <= names
    assert not [name for name in names if "node_modules" in name]


def test_the_lock_file_names_no_registry() -> None:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    assert packages
    assert [name for name, one in packages.items() if "resolved" in one] == []
    assert [name for name, one in packages.items() if name and "integrity" not in one] == []


def test_the_page_loads_nothing_from_elsewhere_and_has_no_inline_script() -> None:
    markup = (ROOT / "src" / "rekindle" / "page" / "index.html").read_text()
    assert "http" not in markup.replace("http-equiv", "")
    assert "<style" not in markup
    assert all(part.startswith((' type="module" crossorigin src="/assets/',)) for part in markup.split("<script")[1:])
