"""Record what the real Claude Code prints and writes down, against a scripted model on loopback.

    python -m tests.golden.record_claude PROGRAM [NAME ...]

Every sample has a folder of its own that stands for /home/dev; nothing of the machine's is used, and its paths and
long texts that are not part of the conversation are left out of what is kept. See claude/README.md.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.golden.scripted_messages import Answer, Failure, Model, Tool, serve

HERE = Path(__file__).parent / "claude"
ONE_RUN = 30.0  # seconds
_LONG = 120  # characters that a text outside the conversation may have
_KEPT = 40

Line = dict[str, Any]
DONE = Answer(says="All done.")


class Agent:
    """One process of Claude Code with pipes, and what went through them."""

    def __init__(self, argv: list[str], cwd: Path, environment: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, cwd=cwd, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
        self.sent: list[bytes] = []
        self.printed: list[bytes] = []
        self._limit = threading.Timer(ONE_RUN, self.process.kill)
        self._limit.start()

    def send(self, message: Line) -> None:
        assert self.process.stdin
        self.sent.append(json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode())
        self.process.stdin.write(self.sent[-1] + b"\n")
        self.process.stdin.flush()

    def prompt(self, content: object) -> None:
        self.send({"type": "user", "message": {"role": "user", "content": content}})

    def request(self, number: str, subtype: str) -> None:
        self.send({"type": "control_request", "request_id": number, "request": {"subtype": subtype}})

    def answer(self, asked: Line, response: Line) -> None:
        inner = {"subtype": "success", "request_id": asked["request_id"], "response": response}
        self.send({"type": "control_response", "response": inner})

    def until(self, wanted: Callable[[Line], bool]) -> Line:
        """Read on until a line is what we wait for."""
        assert self.process.stdout
        for raw in self.process.stdout:
            self.printed.append(raw)
            line = json.loads(raw)
            if wanted(line):
                return dict(line)
        raise RuntimeError("the agent ended before it printed what the sample waits for")

    def finish(self) -> bytes:
        """Close its input, read what is left, and give its stderr."""
        out, errors = self.process.communicate()
        self._limit.cancel()
        self.printed += out.splitlines(keepends=True)
        return bytes(errors)

    def kill(self) -> None:
        self.process.kill()
        self.finish()


def of_type(kind: str, subtype: str | None = None) -> Callable[[Line], bool]:
    return lambda line: line.get("type") == kind and subtype in (None, line.get("subtype"))


def asks_permission(line: Line) -> bool:
    return line.get("type") == "control_request"


def patiently(true: Callable[[], bool]) -> None:
    for _ in range(200):
        if true():
            return
        time.sleep(0.05)
    raise RuntimeError("the agent did not do what the sample waits for")


class Place:
    """A home and a project for one sample, and the conversation in it."""

    def __init__(self, root: Path, program: str, model: Model, token: str) -> None:
        self.root, self.program, self.model, self.token = root, program, model, token
        self.home = root / "home" / "dev"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "no-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }

    def start(self, *arguments: str, resume: bool = False, live: bool = False, asks: bool = False) -> Agent:
        which = ["--resume", self.token] if resume else ["--session-id", self.token]
        argv = [self.program, "-p", "--model", "claude-sonnet-4-5", *which, "--output-format", "stream-json"]
        argv += ["--verbose", "--permission-mode", "default" if asks else "acceptEdits"]
        argv += ["--permission-prompt-tool", "stdio"] if asks else ["--allowedTools=Bash"]
        argv += ["--input-format", "stream-json"] if live else []
        return Agent([*argv, *arguments], self.project, self.environment)

    def turn(self, *arguments: str, resume: bool = False) -> Agent:
        """A whole process with one prompt, the last argument."""
        agent = self.start(*arguments, resume=resume)
        agent.finish()
        return agent

    @property
    def transcript(self) -> Path | None:
        return next(iter(self.home.glob(f".claude/projects/*/{self.token}.jsonl")), None)

    def wait_for(self, what: bytes) -> None:
        """The transcript follows the stream by a tenth of a second."""
        patiently(lambda: self.transcript is not None and what in self.transcript.read_bytes())

    def end_shell(self) -> None:
        """A killed agent leaves its shell behind; the sample's command wrote down which it is."""
        os.killpg(os.getpgid(int((self.project / "shell").read_text())), signal.SIGKILL)

    def keep(self, name: str, agent: Agent | None, *, errors: bytes = b"", transcript: bool = True) -> None:
        """Save what is known as a sample."""
        if agent and agent.printed:
            self._save(f"{name}.stream.jsonl", b"".join(agent.printed))
        if agent and agent.sent:
            self._save(f"{name}.input.jsonl", b"".join(line + b"\n" for line in agent.sent))
        if errors:
            self._save(f"{name}.stderr.txt", errors)
        if transcript and self.transcript:
            self._save(f"{name}.transcript.jsonl", self.transcript.read_bytes())

    def _save(self, name: str, data: bytes) -> None:
        root = str(self.root)
        data = data.replace(root.encode(), b"").replace(re.sub(r"[^A-Za-z0-9]", "-", root).encode(), b"")
        data = data.replace(self.model.url.encode(), b"http://127.0.0.1:8080").replace(
            self.model.url.removeprefix("http://").encode(), b"127.0.0.1:8080"
        )
        (HERE / name).write_bytes(b"".join(map(_shortened, data.splitlines(keepends=True))))


