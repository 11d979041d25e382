"""Stands in for Amp: it speaks what is documented of its stream, and keeps its threads in the home. Run as a program.

Nobody could try the real one without an account. What it is told is answered with all that the thread has seen; a
prompt that begins with `hang` is begun and never finished.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any


def tell(kind: str, thread: str, **more: Any) -> None:
    print(json.dumps({"type": kind, **more, "session_id": thread}), flush=True)


def say(thread: str, text: str) -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    tell("assistant", thread, message=message, parent_tool_use_id=None)


def main(words: list[str]) -> int:
    folder = Path(os.environ["HOME"], "threads")
    folder.mkdir(exist_ok=True)
    with Path(os.environ["HOME"], "started").open("a") as started:
        started.write(json.dumps(words) + "\n")
    for needed in ("--execute", "--stream-json", "--stream-json-input"):
        if needed not in words:
            print(f"Error: {needed} is missing", file=sys.stderr)
            return 1
    thread = words[2] if words[:2] == ["threads", "continue"] else f"T-{uuid.uuid4()}"
    file = folder / thread
    if words[:1] == ["threads"] and not file.exists():
        print(f"Error: Thread {thread} not found", file=sys.stderr)
        return 1
    seen = json.loads(file.read_text()) if file.exists() else []
    is_new = True
    for line in sys.stdin:
        asked = json.loads(line)
        text = "".join(one["text"] for one in asked["message"]["content"] if one["type"] == "text")
        if is_new:
            tell("system", thread, subtype="init", cwd=os.getcwd(), tools=["Bash"], mcp_servers=[])
            is_new = False
        seen.append(text)
        file.write_text(json.dumps(seen))
        tell("user", thread, message=asked["message"], parent_tool_use_id=None)
        if text.startswith("hang"):
            say(thread, "I begin.")
            time.sleep(600)
        if text.startswith("fail"):
            tell("result", thread, subtype="error_during_execution", is_error=True, num_turns=1, error="it broke")
            continue
        said = f"I have seen: {seen}"
        say(thread, said)
        tell("result", thread, subtype="success", is_error=False, num_turns=1, duration_ms=5, result=said)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
