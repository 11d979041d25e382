"""One drill for every agent: what a scenario asks of an agent, and what the agent's own side has on record.

A scenario says "an agent that is in the middle of a sentence"; a stage knows how to bring its agent there and what its
model was given. For Claude Code that record is the mock model's; the scripted agent is its own model, so its
transcript is the record.
"""

from __future__ import annotations

import json
import os
import subprocess
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.e2e.daemon import Machine, until
from tests.real.damage import Lines, OwnRecord
from tests.real.models.server import ModelServer, Request
from tests.real.models.steps import Gate, Hang, Limit, Refuse, Reply, Use


class Stage(ABC):
    """An agent on a machine. Each of the first five arranges something and returns the prompt that sets it off."""

    #: What the agent is sure to have said when it has come to the middle of its sentence.
    half: str
    #: What it says at the end of a sentence that was not cut.
    end: str
    #: Whether it takes up its conversation from its own record; else a new one is told the history.
    resumes_itself = True
    #: Whether rekindle can put its own record back; else the history is told to a new conversation.
    is_mended = True

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @abstractmethod
    def speaking(self, name: str) -> str:
        """It says `half` and does not come to an end."""

    @abstractmethod
    def speaking_slowly(self, name: str) -> tuple[str, Gate]:
        """It says `half` and, when the gate is opened or after a while, `end`."""

    @abstractmethod
    def commanding(self, name: str, command: str) -> str:
        """It runs a command as a tool."""

    @abstractmethod
    def answering(self, name: str, answer: str) -> str:
        """It says something and is done."""

    def filling(self, name: str, answer: str) -> str:
        """The same; the conversation is then nearly as long as its model can take."""
        return self.answering(name, answer)

    @abstractmethod
    def limited(self, name: str, seconds: float, answer: str) -> str:
        """Its model refuses it for that long; it would then give an answer."""

    @abstractmethod
    def overflowing(self, name: str, answer: str) -> str:
        """The conversation has become too long for its model; in a shorter one it would give an answer."""

    @abstractmethod
    def heard(self, session: str) -> list[str]:
        """What the model was given as the user's words, in the conversation as it is now."""

    @abstractmethod
    def remembered(self, session: str) -> list[str]:
        """What the model was given as its own words."""

    @abstractmethod
    def has_said(self, session: str, text: str) -> bool:
        """Whether the agent itself has said it, and not only its prompt."""

    @abstractmethod
    def record(self, session: str) -> OwnRecord:
        """The agent's own record of the conversation, to be damaged."""

    def begin(self, prompt: str, *options: str) -> str:
        """A session that works on its own; every permission is given."""
        return self.machine.begin(prompt, options=("--permission", "all", *options))

    def until_said(self, session: str, text: str) -> None:
        """Wait until the agent has said it, and is done."""
        until(lambda: self.has_said(session, text), f"{text!r} from {session}")
        self.machine.until_status(session, "waiting")

    def until_half_said(self, session: str, name: str) -> None:
        """Wait until the agent is in the middle of its sentence, and its own record has the prompt."""
        self.machine.until_said(session, self.half)
        self.until_recorded(session, called(name))

    def until_recorded(self, session: str, text: str) -> None:  # noqa: B027
        """Wait until the agent's own record has it, where that comes a moment after it was said."""

    def token(self, session: str) -> str:
        return str(self.machine.show(session)["session"]["token"])

    def has_heard(self, session: str, name: str) -> int:
        """In how many of the user's messages a prompt was delivered. A quotation of it is no delivery."""
        return sum(text.startswith(called(name)) for text in self.heard(session))

    def was_told(self, session: str, text: str) -> bool:
        return any(text in said for said in self.heard(session))

    def knows_answers(self, session: str, *answers: str) -> bool:
        """Whether the model has what it answered before: as its own words, or told in the history."""
        if set(answers) <= {text.strip() for text in self.remembered(session)}:
            return True
        return all(self.was_told(session, answer) for answer in answers)


