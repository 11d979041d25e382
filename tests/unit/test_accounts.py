"""Sessions wait in one queue if they wait for the same limit of the same account."""

from __future__ import annotations

from rekindle.agents.base.kind import AccountSigns
from rekindle.agents.registry import AGENTS
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.recovery import limit_of
from rekindle.core.session.state import Session

SIGNS = AccountSigns(("ANTHROPIC_API_KEY",))
KEY = "sk-ant-api03-" + "AbCdEfGhIj" * 4


def _session(account: str) -> Session:
    found: Session | None = None
    for fact in (
        f.Created(at=1, session="s", agent="claude", cwd="/w", title="t"),
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.Launched(at=3, attempt=1, folder="/k", pid=7, account=account),
    ):
        found = evolve(found, fact)
    assert found is not None
    return found


def test_the_mark_of_an_account_shows_neither_its_key_nor_who_has_none() -> None:
    mark = SIGNS.mark({"ANTHROPIC_API_KEY": KEY, "HOME": "/h", "PATH": "/bin"})
    assert mark and len(mark) == 8 and mark not in KEY
    assert mark == SIGNS.mark({"PATH": "/elsewhere", "ANTHROPIC_API_KEY": KEY})
    assert mark != SIGNS.mark({"ANTHROPIC_API_KEY": KEY + "x"})
    assert SIGNS.mark({"HOME": "/h"}) == SIGNS.mark({"ANTHROPIC_API_KEY": ""}) == ""


def test_a_folder_for_settings_chooses_an_account_for_every_agent() -> None:
    for kind in AGENTS.values():
        marks = {kind.account.mark({"CLAUDE_CONFIG_DIR": folder, "CODEX_HOME": folder}) for folder in ("/a", "/b")}
        assert len(marks) == 2


def test_another_account_has_limits_of_its_own() -> None:
    failed = f.TurnFailed(
        at=10, attempt=1, prompt="p", error="rate_limited", message="m", retry_at=100.0, limit="five hours"
    )
    names = [limit_of(_session(account), failed) for account in ("", "", "aa", "bb", "aa")]
    assert names[0] == names[1] == "claude:five hours"
    assert names[2] == names[4] and len(set(names)) == 3
