"""A session of a real agent on another machine: its own record goes along, and the conversation goes on there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.acp_stage import AcpStage, prepare
from tests.real.stage import called, git

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("how", [(), ("--as-new",)])
def test_codex_goes_on_with_its_conversation_on_another_machine(
    stand_up: Callable[[str], AcpStage], folder: Path, how: tuple[str, ...]
) -> None:
    stage = stand_up("codex")
    session = stage.begin(stage.answering("the first thing", "answer one"))
    stage.machine.until_status(session, "waiting")
    stage.machine.ok("stop", session, "--sleep")
    done = stage.machine.run("export", session, "-o", str(folder / "moving.tar.gz"))
    assert done.returncode == 0
    assert "not found" not in done.stderr, "its record is there"
    home, work = folder / "other-home", folder / "other-work"
    home.mkdir()
    git(folder, "clone", "-q", str(stage.machine.work), str(work))
    prepare("codex", home, stage.model.url)
    there = replace(stage.machine, home=home, work=work)
    try:
        told = json.loads(there.ok("import", str(folder / "moving.tar.gz"), "--cwd", str(work), "--json", *how))
        assert not told["notes"]
        session, stage.machine = told["id"], there
        there.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
        receipt = there.receipt(session)
        assert receipt["kind"] == "same", receipt
        assert stage.heard(session)[-2:] == [called("the first thing"), called("the second thing")]
        assert "answer one" in stage.remembered(session)
    finally:
        there.clean_up()
