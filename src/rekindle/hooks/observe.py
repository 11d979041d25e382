"""What a Claude Code hook's JSON means for the journal: returns events, touches nothing. Light standard library only.

Commands may carry secrets, so of a shell command only the program and a well-known verb are kept, and of a URL only the
host.
"""

from __future__ import annotations

import os

Observed = tuple[str, dict[str, object]]
_EDITS = ("Edit", "MultiEdit", "NotebookEdit")
_LONGEST = 300
_GIT = ("add", "branch", "checkout", "commit", "diff", "log", "merge", "pull", "push", "rebase", "status", "switch")
_PACKAGES = ("add", "build", "ci", "install", "lint", "run", "test")
_VERBS = {
    "git": _GIT,
    "cargo": ("build", "check", "clippy", "fmt", "run", "test"),
    "go": ("build", "mod", "run", "test", "vet"),
    "npm": _PACKAGES,
    "pnpm": _PACKAGES,
    "yarn": _PACKAGES,
    "pip": ("install",),
    "uv": ("pip", "run", "sync"),
    "make": ("build", "check", "lint", "test"),
}


def after_tool(call: dict[str, object], top: str, branch: str | None) -> list[Observed]:
    """The events of a finished tool call."""
    tool = call.get("tool_name")
    given = call.get("tool_input")
    if not isinstance(tool, str):
        return []
    arguments: dict[str, object] = given if isinstance(given, dict) else {}
    target = _target(arguments, top)
    data: dict[str, object] = {"tool": tool[:_LONGEST], "target": target}
    duration = call.get("duration_ms")
    data["duration_ms"] = duration if isinstance(duration, (int, float)) else None
    events: list[Observed] = [("tool.invoked", data)]
    if tool in ("Write", *_EDITS) and target is not None:
        answer = call.get("tool_response")
        made = tool == "Write" and isinstance(answer, dict) and answer.get("type") == "create"
        events.append(("file.created" if made else "file.modified", {"path": target, "reason": tool}))
    command = arguments.get("command")
    if tool == "Bash" and isinstance(command, str) and "git" in command:
        events.extend(_branch_events(command, _output(call.get("tool_response")), branch))
    return events


def _target(arguments: dict[str, object], top: str) -> str | None:
    for key in ("file_path", "notebook_path", "path"):
        value = arguments.get(key)
        if isinstance(value, str):
            inside = os.path.isabs(value) and os.path.normpath(value).startswith(top + os.sep)
            return (os.path.relpath(value, top) if inside else value)[:_LONGEST]
    command, url = arguments.get("command"), arguments.get("url")
    if isinstance(command, str):
        return program_of(command)
    if isinstance(url, str):
        host = url.split("://", 1)[-1]
        for mark in "/?#":
            host = host.split(mark, 1)[0]
        return host.rsplit("@", 1)[-1][:_LONGEST]
    return None


def program_of(command: str) -> str:
    """The program of a shell command, and its verb where that is one of a few known words. Nothing else is safe."""
    words = command.split(maxsplit=2)
    if not words or "=" in words[0] or not _is_word(os.path.basename(words[0])):
        return ""
    program = os.path.basename(words[0])
    verb = words[1] if len(words) > 1 else ""
    return f"{program} {verb}" if verb in _VERBS.get(program, ()) else program


def _is_word(text: str) -> bool:
    return len(text) <= 40 and text.replace("-", "").replace("_", "").replace(".", "").replace("+", "").isalnum()


def _output(answer: object) -> str:
    if isinstance(answer, dict):
        return f"{answer.get('stdout', '')}\n{answer.get('stderr', '')}"
    return ""


def _branch_events(command: str, output: str, branch: str | None) -> list[Observed]:
    import shlex

    try:
        words = shlex.split(command.replace("\n", " ; "), comments=False)
    except ValueError:
        return []
    events: list[Observed] = []
    current: list[str] = []
    for word in [*words, ";"]:
        if word in (";", "&&", "||", "|") or word.endswith(";"):
            if word not in (";", "&&", "||", "|"):
                current.append(word[:-1])
            event = _branch_event(current, output, branch)
            if event is not None:
                events.append(event)
            current = []
        else:
            current.append(word)
    return events


def _is_ref(word: str) -> bool:
    return not word.startswith("-") and len(word) <= 200 and all(char.isalnum() or char in "/._-" for char in word)


def _branch_event(words: list[str], output: str, branch: str | None) -> Observed | None:
    if len(words) < 2 or os.path.basename(words[0]) != "git":
        return None
    verb, rest = words[1], words[2:]
    names = [word for word in rest if _is_ref(word)]
    if any(word.startswith(("-m", "--message")) or word == "-F" for word in rest):
        names = names[-1:] if rest and rest[-1] in names else []  # a message is not a branch
    conflicts = "CONFLICT" in output
    if (verb == "checkout" and ("-b" in rest or "-B" in rest)) or (verb == "switch" and ("-c" in rest or "-C" in rest)):
        return ("branch.created", {"name": names[0], "parent": names[1] if len(names) > 1 else None}) if names else None
    if verb == "merge" and names and "--abort" not in rest:
        return "branch.merged", {"name": names[0], "target": branch, "conflicts": conflicts}
    if verb == "pull":
        return "branch.pulled", {"branch": branch, "behind": None, "ahead": None}
    if verb == "rebase" and names and not {"--abort", "--continue", "--skip"} & set(rest):
        return "branch.rebased", {"branch": branch, "onto": names[0], "conflicts": conflicts}
    return None
