"""Claude Code without rekindle: one question at a time, or a long conversation on its standard input."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.daemon import until

Line = dict[str, Any]


@dataclass(frozen=True)
class Done:
    """One run of `claude -p`."""

    status: int
    lines: list[Line]
    errors: str

    @property
    def result(self) -> Line:
        return next(line for line in self.lines if line["type"] == "result")


@dataclass(frozen=True)
class ClaudeCli:
    """The program in a folder and a home of its own."""

    program: Path
    home: Path
    work: Path
    variables: Mapping[str, str]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **self.variables, "HOME": str(self.home)}

    def words(self, *flags: str) -> list[str]:
        common = ["-p", "--model", "mock-model", "--output-format", "stream-json", "--verbose"]
        return [str(self.program), *common, *flags]

    def ask(self, prompt: str, *flags: str) -> Done:
        """A new conversation or, with `--resume`, an old one; ends with its answer."""
        with self.start(prompt, *flags) as process:
            output, errors = process.communicate(timeout=60)
        return Done(process.returncode, [json.loads(line) for line in output.splitlines()], errors)

    def start(self, prompt: str, *flags: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.words(*flags, prompt),
            cwd=self.work,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def version(self) -> str:
        """What the program says of itself."""
        words = [str(self.program), "--version"]
        return subprocess.run(words, env=self.environment(), check=True, capture_output=True, text=True).stdout

    def talk(self, *flags: str) -> Talk:
        return Talk(self, *flags)

    def transcript(self, session: str | None = None, work: Path | None = None) -> Path:
        slug = re.sub(r"[^A-Za-z0-9]", "-", str((work or self.work).resolve()))
        return self.home / ".claude" / "projects" / slug / f"{session or self.id}.jsonl"


class Talk:
    """A process that takes prompts and control requests as lines."""

    def __init__(self, cli: ClaudeCli, *flags: str) -> None:
        self.lines: list[Line] = []
        words = cli.words("--input-format", "stream-json", "--include-partial-messages", *flags)
        self.process = subprocess.Popen(
            words,
            cwd=cli.work,
            env=cli.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()

    def say(self, text: str) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def request(self, name: str, **fields: Any) -> Line:
        """A control request, and its answer."""
        asked = str(uuid.uuid4())
        self.send({"type": "control_request", "request_id": asked, "request": {"subtype": name, **fields}})
        return self.until(lambda line: line.get("response", {}).get("request_id") == asked)["response"]  # type: ignore[no-any-return]

    def answer(self, request: Line, **response: Any) -> None:
        """Answer what the agent asks."""
        told = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.send({"type": "control_response", "response": told})

    def send(self, line: Line) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def until(self, holds: Any, number: int = 1) -> Line:
        """The line of that number that the predicate holds for."""
        return until(lambda: ([one for one in list(self.lines) if holds(one)] + [None] * number)[number - 1])  # type: ignore[no-any-return]

    def until_type(self, type_: str, number: int = 1) -> Line:
        return self.until(lambda line: line["type"] == type_, number)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(json.loads(line))
