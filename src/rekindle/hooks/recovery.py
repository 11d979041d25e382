"""What an agent is given when its conversation begins: the dehydrated context of the skill session that is its own.

Runs once per conversation, after a clear and after a compaction. Looks only, changes nothing, and runs nothing that a
repository names. Light standard library only.
"""

from __future__ import annotations

import os

from rekindle.core.skill import injection
from rekindle.core.skill.surroundings import conversation_of, pane_of
from rekindle.hooks.surroundings import setting, state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rekindle.adapters.git.repository import Repository

    #: what changes whenever a file does
    Mark = tuple[int, int, int, int]

#: So many sessions are looked at, the newest first.
_MOST = 200
#: What a shell could take for something else.
_ODD = frozenset("'\"\\`$!*?;&|<>(){}[]#~")
#: As every state file without such a context has it: quotes inside texts are written otherwise.
_NONE = b'dehydratedContext": null'
#: The state files that had none at the last look of this process, which may be a daemon.
_EMPTY: dict[str, Mark] = {}
_SETTLED = 2_000_000_000


def recovery(
    call: Mapping[str, object], repo: Repository | None, here: str, environment: Mapping[str, str], parent: int
) -> str:
    """What the hook says at the start of a conversation; "" if there is nothing. Raises OSError, ValueError.

    `parent` is the process that started the hook, `here` the folder that the agent works in.
    """
    source, session = call.get("source"), call.get("session_id")
    who = injection.Newcomer(
        source if isinstance(source, str) else "",
        session if isinstance(session, str) else "",
        pane_of(environment),
        conversation_of(environment),
    )
    if not injection.is_due(who):
        return ""
    state = state_dir(environment)
    found = list(_waiting(repo, here, environment, parent, state))
    best = injection.meant_for(who, found) if found else None
    named = _named(best.folder, here) if best is not None else None
    if best is None or named is None:
        return ""
    from rekindle.adapters.skill_folder import left_notes

    known = left_notes.is_known(state, best.folder, best.state.get("dehydratedContext"))
    return injection.skill_block(best.state, named, os.urandom(8).hex(), is_known=known)


def _waiting(
    repo: Repository | None, here: str, environment: Mapping[str, str], parent: int, shortcuts: str
) -> Iterator[injection.WaitingNotes]:
    """The sessions whose dehydrated context waits: those below the root, and the one that this agent works in."""
    from rekindle.adapters.skill_folder import holder, state_file

    pid = holder.worker_pid(parent)
    below = _folders(repo, here, environment)
    own = _own(shortcuts, pid)
    for folder in below if own is None or own in below else [own, *below]:
        mark = below.get(folder)
        if mark is not None and _EMPTY.get(folder) == mark:
            continue
        content = _content(folder)
        if content is not None and _NONE in content:
            _remember_empty(folder, mark)
            continue
        if content is None or _named(folder, here) is None:
            continue
        from rekindle.core import lean_json

        try:
            state = lean_json.loads(content)
        except (ValueError, RecursionError):
            continue  # every command of the session says what is wrong with it
        if not isinstance(state, dict) or state.get("version", 1) != 1 or not injection.waits(state):
            continue
        verdict = holder.verdict(state)
        held = "free" if verdict in ("dead", "free") else "mine" if state.get("pid") == pid else "other"
        if held != "mine" and folder not in below:
            continue  # this agent has left it: what is elsewhere is not its business any more
        newest = mark[2] / 1e9 if mark is not None else os.lstat(os.path.join(folder, state_file.NAME)).st_mtime
        yield injection.WaitingNotes(folder, state, held, newest)


def _content(folder: str) -> bytes | None:
    from rekindle.adapters.skill_folder import state_file

    try:
        return state_file.content(folder)
    except OSError:
        return None


def _remember_empty(folder: str, mark: Mark | None) -> None:
    """Spare a daemon the next look. A file that has just changed may change again without a trace in its times."""
    import time

    if mark is not None and time.time_ns() - mark[-1] > _SETTLED:
        if len(_EMPTY) > 50 * _MOST:
            _EMPTY.clear()
        _EMPTY[folder] = mark


def _folders(repo: Repository | None, here: str, environment: Mapping[str, str]) -> dict[str, Mark]:
    """The folders below the root, the newest first, each with what changes whenever its state file does."""
    from rekindle.adapters.skill_folder import roots, state_file

    found: list[tuple[float, str, Mark]] = []
    root = roots.sessions_root(
        repo, setting(environment, repo.root if repo is not None else None, "skill_sessions_dir"), here
    )
    try:
        entries = list(os.scandir(root))
    except OSError:
        entries = []
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
            continue
        try:
            file = os.lstat(f"{entry.path}/{state_file.NAME}")
        except OSError:
            continue
        found.append((file.st_mtime, entry.path, (file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns)))
    return {folder: mark for _, folder, mark in sorted(found, reverse=True)[:_MOST]}


def _own(shortcuts: str, pid: int) -> str | None:
    """The folder that an agent works in, wherever it is."""
    if not os.path.isdir(os.path.join(shortcuts, "skill", "by-pid")):
        return None
    from rekindle.adapters.skill_folder import pointer

    return pointer.pointed(shortcuts, pid)


def _named(folder: str, here: str) -> str | None:
    """A folder as a command names it. None: its name could be taken for something else by a shell or a reader."""
    from rekindle import files

    shown = folder[len(here) :].lstrip(os.sep) or os.curdir if files.is_below(folder, here) else folder
    if not shown.isprintable() or shown.startswith("-") or not _ODD.isdisjoint(shown):
        return None
    return f"'{shown}'" if " " in shown else shown
