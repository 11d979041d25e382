"""The real agents over ACP, each against a mock of its model: what each needs to find, and what its model was given."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rekindle.agents.registry import AGENTS
from rekindle.core.session.history import request_of
from rekindle.core.session.state import OURS
from tests.e2e.daemon import Machine
from tests.real.damage import Lines, OpenCodeDatabase, OwnRecord
from tests.real.models.gemini import Gemini
from tests.real.models.openai import OpenAI
from tests.real.models.server import Dialect, ModelServer, Request
from tests.real.models.steps import Gate, Hang, Refuse, Reply, Use
from tests.real.stage import Stage, called

_KEY = "fake-key-of-a-test"


@dataclass(frozen=True)
class Setup:
    """What one agent needs: variables and files in its home, and how its model asks for a command."""

    program: str
    dialect: Callable[[], Dialect]
    variables: Callable[[str], Mapping[str, str]]
    files: Callable[[str], Mapping[str, str]]
    command: Callable[[str], Use]
    #: Its own record of a conversation, in its home, by its token.
    record: Callable[[Path, str], OwnRecord]
    #: How many tokens its model counts in a conversation that is nearly too long.
    nearly_full: int = Reply.input_tokens


def _codex_config(url: str) -> str:
    return f"""
model = "mock-model"
model_provider = "mock"
[analytics]
enabled = false
[features]
plugins = false
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


def _opencode_config(url: str) -> str:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mock",
        "options": {"baseURL": f"{url}/v1", "apiKey": _KEY},
        "models": {"mock-model": {"name": "Mock", "limit": {"context": 100_000, "output": 8_000}}},
    }
    return json.dumps(
        {
            "model": "mock/mock-model",
            "small_model": "mock/mock-model",
            "provider": {"mock": provider},
            "autoupdate": False,
            "share": "disabled",
            "permission": {"bash": "ask", "edit": "ask"},
        }
    )


def _shell(name: str) -> Callable[[str], Use]:
    return lambda command: Use(name, {"command": command, "description": "a command of the test"})


def _lines(pattern: str, answer_mark: bytes = b'"assistant"') -> Callable[[Path, str], OwnRecord]:
    """A file of lines below the home."""

    def find(home: Path, token: str) -> OwnRecord:
        [found] = home.glob(pattern.format(token=token))
        return Lines(found, answer_mark)

    return find


