"""The file callbacks of an agent: `fs/read_text_file` and `fs/write_text_file`, inside the working folder."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, Final

import msgspec

from rekindle.adapters.callbacks.confined import ConfinedFolder, Outside
from rekindle.adapters.callbacks.refusal import integer_param, invalid, text_param
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult

#: One answer has to fit into one message to the keeper (16 MiB), with room for JSON's escapes.
MOST_BYTES: Final = 8 * 1024 * 1024
_MOST_ENCODED: Final = 15 * 1024 * 1024
_PIECE: Final = 1 << 16


class TextFiles:
    def __init__(self, folder: ConfinedFolder) -> None:
        self._folder = folder

    def read(self, params: dict[str, Any]) -> CallbackResult:
        """`line` counts from 1; `limit` is a number of lines."""
        path = text_param(params, "path")
        line, limit = integer_param(params, "line"), integer_param(params, "limit")
        try:
            # Unbuffered, because the descriptor belongs to the context manager.
            with self._folder.open_to_read(path) as fd, open(fd, "rb", closefd=False) as file:
                data = _select(file, line or 1, limit)
        except Outside as error:
            return invalid(str(error))
        except OSError as error:
            return _refused_by_system(path, error)
        if data is None:
            return invalid(f"{path} has more than {MOST_BYTES} bytes. Ask for fewer lines with line and limit.")
        try:
            content = data.decode()
        except UnicodeDecodeError as error:
            return invalid(
                f"{path} is not valid UTF-8 text: byte {error.start} of what was asked for is {error.reason}."
            )
        if len(msgspec.json.encode(content)) > _MOST_ENCODED:
            return invalid(f"{path} is too large for one answer. Ask for fewer lines with line and limit.")
        return {"content": content}

    def write(self, params: dict[str, Any]) -> CallbackResult:
        path = text_param(params, "path")
        content = params.get("content")
        if not isinstance(content, str):
            return invalid("content must be a text.")
        try:
            self._folder.replace(path, content.encode(errors="replace"))
        except Outside as error:
            return invalid(str(error))
        except OSError as error:
            return _refused_by_system(path, error)
        return {}


def _select(file: BinaryIO, line: int, limit: int | None) -> bytes | None:
    """The requested lines; None if they exceed MOST_BYTES."""
    skip = line - 1
    while skip > 0:
        piece = file.readline(_PIECE)
        if not piece:
            return b""
        skip -= piece.endswith(b"\n")
    parts: list[bytes] = []
    size = 0
    while limit is None or limit > 0:
        piece = file.readline(_PIECE)
        if not piece:
            break
        parts.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            return None
        if limit is not None:
            limit -= piece.endswith(b"\n")
    return b"".join(parts)


def _refused_by_system(path: str, error: OSError) -> CallbackRefused:
    if isinstance(error, FileNotFoundError):
        return CallbackRefused("not_found", f"{path} does not exist.")
    return CallbackRefused("failed", f"{path}: {os.strerror(error.errno) if error.errno else error}.")
