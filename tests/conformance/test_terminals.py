"""The promises of agents' terminals. Nobody has a fake of them, so tmux alone is held to them."""

from __future__ import annotations

import asyncio
import shutil
import subprocess

import pytest

from rekindle.adapters.keepers.session_terminals import SessionTerminals
from rekindle.ports.terminals import AgentTerminals, NoTerminal
from tests.conformance.keepers_stage import SESSION, RealStage, real_stage


@pytest.mark.skipif(shutil.which("tmux") is None, reason="NOT TESTED: terminals need tmux")
def test_a_terminal_is_open_while_its_agent_lives_and_shows_what_it_says() -> None:
    with real_stage(grace=1.0) as stage:
        terminals: AgentTerminals = SessionTerminals(str(stage.root / "run" / "tmux"), str(stage.root / "sessions"))
        terminals.require()
        assert not terminals.is_open(SESSION)
        with pytest.raises(NoTerminal):
            terminals.screen(SESSION)
        asyncio.run(_played(stage, terminals))
        assert not terminals.is_open(SESSION)


async def _played(stage: RealStage, terminals: AgentTerminals) -> None:
    try:
        await stage.keepers.launch(stage.order(terminal=True))
        assert terminals.is_open(SESSION)
        assert not terminals.is_open("other")
        assert await stage.keepers.connect(SESSION, 1, 1)
        await stage.keepers.send(SESSION, 1, "a", b"hello there\n")
        await stage.until(lambda: "hello there" in terminals.screen(SESSION))
        assert "hello there" in terminals.screen(SESSION, history=10)
        listed = subprocess.run(
            [*terminals.attach(SESSION)[:3], "list-sessions"], capture_output=True, text=True, check=True
        )
        assert SESSION in listed.stdout, "whoever attaches comes to the same server"
        await stage.keepers.end(SESSION, 1, "enough")
        await stage.ended()
    finally:
        await stage.hang_up()


def test_where_no_terminal_can_be_opened_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoTerminal) as raised:
        SessionTerminals("/nowhere/tmux", "/nowhere").require()
    assert raised.value.hint
