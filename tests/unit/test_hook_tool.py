"""Only a `perl` that can call the daemon, and hands on what the daemon does not confirm, is used."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from pathlib import Path

import pytest

from rekindle.adapters.machine import hook_script

_PERL = hook_script.PERL


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    first = await reader.readline()
    if b" ping " in first:
        writer.write(b"ok pong\n")
    else:
        with contextlib.suppress(ConnectionError):
            await reader.read()
    writer.close()


async def _tried(path: str) -> bool:
    server = await asyncio.start_unix_server(_serve, path)
    try:
        return await hook_script.can_call(path, "ping", "pong", "hush")
    finally:
        server.close()


def tried(perl: str | None, monkeypatch: pytest.MonkeyPatch) -> bool:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        there = Path(folder, "perl")
        if perl is not None:
            there.write_text(perl)
            there.chmod(0o755)
        monkeypatch.setattr(hook_script, "PERL", str(there))
        return asyncio.run(_tried(os.path.join(folder, "s")))


@pytest.mark.skipif(not os.access(_PERL, os.X_OK), reason="perl is not installed")
def test_one_that_can_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERL5OPT", "-Mno::such::module")
    assert tried(f'#!/bin/sh\nexec {_PERL} "$@"\n', monkeypatch)


@pytest.mark.parametrize(
    "perl",
    [
        None,
        "#!/bin/sh\necho perl: no such library >&2; exit 127\n",
        "#!/bin/sh\nexit 0\n",
        "#!/bin/sh\nprintf pong\n",
        f'#!/bin/sh\n{_PERL} "$@"; exit 3\n',
        "#!/bin/sh\nexec sleep 60\n",
        "#!/nowhere/at/all\n",
    ],
    ids=["none", "fails", "does nothing", "answers by itself", "fails in the end", "waits for ever", "cannot start"],
)
def test_one_that_cannot_is_not_used(perl: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_script, "_SECONDS", 2.0)
    assert not tried(perl, monkeypatch)


def test_another_one_in_its_place_is_told_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "perl"
    monkeypatch.setattr(hook_script, "PERL", str(there))
    seen = [hook_script.as_installed()]
    there.write_text("one")
    seen.append(hook_script.as_installed())
    (tmp_path / "new").write_text("two")
    os.replace(tmp_path / "new", there)
    seen.append(hook_script.as_installed())
    assert seen[0] is None and len(set(seen)) == 3
    assert hook_script.as_installed() == seen[2]