def _shortened(line: bytes) -> bytes:
    """A line with the long texts outside the conversation cut off; a line that is no JSON as it is."""
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict):
        return line
    short = {key: value if key == "message" else _cut(value) for key, value in record.items()}
    return json.dumps(short, separators=(",", ":"), ensure_ascii=False).encode() + line[len(line.rstrip(b"\n")) :]


def _cut(value: Any) -> Any:
    match value:
        case str() if len(value) > _LONG:
            return value[:_KEPT] + "…"
        case list():
            return [_cut(item) for item in value]
        case dict():
            return {key: _cut(item) for key, item in value.items()}
        case _:
            return value


class Sample(msgspec.Struct, frozen=True):
    name: str
    record: Callable[[Place], None]


_SAMPLES: list[Sample] = []


def sample(record: Callable[[Place], None]) -> Callable[[Place], None]:
    """A function that records the samples that start with its name."""
    _SAMPLES.append(Sample(record.__name__, record))
    return record


def bash(command: str) -> Tool:
    return Tool("Bash", {"command": command, "description": "Run it"})


def write(place: Place, name: str, content: str) -> Tool:
    return Tool("Write", {"file_path": str(place.project / name), "content": content})


@sample
def plain(place: Place) -> None:
    place.model.will(Answer(says="Hello from the model."))
    place.keep("plain", place.turn("Say hello."))
    place.model.will(Answer(says="Hello once more."))
    place.keep("plain_resumed", place.turn("Say it again.", resume=True))


@sample
def tools(place: Place) -> None:
    place.model.will(
        Answer(thinks="A file first.", says="I look around.", calls=(bash("echo from-bash"),)),
        Answer(calls=(write(place, "notes.txt", "zażółć\n"),)),
        Answer(calls=(bash("echo one"), bash("echo two"), Tool("Read", {"file_path": "/nowhere"}))),
        DONE,
    )
    place.keep("tools", place.turn("Make notes."))


@sample
def partial(place: Place) -> None:
    place.model.will(Answer(thinks="Think, then act.", says="I run a command.", calls=(bash("echo hi"),)), DONE)
    place.keep("partial", place.turn("--include-partial-messages", "Run a command."))


@sample
def killed_in_stream(place: Place) -> None:
    place.model.will(Answer(says="These words are lost, since nobody", then="hang"))
    agent = place.start("--include-partial-messages", "Tell me a story.")
    agent.until(lambda line: line.get("event", {}).get("type") == "content_block_delta")
    place.wait_for(b"Tell me a story.")
    agent.kill()
    place.keep("killed_in_stream", agent)
    place.model.will(Answer(says="Once upon a time."))
    place.keep("killed_in_stream_resumed", place.turn("Go on, please.", resume=True))


@sample
def killed_in_bash(place: Place) -> None:
    place.model.will(Answer(says="It takes a while.", calls=(bash("echo $$ > shell; sleep 600"),)))
    agent = place.start("Wait for it.")
    agent.until(lambda line: b"tool_use" in json.dumps(line).encode())
    place.wait_for(b'"type":"tool_use"')
    shell = place.project / "shell"
    patiently(lambda: shell.exists() and bool(shell.read_text()))
    agent.kill()
    place.end_shell()
    place.keep("killed_in_bash", agent)
    place.model.will(Answer(says="I start again."))
    place.keep("killed_in_bash_resumed", place.turn("Go on, please.", resume=True))


