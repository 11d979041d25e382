"""Which names in a path mean git's own folder, on any file system.

The hook client imports this on every tool call, so Unicode tables and patterns are imported where a name needs them.
"""

from __future__ import annotations

#: Characters that some file systems ignore.
_IGNORED = dict.fromkeys((0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF), None)
_SHORT = "git~1"


def is_git_name(name: str) -> bool:
    """Whether some file system takes a name for `.git`: case, invisible marks, endings that are cut off."""
    plain = name
    if not name.isascii():
        import unicodedata

        plain = unicodedata.normalize("NFKC", name.translate(_IGNORED))
    plain = plain.casefold()
    plain = plain.partition(":")[0].rstrip(" .")
    return plain in (".git", _SHORT)


_NOT_IN_BRANCHES = r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|\Z)|(?:\A|/)\.|\A-|\A/|/\Z|\.\Z"


def is_branch_name(name: str) -> bool:
    """Whether git accepts a text as a branch name, and no command takes it for an option."""
    import re

    return name not in ("", "@", "HEAD") and re.search(_NOT_IN_BRANCHES, name) is None