def git(work: Path, *words: str) -> str:
    """What a person does in the repository that the agent works in."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(work.parent / "home")}
    done = subprocess.run(["git", *who, *words], cwd=work, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def called(name: str) -> str:
    """How every prompt begins, so that it can be told from any other."""
    return f"This is about {name}."


class ScriptedStage(Stage):
    """The scripted agent does what its prompt says, and is its own model."""

    half = "word2 word3"
    end = "the sentence is over"

    def speaking(self, name: str) -> str:
        return f"{called(name)}\nstream 5000 0.05 word"

    def speaking_slowly(self, name: str) -> tuple[str, Gate]:
        return f"{called(name)}\nstream 60 0.05 word\nsay {self.end}", Gate()

    def commanding(self, name: str, command: str) -> str:
        return f"{called(name)}\nrun {command}"

    def answering(self, name: str, answer: str) -> str:
        return f"{called(name)}\nsay {answer}"

    def limited(self, name: str, seconds: float, answer: str) -> str:
        return f"{called(name)}\nfail rate_limited {seconds:g}\nsay {answer}"

    def overflowing(self, name: str, answer: str) -> str:
        return f"{called(name)}\noverflow\nsay {answer}"

    def heard(self, session: str) -> list[str]:
        return [record["text"] for record in self._records(session) if record["kind"] == "user"]

    def remembered(self, session: str) -> list[str]:
        return [record["text"] for record in self._records(session) if record["kind"] == "assistant"]

    def has_said(self, session: str, text: str) -> bool:
        return text in self.remembered(session)

    def transcript(self, session: str) -> Path:
        return self.machine.home / ".local/state/rekindle/scripted" / f"{self.token(session)}.jsonl"

    def record(self, session: str) -> OwnRecord:
        return Lines(self.transcript(session))

    def _records(self, session: str) -> list[dict[str, Any]]:
        transcript = self.transcript(session)
        lines = transcript.read_bytes().splitlines() if transcript.exists() else []
        return [record for line in lines if isinstance(record := _parsed(line), dict)]


class ClaudeStage(Stage):
    """The real Claude Code against the mock model."""

    half = "the first half of a sentence"
    end = "and here it ends."

    def __init__(self, machine: Machine, model: ModelServer) -> None:
        super().__init__(machine)
        self.model = model

    def retrying(self, times: int) -> None:
        """From now on the agent itself asks a model that refuses only that often again."""
        more = {**self.machine.variables, "CLAUDE_CODE_MAX_RETRIES": str(times)}
        self.machine = replace(self.machine, variables=more)

    def speaking(self, name: str) -> str:
        return self.speaking_slowly(name)[0]

    def speaking_slowly(self, name: str) -> tuple[str, Gate]:
        step = Hang(self.half, Reply(self.end))
        self.model.when(lambda one: self._is_new(one, name), step, 1)
        return called(name), step.gate

    def commanding(self, name: str, command: str) -> str:
        use = Use("Bash", {"command": command, "description": "a command of the test"})
        self.model.when(lambda one: self._is_new(one, name), Reply("I run it.", (use,)), 1)
        return called(name)

    def answering(self, name: str, answer: str) -> str:
        self.model.when(lambda one: self._is_new(one, name), Reply(answer))
        return called(name)

    def limited(self, name: str, seconds: float, answer: str) -> str:
        limit = Limit(seconds)
        self.model.when(lambda one: self._is_new(one, name) and limit.holds(one), limit.step)
        self.model.when(lambda _: limit.reset is not None, Reply(answer))
        return called(name)

    def overflowing(self, name: str, answer: str) -> str:
        """Too long is a conversation that still has its first prompt word for word."""
        first = self.model.user_texts(self.model.turns()[0])[0]
        too_long = Refuse(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")
        self.model.when(lambda one: self._is_new(one, name) and first in self.model.user_texts(one), too_long)
        self.model.when(lambda _: bool(self.model.requests_with(name)), Reply(answer))
        return called(name)

    def heard(self, session: str) -> list[str]:
        return self.model.user_texts(self.turns(session)[-1])

    def remembered(self, session: str) -> list[str]:
        return self.model.assistant_texts(self.turns(session)[-1])

    def has_said(self, session: str, text: str) -> bool:
        return text in self.machine.said(session)

    def transcript(self, session: str) -> Path:
        place = self.machine.home / ".claude/projects"
        until(lambda: any(place.glob(f"*/{self.token(session)}.jsonl")), "the agent's own record")
        [found] = place.glob(f"*/{self.token(session)}.jsonl")
        return found

    def record(self, session: str) -> OwnRecord:
        return Lines(self.transcript(session))

    def until_recorded(self, session: str, text: str) -> None:
        until(lambda: text in self.transcript(session).read_text(), f"{text!r} in the agent's own record")

    def turns(self, session: str) -> list[Request]:
        """What the model was asked in this conversation, by the name that the agent gives it."""
        token = self.token(session)
        return [one for one in self.model.turns() if one.headers.get("x-claude-code-session-id") == token]

    def _is_new(self, request: Request, name: str) -> bool:
        """Whether the user's last word is the prompt itself, and the model has done nothing about it yet."""
        last = [one for one in request.body["messages"] if one["role"] != "system"][-1]
        texts = self.model.user_texts(request)
        asks = bool(texts) and called(name) in texts[-1].splitlines()  # a quotation has something in front of it
        return last["role"] == "user" and asks and not _is_result(last)


def _is_result(message: Any) -> bool:
    return isinstance(message["content"], list) and any(one["type"] == "tool_result" for one in message["content"])


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