@sample
def torn(place: Place) -> None:
    """The last answer's line is cut in the middle; what is written next is glued to it."""
    place.model.will(Answer(says="These words are torn."))
    place.turn("First.")
    assert place.transcript
    whole = place.transcript.read_bytes()
    place.transcript.write_bytes(whole[: whole.index(b"These words are torn.") + 11])
    place.keep("torn", None)
    place.model.will(DONE)
    place.keep("torn_resumed", place.turn("Second.", resume=True))


@sample
def compacted(place: Place) -> None:
    place.model.will(Answer(says="One."), Answer(says="Two."))
    place.turn("First.")
    place.turn("Second.", resume=True)
    place.model.will(Answer(says="<summary>Two prompts, two answers.</summary>"))
    place.keep("compacted", place.turn("/compact", resume=True))
    place.model.will(Answer(says="Three."))
    place.keep("compacted_resumed", place.turn("Third.", resume=True))


@sample
def local_command(place: Place) -> None:
    place.model.will(DONE)
    place.keep("local_command", place.turn("/context"))


@sample
def command(place: Place) -> None:
    """A command of the project's own, which stands for a prompt, and one that nobody knows."""
    folder = place.project / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("Greet $ARGUMENTS.\n")
    place.model.will(DONE)
    place.keep("command", place.turn("/greet the whole world"))
    place.keep("command_resumed", place.turn("/no-such-command at all", resume=True))


@sample
def live(place: Place) -> None:
    """A process that stays: initialize, two turns, a turn that fails, one more."""
    place.model.will(
        Answer(says="One."),
        Answer(says="Two."),
        Failure(429, "rate_limit_error", "slow down", (("retry-after", "7"),)),
        Answer(says="Four."),
    )
    agent = place.start("--include-partial-messages", "--replay-user-messages", live=True)
    agent.request("r-1", "initialize")
    agent.until(of_type("control_response"))
    for content in ("First.", [{"type": "text", "text": "Second."}], "Third.", "Fourth."):
        agent.prompt(content)
        agent.until(of_type("result"))
    agent.finish()
    place.keep("live", agent)


