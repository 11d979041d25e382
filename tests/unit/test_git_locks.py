"""Which lock git stumbled over, and what is said of it."""

from __future__ import annotations

import pytest

from rekindle.core.git_locks import Lock, PossibleHolder, lock_in_the_way

FOUND = [
    (b"fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process seems", "/r/.git/index.lock"),
    (
        b"fatal: cannot lock ref 'refs/heads/x': Unable to create '/r/.git/refs/heads/x.lock': File exists.",
        "/r/.git/refs/heads/x.lock",
    ),
    (b"error: could not lock config file .git/config: File exists", ".git/config.lock"),
    (b"fatal: Unable to create '/r/it's here/index.lock': File exists.", "/r/it's here/index.lock"),
    (b"fatal: Unable to create '/r/.git/index.lock': Permission denied", None),
    (b"", None),
]


@pytest.mark.parametrize(("said", "path"), FOUND)
def test_the_lock_that_git_names(said: bytes, path: str | None) -> None:
    assert lock_in_the_way(said) == path


def test_only_who_is_gone_for_sure_is_dead() -> None:
    lock = Lock("x.lock", "ada", 7200.0)
    assert lock.is_dead and lock.may_go and "x.lock (2 hours old, created by ada; no process" in lock.sentence
    held = Lock("x.lock", "ada", -5.0, holders=(PossibleHolder(7, 1, "git", opens=True),))
    assert not held.is_dead and not held.may_go and "dated in the future" in held.sentence
    assert "git (pid 7) has it open" in held.sentence
    unknown = Lock("x.lock", "ada", 1.0, provable=False)
    assert not unknown.is_dead and unknown.may_go
    busy = Lock("x.lock", "ada", 1.0, stays=False)
    assert not busy.is_dead and not busy.may_go
