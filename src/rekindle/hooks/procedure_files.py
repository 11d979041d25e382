"""Puts the command `/session` and the skill with the resume procedure into a project, and takes them out again.

Each file ends with a line that has the digest of what is above it. A file that somebody has changed, or that somebody
else wrote, is neither written over nor removed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Final

from rekindle import files
from rekindle.core.skill import manual
from rekindle.ports.errors import ForeignRepository, UsageError

#: What is put where, below `.claude`.
TEXTS: Final[Mapping[str, str]] = {
    f"commands/{manual.COMMAND}.md": manual.command_text(),
    f"skills/{manual.NAME}/SKILL.md": manual.skill_text(),
}
_MARK: Final = "<!-- Written by `rekindle hooks install`; digest "
_LARGEST: Final = 1 << 20


def put_texts(top: str) -> dict[str, str]:
    """Write the files below `top`; says of each: written, unchanged, or kept (it is somebody else's)."""
    told = {}
    for name, text in TEXTS.items():
        path = _place(top, name)
        before, wanted = _read(path), _marked(text)
        if before is not None and not _is_ours(before):
            told[path] = "kept"
        elif before == wanted:
            told[path] = "unchanged"
        else:
            files.make_folder(os.path.dirname(path))
            files.replace(path, wanted)
            told[path] = "written"
    return told


def remove_texts(top: str) -> dict[str, str]:
    """Remove the files that are as they were written; says of each: removed, or kept."""
    told = {}
    for name in TEXTS:
        path = _place(top, name)
        before = _read(path)
        if before is None:
            continue
        if not _is_ours(before):
            told[path] = "kept"
            continue
        os.unlink(path)
        told[path] = "removed"
        folder = os.path.dirname(path)
        while folder != os.path.join(top, ".claude") and not os.listdir(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    return told


def _place(top: str, name: str) -> str:
    path = os.path.join(top, ".claude", name)
    real, whole = os.path.realpath(path), os.path.realpath(top)
    if os.path.islink(path) or not files.is_below(real, whole) or ".git" in os.path.relpath(real, whole).split(os.sep):
        raise ForeignRepository(f"{path} leads elsewhere, to {real}", "make .claude and the file plain ones")
    return path


def _read(path: str) -> bytes | None:
    try:
        return files.read_short(path, _LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror})", "make it a plain file, or move it away"
        ) from error


def _marked(text: str) -> bytes:
    return f"{text}{_MARK}{_digest(text.encode())} -->\n".encode()


def _is_ours(content: bytes) -> bool:
    """Whether a file is as some version of rekindle wrote it."""
    text, mark, rest = content.rpartition(_MARK.encode())
    return bool(mark) and rest == f"{_digest(text)} -->\n".encode()


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]
