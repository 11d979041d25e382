"""Names that come from outside: features, tasks, agents. A name that passes here can be a folder's name.

No imports at all: the hook client reads this on every tool call.
"""

from __future__ import annotations

MAX_CHARACTERS = 100
MAX_BYTES = 200


def why_not(name: str) -> str | None:
    """Why this text cannot be a name, as the end of the sentence "the name … "; None if it can."""
    if not name:
        return "is empty"
    if len(name) > MAX_CHARACTERS or len(name.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return f"is too long ({len(name)} characters; {MAX_CHARACTERS} are allowed)"
    if not name.isprintable():  # no control character is
        return "contains a control or unprintable character"
    if "/" in name or "\\" in name:
        return "contains a slash"
    if name[0] in ".-":
        return f"begins with {name[0]!r}"
    if name != name.strip():
        return "begins or ends with a space"
    return None


def feature_of_branch(branch: str) -> str | None:
    """The feature that a branch is for, according to its name."""
    kind, _, rest = branch.partition("/")
    name, slash, more = rest.partition("/")
    if kind == "work":
        meant = bool(more)
    elif kind == "feature":
        meant = True
    else:
        meant = kind in ("hotfix", "refactor") and not slash
    return name if meant and why_not(name) is None else None
