"""Who owns a repository, by git's rules: another user's repository is not used unless you named it.

The owner of a repository decides what its settings, journals and hooks say. git refuses one of another user's
("dubious ownership") unless `safe.directory` in the user's or the system's configuration names it. git does not ask
when GIT_DIR is set; this does. Light standard library only (the hook client imports this).
"""

from __future__ import annotations

import os

from rekindle.adapters.git.refusal import refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def is_ours(uid: int) -> bool:
    """Whether a file of this user's is ours: our own, or, under sudo, that of the user who called it."""
    mine = os.geteuid()
    return uid == mine or (mine == 0 and os.environ.get("SUDO_UID", "") == str(uid))


def check(top: str, paths: Iterable[str]) -> None:
    """Refuse what another user owns, unless the user's configuration names the repository at `top`.

    A path that does not exist has no owner. Raises ForeignRepository.
    """
    foreign = _foreign(paths)
    if foreign is None or is_named_safe(os.path.realpath(top)):
        return
    path, uid = foreign
    raise refused(
        f"{path} belongs to another user (uid {uid}), who would decide what runs here",
        f"if you trust that user: git config --global --add safe.directory {_quoted(top)}",
    )


def _foreign(paths: Iterable[str]) -> tuple[str, int] | None:
    for path in paths:
        try:
            uid = os.lstat(path).st_uid
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not is_ours(uid):
            return path, uid
    return None


def is_named_safe(top: str) -> bool:
    """Whether `safe.directory` names a repository, by git's rules: an empty value takes back what came before it."""
    safe = False
    for value in _safe_directories():
        if not value:
            safe = False
        elif value == "*":
            safe = True
        elif os.path.isabs(value):
            real = os.path.realpath(value)
            safe = safe or real == top or (real.endswith("/*") and top.startswith(real[:-1]))
    return safe


def _safe_directories() -> list[str]:
    """The values in the system's and the user's configuration, in order. A repository has no say in it."""
    from rekindle.adapters.git import process

    words = ("config", "--null", "--type=path", "--get-all", "safe.directory")
    told = process.output(os.sep, *words, variables={"GIT_DIR": os.devnull})
    return os.fsdecode(told).split("\0")[:-1] if told is not None else []


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)
