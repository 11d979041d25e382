"""Only a `nc` that can call a unix socket, and stops waiting for one that keeps silent, is used."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from rekindle.adapters.machine import netcat
from tests.e2e.test_hook_door import NC

PING, HUSH = b"ping\n", b"hush\n"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if await reader.readline() == PING:
        writer.write(b"ok\n")
    else:
        with contextlib.suppress(ConnectionError):
            await reader.read()
    writer.close()


async def _tried(path: str) -> bool:
    server = await asyncio.start_unix_server(_serve, path)
    try:
        return await netcat.can_call(path, PING, HUSH)
    finally:
        server.close()


def tried(nc: str | None, monkeypatch: pytest.MonkeyPatch) -> bool:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        if nc is not None:
            Path(folder, "nc").write_text(nc)
            Path(folder, "nc").chmod(0o755)
        monkeypatch.setenv("PATH", folder)
        return asyncio.run(_tried(os.path.join(folder, "s")))


def test_one_that_can_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried(NC, monkeypatch)


@pytest.mark.skipif(shutil.which("nc") is None, reason="nc is not installed")
def test_that_of_this_machine_can_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("nc")
    assert tried(f'#!/bin/sh\nexec {real} "$@"\n', monkeypatch) in (True, False)


@pytest.mark.parametrize(
    "nc",
    [
        None,
        "#!/bin/sh\necho nc: invalid option -- U >&2; exit 1\n",
        "#!/bin/sh\necho ok\n",
        f"#!{sys.executable}\n" + NC.partition("\n")[2].replace("line.settimeout(1)", "line.settimeout(None)"),
        "#!/nowhere/at/all\n",
    ],
    ids=["none", "without -U", "one that answers by itself", "one that waits for ever", "one that cannot start"],
)
def test_one_that_cannot_is_not_used(nc: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcat, "_SECONDS", 2.0)
    assert not tried(nc, monkeypatch)
