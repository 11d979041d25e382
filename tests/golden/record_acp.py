"""Records what the real agents say over ACP, against mock models: `python -m tests.golden.record_acp [AGENT…]`.

Needs the agents of tests/real and a machine that permits a network namespace; run it again for new versions, and look
at the difference. Lists of commands and options, which are long and change often, are left out.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rekindle.agents.base import observation as o
from rekindle.agents.registry import AGENTS
from tests.real import guard
from tests.real.acp_stage import SETUPS, prepare
from tests.real.acp_talk import AcpTalk
from tests.real.models.server import ModelServer
from tests.real.models.steps import Hang, Refuse, Reply
from tests.real.programs import program

FOLDER = Path(__file__).parent / "acp"
UNKNOWN = "0b9f4c1e-6d0a-4a52-9c1d-3f8e2b7a6c5d"
ERRORS = {
    "rate_limited": Refuse(429, "rate_limit_exceeded", "Rate limit reached. Please try again in 20s."),
    "unauthorized": Refuse(401, "invalid_api_key", "Incorrect API key provided."),
    "too_long": Refuse(400, "context_length_exceeded", "This model's maximum context length is 100000 tokens."),
    "no_credit": Refuse(429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
}
_LONG = ("available_commands_update", "config_option_update", "usage_update", "session_info_update")
_MOST = 4000
_HERE = Path(guard.__file__).parent


class Place:
    """A home and a folder for one agent, and the mock of its model."""

    def __init__(self, agent: str, folder: Path, model: ModelServer) -> None:
        self.agent, self.model = agent, model
        self.home, self.work = folder / "home", folder / "work"
        for one in (self.home, self.work, folder / "bin"):
            one.mkdir()
        (folder / "bin" / SETUPS[agent].program).symlink_to(program(agent))
        path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
        basic = {"HOME": str(self.home), "LANG": "C.UTF-8", "PATH": path}
        self.environment = {**basic, **prepare(agent, self.home, model.url)}

    @contextmanager
    def talk(self, case: str | None, generation: int = 1) -> Iterator[AcpTalk]:
        """One process of the agent; what was said is written down if the case has a name."""
        with AcpTalk(AGENTS[self.agent], self.work, self.environment, generation) as talk:
            yield talk
        if case is not None:
            self._write(f"{case}.sent.jsonl", talk.sent)
            self._write(f"{case}.received.jsonl", talk.received)

    def _write(self, name: str, lines: list[bytes]) -> None:
        folder = FOLDER / self.agent
        folder.mkdir(parents=True, exist_ok=True)
        kept = [text for line in lines if (text := self._tidy(line)) is not None]
        (folder / name).write_text("".join(f"{text}\n" for text in kept))

    def _tidy(self, line: bytes) -> str | None:
        text = line.decode(errors="replace").replace(str(self.work.parent), "/place").replace(str(_HERE), "/agents")
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if _kind(value) in _LONG:
            return None
        if isinstance(value.get("result"), dict):
            for name in ("modes", "models", "configOptions", "_meta"):
                if len(json.dumps(value["result"].get(name))) > _MOST:
                    del value["result"][name]
        return json.dumps(value, ensure_ascii=False)


def _kind(value: Any) -> str:
    return str(value.get("params", {}).get("update", {}).get("sessionUpdate")) if isinstance(value, dict) else ""


def record(place: Place) -> None:
    """All cases of one agent."""
    with place.talk("begun") as talk:
        opened = talk.open()
        assert isinstance(opened, o.ConversationOpened), opened
        place.model.then(Reply("the first answer"))
        talk.prompt("p1", "the first question")
        place.model.then(Hang("half of the second"))
        talk.say(talk.wire.say("p2", "the second question"))
        talk.until(lambda one: isinstance(one, o.Said) and "half" in one.text)
        talk.kill()
    with place.talk("resumed", 2) as talk:
        print(place.agent, "resumed", talk.open(opened.token))
        talk.prompt("p3", "the third question")
    with place.talk("unknown") as talk:
        print(place.agent, "unknown", talk.open(UNKNOWN))
    for name, refusal in ERRORS.items():
        _each(place, name, refusal)


def _each(place: Place, name: str, refusal: Refuse) -> None:
    rule = place.model.when(lambda _: True, refusal)
    try:
        with place.talk(f"error_{name}") as talk:
            talk.open()
            print(place.agent, name, talk.prompt("p1", "a question"))
    except AssertionError as error:
        print(place.agent, name, "NOT RECORDED", error)
    finally:
        place.model.withdraw(rule)


def main(agents: list[str]) -> None:
    assert guard.isolate(), "this machine permits no network namespace"
    for agent in agents or list(SETUPS):
        with (
            tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as folder,
            ModelServer(SETUPS[agent].dialect()) as model,
        ):
            record(Place(agent, Path(folder), model))


if __name__ == "__main__":
    main(sys.argv[1:])