@sample
def blocks(place: Place) -> None:
    """A prompt of several blocks, one of them an image of one pixel."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}}
    place.model.will(DONE)
    agent = place.start(live=True)
    agent.prompt([{"type": "text", "text": "Look."}, image, {"type": "text", "text": "What is it?"}])
    agent.until(of_type("result"))
    agent.finish()
    place.keep("blocks", agent)


@sample
def queued(place: Place) -> None:
    """A prompt that comes while a tool runs."""
    place.model.will(Answer(calls=(bash("sleep 2"),)), Answer(says="Both are done."), DONE)
    agent = place.start("--replay-user-messages", live=True)
    agent.prompt("First.")
    agent.until(lambda line: b'"tool_use"' in json.dumps(line).encode())
    agent.prompt("Second, while you work.")
    agent.until(of_type("result"))
    agent.finish()
    place.keep("queued", agent)


@sample
def interrupted(place: Place) -> None:
    """Interrupted in a stream, then in a tool; the process goes on."""
    place.model.will(Answer(says="These words are cut", then="hang"), Answer(calls=(bash("sleep 600"),)), DONE)
    agent = place.start("--include-partial-messages", "--replay-user-messages", live=True)
    agent.prompt("First.")
    agent.until(lambda line: line.get("event", {}).get("type") == "content_block_delta")
    agent.request("r-1", "interrupt")
    agent.until(of_type("result"))
    agent.prompt("Second.")
    agent.until(lambda line: line.get("type") == "assistant")
    agent.request("r-2", "interrupt")
    agent.until(of_type("result"))
    agent.prompt("Third.")
    agent.until(of_type("result"))
    agent.finish()
    place.keep("interrupted", agent)


@sample
def permissions(place: Place) -> None:
    """Asked on stdio: allowed, allowed with changed input, denied, denied with an interrupt."""
    touch = Tool("Write", {"file_path": str(place.project / "a.txt"), "content": "a\n"})
    outside = bash("touch ../outside")
    place.model.will(Answer(calls=(touch,)), DONE, Answer(calls=(outside,)), DONE, Answer(calls=(outside,)), DONE)
    agent = place.start("--replay-user-messages", live=True, asks=True)
    agent.request("r-1", "initialize")
    agent.until(of_type("control_response"))
    agent.prompt("Write it.")
    asked = agent.until(asks_permission)
    agent.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
    agent.until(of_type("result"))
    agent.prompt("Touch it.")
    agent.answer(agent.until(asks_permission), {"behavior": "deny", "message": "Not outside."})
    agent.until(of_type("result"))
    agent.prompt("Touch it all the same.")
    agent.answer(agent.until(asks_permission), {"behavior": "deny", "message": "Stop.", "interrupt": True})
    agent.until(of_type("result"))
    agent.finish()
    place.keep("permissions", agent)


@sample
def interrupted_while_asking(place: Place) -> None:
    """An interrupt while a question for permission is open: it is taken back."""
    place.model.will(Answer(calls=(bash("touch ../outside"),)), DONE)
    agent = place.start(live=True, asks=True)
    agent.prompt("Touch it.")
    agent.until(asks_permission)
    agent.request("r-1", "interrupt")
    agent.until(of_type("result"))
    agent.finish()
    place.keep("interrupted_while_asking", agent)


@sample
def subagent(place: Place) -> None:
    given = {"description": "Look", "prompt": "Say what you see.", "subagent_type": "general-purpose"}
    place.model.will(Answer(calls=(Tool("Task", given),)), Answer(says="I see nothing."), DONE)
    place.keep("subagent", place.turn("Let another one look."))


@sample
def hooks(place: Place) -> None:
    """Hooks give context when a session starts and when a prompt comes."""

    def giving(event: str) -> list[Line]:
        given = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": f"context of {event}"}}
        return [{"hooks": [{"type": "command", "command": f"echo '{json.dumps(given)}'"}]}]

    settings = {"hooks": {event: giving(event) for event in ("SessionStart", "UserPromptSubmit", "PostToolUse")}}
    (place.home / "settings.json").write_text(json.dumps(settings))
    place.model.will(Answer(calls=(bash("echo hi"),)), DONE)
    place.keep("hooks", place.turn("--settings", str(place.home / "settings.json"), "Run a command."))


@sample
def errors(place: Place) -> None:
    """One process per error, all in one conversation."""
    limit = "prompt is too long: 210000 tokens > 200000 maximum"
    failures = {
        "rate_limited": Failure(429, "rate_limit_error", "slow down", (("retry-after", "7"),)),
        "overloaded": Failure(529, "overloaded_error", "Overloaded"),
        "server_error": Failure(500, "api_error", "Internal server error"),
        "unauthorized": Failure(401, "authentication_error", "invalid x-api-key"),
        "forbidden": Failure(403, "permission_error", "not allowed"),
        "too_long": Failure(400, "invalid_request_error", limit),
        "no_credit": Failure(400, "invalid_request_error", "Your credit balance is too low to access the API."),
        "unknown_model": Failure(404, "not_found_error", "model: no-such-model"),
    }
    for number, (name, failure) in enumerate(failures.items()):
        place.model.will(failure)
        place.keep(f"error_{name}", place.turn(f"Prompt {number}.", resume=number > 0), transcript=False)
    place.model.will(Answer(says="These words are", then="drop"))
    place.keep("error_dropped", place.turn("Drop it.", resume=True), transcript=False)
    place.environment["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    place.keep("error_refused", place.turn("Nobody is there.", resume=True))


@sample
def retried(place: Place) -> None:
    place.environment["CLAUDE_CODE_MAX_RETRIES"] = "2"
    place.model.will(Failure(429, "rate_limit_error", "slow down", (("retry-after", "1"),)), DONE)
    place.keep("retried", place.turn("Try."))


@sample
def endings(place: Place) -> None:
    """Turns that end for another reason than that all was said."""
    place.model.will(Answer(says="I stop in the mid", stop_reason="max_tokens"))
    place.keep("ending_max_tokens", place.turn("Say much."))
    place.model.will(Answer(says="I would rather not.", stop_reason="refusal"))
    place.keep("ending_refusal", place.turn("Say more.", resume=True))
    place.model.will(Answer(calls=(bash("echo again"),)))
    place.keep("ending_max_turns", place.turn("--max-turns", "2", "Run for ever.", resume=True))


@sample
def unknown_session(place: Place) -> None:
    place.model.will(DONE)
    agent = place.start("Go on.", resume=True)
    place.keep("unknown_session", agent, errors=agent.finish())


@contextmanager
def _places(program: str) -> Iterator[Callable[[int], Place]]:
    with serve() as model, tempfile.TemporaryDirectory(prefix="golden") as root:

        def place(number: int) -> Place:
            token = f"00000000-0000-4000-8000-{number:012d}"
            return Place(Path(root).resolve() / str(number), program, model, token)

        yield place


def main(program: str, *names: str) -> None:
    with _places(program) as place:
        for number, one in enumerate(_SAMPLES):
            if not names or one.name in names:
                print(one.name, flush=True)
                one.record(place(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