SETUPS: dict[str, Setup] = {
    "opencode": Setup(
        program="opencode",
        dialect=OpenAI,
        variables=lambda _: {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        },
        files=lambda url: {".config/opencode/opencode.json": _opencode_config(url)},
        command=_shell("bash"),
        record=lambda home, token: OpenCodeDatabase(home / ".local/share/opencode/opencode.db", token),
        nearly_full=80_000,
    ),
    "codex": Setup(
        program="codex-acp",
        dialect=OpenAI,
        variables=lambda _: {"MOCK_KEY": _KEY, "NO_BROWSER": "1"},
        files=lambda url: {".codex/config.toml": _codex_config(url)},
        command=lambda command: Use("exec_command", {"cmd": command}),
        record=_lines(".codex/sessions/*/*/*/rollout-*-{token}.jsonl"),
    ),
    "qwen": Setup(
        program="qwen",
        dialect=OpenAI,
        variables=lambda url: {
            "OPENAI_API_KEY": _KEY,
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_MODEL": "mock-model",
        },
        files=lambda _: {
            ".qwen/settings.json": json.dumps(
                {
                    "security": {"auth": {"selectedType": "openai"}},
                    "general": {"disableAutoUpdate": True},
                    "ui": {"enableFollowupSuggestions": False},
                    "memory": {
                        "enableManagedAutoMemory": False,
                        "enableManagedAutoDream": False,
                        "enableAutoSkill": False,
                    },
                }
            )
        },
        command=lambda command: Use(
            "run_shell_command", {"command": command, "description": "a command of the test", "is_background": False}
        ),
        record=_lines(".qwen/projects/*/chats/{token}.jsonl"),
    ),
    "copilot": Setup(
        program="copilot",
        dialect=OpenAI,
        variables=lambda url: {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_MODEL": "mock-model",
            "COPILOT_AUTO_UPDATE": "false",
        },
        files=lambda _: {},
        command=lambda command: Use(
            "bash", {"command": command, "description": "a command of the test", "initial_wait": 30, "mode": "sync"}
        ),
        record=_lines(".copilot/session-state/{token}/events.jsonl", b'"assistant.message"'),
    ),
    "gemini": Setup(
        program="gemini",
        dialect=Gemini,
        variables=lambda url: {
            "GEMINI_API_KEY": _KEY,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        files=lambda _: {
            ".gemini/settings.json": json.dumps(
                {
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": False},
                    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
                }
            )
        },
        command=_shell("run_shell_command"),
        record=_lines(".gemini/tmp/*/chats/session-*-{token:.8}.jsonl", b'"type":"gemini"'),
    ),
}


class AcpStage(Stage):
    """A real agent over ACP."""

    half = "the first half of a sentence"
    end = "and here it ends."

    def __init__(self, machine: Machine, model: ModelServer) -> None:
        super().__init__(machine)
        self.model = model
        self.setup = SETUPS[machine.agent]
        self.resumes_itself = AGENTS[machine.agent].native
        self.is_mended = self.resumes_itself and AGENTS[machine.agent].transcript is not None

    def speaking(self, name: str) -> str:
        return self.speaking_slowly(name)[0]

    def speaking_slowly(self, name: str) -> tuple[str, Gate]:
        step = Hang(self.half, Reply(self.end))
        self.model.when(lambda one: self._is_new(one, name), step, 1)
        return called(name), step.gate

    def commanding(self, name: str, command: str) -> str:
        use = self.setup.command(command)
        self.model.when(lambda one: self._is_new(one, name), Reply("I run it.", (use,)), 1)
        return called(name)

    def answering(self, name: str, answer: str) -> str:
        self.model.when(lambda one: self._is_new(one, name), Reply(answer))
        return called(name)

    def filling(self, name: str, answer: str) -> str:
        self.model.when(lambda one: self._is_new(one, name), Reply(answer, input_tokens=self.setup.nearly_full))
        return called(name)

    def limited(self, name: str, seconds: float, answer: str) -> str:
        reset = time.time() + seconds
        headers = {"retry-after": f"{seconds:.0f}"}
        refusal = Refuse(429, "rate_limit_exceeded", "Rate limit reached. Please try again in 5s.", headers)
        self.model.when(lambda _: time.time() < reset, refusal)  # whatever is asked, in whichever words
        self.model.when(lambda _: time.time() >= reset, Reply(answer))
        return called(name)

    def overflowing(self, name: str, answer: str) -> str:
        """Too long is a conversation that still has its first prompt word for word."""
        first = self.model.user_texts(self.model.turns()[0])[0]
        too_long = Refuse(400, "context_length_exceeded", "This model's maximum context length is 100000 tokens.")
        self.model.when(lambda one: self._is_new(one, name) and first in self.model.user_texts(one), too_long)
        self.model.when(lambda _: bool(self.model.requests_with(name)), Reply(answer))
        return called(name)

    def heard(self, session: str) -> list[str]:
        return self.model.user_texts(self.turns(session)[-1])

    def has_heard(self, session: str, name: str) -> int:
        """A prompt with the history in front of it is delivered as what it asks for."""
        return sum(request_of(text).startswith(called(name)) for text in self.heard(session))

    def remembered(self, session: str) -> list[str]:
        return self.model.assistant_texts(self.turns(session)[-1])

    def has_said(self, session: str, text: str) -> bool:
        return text in self.machine.said(session)

    def record(self, session: str) -> OwnRecord:
        return self.setup.record(self.machine.home, self.token(session))

    def turns(self, session: str) -> list[Request]:
        """What the model was asked in this session: every request has one of its prompts, or quotes it."""
        prompts = self.machine.show(session)["session"]["prompts"]
        asked = [request_of(one["text"]) for one in prompts if one["by"] != OURS]
        return [
            one
            for one in self.model.turns()
            if any(prompt in text for text in self.model.user_texts(one) for prompt in asked)
        ]

    def _is_new(self, request: Request, name: str) -> bool:
        """Whether the user's last word is the prompt itself, and the model has done nothing about it yet."""
        if self.model.tool_results(request):
            return False
        texts = [request_of(text) for text in self.model.user_texts(request)]
        return bool(texts) and texts[-1].startswith(called(name))


def prepare(agent: str, home: Path, url: str) -> dict[str, str]:
    """Write the agent's files, and return its variables."""
    setup = SETUPS[agent]
    for name, text in setup.files(url).items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return dict(setup.variables(url))
