"""The second act: an agent at work, daemon and agent killed with SIGKILL in mid-turn, and brought back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from rekindle.api.places import Places
from rekindle.keeper import launch
from rekindle.settings import load

SCRIPT = """say I begin with the cart.
write cart.py cart = []
stream 200 0.05 thinking
write payment.py pay = None
say Both files are there."""

Show = Callable[..., str]


def play(show: Show, say: Callable[[str], None], environment: dict[str, str], work: Path) -> bool:
    """Tell the story; whether it came out as it should."""
    places = Places(load(environment, None))
    say("An agent (the built-in scripted one, which needs no account) gets to work, in the background:")
    session = show("rekindle", "run", "--detach", SCRIPT).strip()
    folder = os.path.join(places.sessions, session, "1")
    _until(lambda: b"thinking5" in _bytes(folder))
    identity = launch.read_identity(folder)
    daemon = int(Path(places.daemon_lock).read_text())
    assert identity is not None
    say(f"It is in the middle of its turn. Daemon (pid {daemon}) and agent (pid {identity.agent.pid}) get SIGKILL.")
    os.kill(daemon, signal.SIGKILL)
    os.kill(identity.agent.pid, signal.SIGKILL)
    _until(lambda: not launch.is_alive(folder))
    say("You come back:")
    listed = show("rekindle", "ps")
    show("rekindle", "resume", session, "--explain")
    resumed = show("rekindle", "resume", session)
    _until(lambda: (work / "payment.py").exists())
    show("rekindle", "attach", session)
    told = "interrupted" in listed and "the same conversation" in resumed
    show("rekindle", "stop", "--all")
    show("rekindle", "serve", "--stop")
    return told and (work / "cart.py").exists()


def _bytes(folder: str) -> bytes:
    try:
        return Path(folder, "out").read_bytes()
    except OSError:
        return b""


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the demonstration got stuck")
        time.sleep(0.05)
