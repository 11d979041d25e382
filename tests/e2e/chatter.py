"""A stand-in for Claude Code as an interactive program: it reads lines, answers each, and keeps its transcript.

`chatter.py --session-id ID` begins a conversation, `--resume ID` goes on with one and tells how much it remembers.
A prompt that begins with "ponder" is answered with dots until a file called `enough` lies in its folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from rekindle.agents.claude.transcript_place import place


def keep(path: Path, kind: str, content: Any) -> None:
    lines = path.read_text().splitlines() if path.exists() else []
    parent = json.loads(lines[-1])["uuid"] if lines else None
    message = {"role": kind, "id": "m", "content": content}
    record = {"type": kind, "uuid": str(uuid.uuid4()), "parentUuid": parent, "message": message}
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def resized(*_: object) -> None:
    size = os.get_terminal_size()
    print(f"window {size.lines} x {size.columns}", flush=True)


def main(words: list[str]) -> int:
    how = "--resume" if "--resume" in words else "--session-id"
    path = Path(place(os.environ, os.path.realpath("."), words[words.index(how) + 1]))
    if how == "--resume" and not path.exists():
        print("No conversation found with session ID", flush=True)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    past = path.read_text().count('"role": "user"') if path.exists() else 0
    print("\x1b[?2004h", end="")
    print(f"chatter {how}, {past} prompts remembered, pid {os.getpid()}", flush=True)
    signal.signal(signal.SIGWINCH, resized)
    for line in sys.stdin:
        text = line.replace("\x1b", "").strip()
        keep(path, "user", text)
        while text.startswith("ponder") and not os.path.exists("enough"):
            print(".", end="", flush=True)
            time.sleep(0.1)
        answer = f"you said <{text}>"
        keep(path, "assistant", [{"type": "text", "text": answer}])
        print(answer, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
