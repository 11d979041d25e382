"""Reads values out of JSON of any shape. A field of the wrong type counts as absent: agents differ, and one odd
field must not cost us the rest of a message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

#: How much of a tool's input a question shows. The rest is counted, so that nobody takes the excerpt for all of it.
_LONGEST_DETAIL: Final = 20_000
#: Names under which agents put a file's path into a tool's raw input.
_PATH_KEYS: Final = ("path", "file_path", "filePath", "abs_path", "absolute_path", "notebook_path")


def text(value: object, default: str = "") -> str:
    return value if isinstance(value, str) else default


def optional_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> Iterator[dict[str, Any]]:
    """The objects of a list."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def key(value: object) -> str:
    """The agent's id as text; 1 and "1" stay different."""
    return json.dumps(value, separators=(",", ":"))


def block_text(block: object) -> str:
    """The text of a content block, for a reader."""
    match block:
        case {"type": "text", "text": str(words)}:
            return words
        case {"type": "resource_link", "uri": str(uri)}:
            return uri
        case {"type": "resource", "resource": {"text": str(words)}}:
            return words
        case {"type": str(kind)}:
            return f"[{kind}]"
        case _:
            return ""


def tool_paths(tool: dict[str, Any]) -> tuple[str, ...]:
    """Every path that a tool call names, in order, each once."""
    found = [item.get("path") for item in mappings(tool.get("locations"))]
    found += [item.get("path") for item in mappings(tool.get("content")) if item.get("type") == "diff"]
    found += input_paths(mapping(tool.get("rawInput")))
    return tuple(dict.fromkeys(path for path in found if isinstance(path, str) and path))


def input_paths(given: dict[str, Any]) -> tuple[str, ...]:
    """The paths in a tool's raw input."""
    return tuple(path for key in _PATH_KEYS if isinstance(path := given.get(key), str) and path)


def tool_command(tool: dict[str, Any]) -> str:
    """The command line that a tool call names; empty if it names none."""
    command = mapping(tool.get("rawInput")).get("command")
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else [text(command)]
    return " ".join(words)


def tool_detail(tool: dict[str, Any], title: str) -> str:
    """All that an ACP tool call would do, unless its title says it: its input, and what it would write."""
    parts = _parts(mapping(tool.get("rawInput")))
    for item in mappings(tool.get("content")):
        if item.get("type") == "diff":
            parts.append(f"{text(item.get('path'))}:\n{text(item.get('newText'))}")
        elif item.get("type") == "content":
            parts.append(block_text(item.get("content")))
    return _detail(parts, title)


def input_detail(given: dict[str, Any], title: str) -> str:
    """All of a tool's input that its title does not show."""
    return _detail(_parts(given), title)


def _parts(given: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}"
        for name, value in given.items()
    ]


def _detail(parts: list[str], title: str) -> str:
    said = [part for part in parts if part and part.partition(": ")[2] != title and part != title]
    whole = "\n".join(said)
    left = len(whole) - _LONGEST_DETAIL
    return whole if left <= 0 else f"{whole[:_LONGEST_DETAIL]}\n… {left} more characters are not shown"


def tool_output(tool: dict[str, Any]) -> str | None:
    """What a tool call shows so far; None if it shows nothing."""
    shown = [block_text(item.get("content")) for item in mappings(tool.get("content")) if item.get("type") == "content"]
    if shown:
        return "\n".join(shown)
    return optional_text(tool.get("rawOutput"))
