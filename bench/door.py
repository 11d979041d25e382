"""The HTTP door beside the bare socket: how late it tells of what agents did, and what the daemon uses meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import shutil
import threading
import time
from pathlib import Path
from statistics import quantiles

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from bench.measured import Disagreement, Measured, rounded
from bench.served import Served, home_environment, processor_seconds, pss, served
from bench.sessions import idle_home
from bench.stage import Stage
from bench.streaming import Feed, last_word

_LIVE, _IDLE = 50, 950
_SECONDS, _WORDS_A_SECOND = 20.0, 10


def lateness(stage: Stage) -> Measured:
    """From the last byte of each of 50 agents to the WebSocket, beside 950 idle sessions."""
    live, idle, seconds = (_LIVE, _IDLE, _SECONDS) if stage.sizes.heavy > 2 else (2, 10, 3.0)
    home = stage.folder / f"home-door-{live}"
    shutil.copytree(idle_home(stage, idle), home)
    environment = home_environment(stage, str(home))
    with served(stage, str(home)) as daemon:
        door = daemon.ask(op="http_open")
        before = pss(daemon.pid)
        feed = Feed(daemon)
        page = _Page(door["url"], Path(door["secret_file"]).read_text().strip())
        names = [secrets.token_hex(5) for _ in range(live)]
        for name in names:
            _begin(daemon, name, str(home), environment)
        feed.until("turn_finished", names, 1)
        used, begun = processor_seconds(daemon.pid), time.monotonic()
        script = f"stream {int(seconds * _WORDS_A_SECOND)} {1 / _WORDS_A_SECOND:g} word"
        for name in names:
            daemon.ask(op="send", session=name, text=script, prompt_id="p2")
        feed.until("turn_finished", names, 2)
        page.until(names, 2)
        share = (processor_seconds(daemon.pid) - used) / (time.monotonic() - begun)
        grown = pss(daemon.pid) - before
        written = {name: last_word(environment, name) for name in names}
        for name in names:
            daemon.ask(op="stop", session=name, to="cancelled", by="bench")
    bare = [feed.told[name] - written[name] for name in names]
    told = [page.told[name] - written[name] for name in names]
    facts = {
        "live": live,
        "idle": idle,
        "WebSocket, p99 ms": rounded(1000 * quantiles([*told, *told], n=100)[98]),
        "socket, p99 ms": rounded(1000 * quantiles([*bare, *bare], n=100)[98]),
        "daemon, share of a core": rounded(share),
        "daemon, bytes more with the door in use": rounded(grown),
        "pieces of text pushed": page.pieces,
    }
    return Measured(bare, told, facts)


def _begin(daemon: Served, name: str, home: str, environment: dict[str, str]) -> None:
    about = {"session": name, "prompt_id": "p1", "agent": "scripted", "cwd": home, "prompt": "say hello"}
    daemon.ask(op="run", env=environment, **about)


class _Page:
    """A client of the WebSocket, in a thread: when it was told of the end of which session's turn."""

    def __init__(self, url: str, secret: str) -> None:
        self.told: dict[str, float] = {}
        self.pieces = 0
        self._count: dict[str, int] = {}
        self._changed = threading.Condition()
        self._url = url.replace("http", "ws", 1) + "api/v1/ws"
        self._secret = secret
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        with contextlib.suppress(ConnectionClosed):  # the daemon is stopped at the end
            asyncio.run(self._read())

    async def _read(self) -> None:
        async with connect(self._url, max_size=None) as socket:
            await socket.send(json.dumps({"type": "auth", "secret": self._secret}))
            await socket.send(json.dumps({"id": 1, "action": "subscribe", "payload": {}}))
            async for text in socket:
                now, one = time.time(), json.loads(text)
                if one.get("event") == "task.session.message":
                    self.pieces += len(one["payload"]["entries"])
                fact = one.get("payload", {}).get("fact") or {}
                if fact.get("fact") == "turn_finished" and not one.get("more"):
                    with self._changed:
                        self.told[fact["session"]] = now
                        self._count[fact["session"]] = self._count.get(fact["session"], 0) + 1
                        self._changed.notify_all()

    def until(self, sessions: list[str], times: int) -> None:
        """Wait until it was told so often of each session."""
        with self._changed:
            if not self._changed.wait_for(lambda: all(self._count.get(one, 0) >= times for one in sessions), 120.0):
                raise Disagreement(f"the WebSocket did not tell of turn {times} of all {len(sessions)} agents")
