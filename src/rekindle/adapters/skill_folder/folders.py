"""Skill sessions below one root, `sessions/` in the repository by default: found, read, changed under their locks."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from rekindle import files
from rekindle.adapters.machine import process_identity
from rekindle.adapters.skill_folder import asking, holder, left_notes, pointer, scan, state_file
from rekindle.core.names import why_not
from rekindle.core.skill import surroundings
from rekindle.core.skill.artifacts import Artifacts
from rekindle.core.skill.holding import SeenSession
from rekindle.core.skill.lifecycle import Claimant
from rekindle.core.skill.state import BadState, SkillState, document, encode, parse
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.ports.skills import BadSkillState

#: More sessions than anybody keeps in one folder.
_MOST = 5_000
_LONGEST_DROPPED = 8 << 20
_DROPPED = ".dropped.jsonl"


class SkillFoldersHere:
    """The skill sessions below `root`. `state_dir` is where shortcuts for hooks are kept."""

    def __init__(self, root: str, state_dir: str, environment: Mapping[str, str], clock: Callable[[], float]) -> None:
        self._root = root
        self._state_dir = state_dir
        self._environment = environment
        self._clock = clock

    def resolve(self, given: str) -> str:
        """The folder that a word means: a path, else a name below the root."""
        path = os.path.abspath(given)
        named = os.path.join(self._root, given)
        if os.sep not in given.rstrip(os.sep) and not os.path.isdir(path) and os.path.isdir(named):
            path = os.path.abspath(named)
        if os.path.lexists(path) and not os.path.isdir(path):
            raise UsageError(f"{given}: is not a folder", "name the folder of a skill session, such as sessions/login")
        return path

    def shown(self, folder: str) -> str:
        """A folder relative to here, where that is below."""
        here = os.getcwd()
        is_below = here != os.sep and folder != here and files.is_below(folder, here)
        return os.path.relpath(folder, here) if is_below else folder

    def read(self, folder: str) -> SkillState | None:
        """The state; None if there is no state file."""
        place = os.path.join(self.shown(folder), state_file.NAME)
        try:
            content = state_file.content(folder)
        except OSError as error:
            if error.errno == errno.ENOTDIR:
                return None
            why = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"
            raise BadSkillState(f"{place} {why}", "make it a plain file; nothing was changed") from error
        if content is None:
            return None
        try:
            return parse(content, place)
        except BadState as error:
            raise BadSkillState(error.message, error.hint, details={"newer": error.is_newer}) from error

    def change(self, folder: str, change: Callable[[SkillState | None], SkillState]) -> SkillState:
        """Change the state under the folder's lock. If `change` raises, nothing is written."""
        try:
            files.make_folder(folder)
            with state_file.StateLock(folder):
                before = self.read(folder)
                after = change(before)
                if after != before:
                    state_file.put(folder, encode(after))
                    self._note_context(folder, before, after)
                if after.question is not None:
                    with contextlib.suppress(OSError):  # a shortcut only: the question is in the state file
                        asking.remember(self._state_dir, folder)
                return after
        except state_file.Busy as error:
            raise OwnedError(
                f"{self.shown(folder)} is being changed by another process for more than 10 s",
                "try again; if it stays so, find who holds .state.lock (fuser)",
            ) from error
        except OSError as error:
            place, hint = error.filename or folder, "check the folder's permissions"
            if os.path.basename(place) == state_file.LOCK and error.errno in (errno.EISDIR, errno.ELOOP):
                hint = "remove it: it is only a lock, and is made anew as a plain file"
            raise RekindleError(f"{place}: cannot be written ({error.strerror})", hint) from error

    def _note_context(self, folder: str, before: SkillState | None, after: SkillState) -> None:
        """Remember which dehydrated context was left here. Without it a hook asks before it is followed."""
        context = after.dehydrated_context
        if before is not None and before.dehydrated_context == context:
            return
        with contextlib.suppress(OSError):
            if context is None:
                left_notes.forget(self._state_dir, folder)
            else:
                left_notes.remember(self._state_dir, folder, document(after)["dehydratedContext"])

    def seen(self) -> list[SeenSession]:
        """All folders with a state file directly below the root."""
        try:
            names = sorted(os.listdir(self._root))[-_MOST:]
        except OSError:
            return []
        found = []
        for name in names:
            folder = os.path.join(self._root, name)
            if (
                name.startswith(".")
                or os.path.islink(folder)
                or not os.path.lexists(os.path.join(folder, state_file.NAME))
            ):
                continue
            found.append(self._look(folder))
        return found

    def _look(self, folder: str) -> SeenSession:
        try:
            changed = os.lstat(os.path.join(folder, state_file.NAME)).st_mtime
        except OSError:
            changed = 0.0
        try:
            state = self.read(folder)
        except BadSkillState as error:
            return SeenSession(folder, "", "", "", changed, problem=error.message)
        if state is None:
            return SeenSession(folder, "", "", "", changed, problem="its state file has just gone")
        newest = holder.seconds_of(state.last_heartbeat) or holder.seconds_of(state.started_at) or changed
        return SeenSession(
            folder,
            state.skill,
            state.lifecycle,
            state.current_phase,
            newest,
            pane=state.pane_id,
            holder=self.holder(state),
            is_mine=self.is_mine(state),
        )

    def holder(self, state: SkillState) -> int | None:
        """The pid of another live process that holds the session; one that nobody can judge counts as alive."""
        if state.pid is None or self.is_mine(state):
            return None
        return state.pid if holder.verdict(document(state)) in ("alive", "unknown") else None

    def is_mine(self, state: SkillState) -> bool:
        """Whether the agent or shell above this command holds the session."""
        return state.pid == holder.worker_pid() and holder.verdict(document(state)) == "alive"

    def me(self, pid: int | None = None) -> Claimant:
        """Who claims: the agent or the shell above this command, or the process with this pid."""
        meant = holder.worker_pid() if pid is None else pid
        owner = process_identity.identity(meant)
        if owner is None:
            raise UsageError(f"there is no process {meant}", "give the pid of a live process, or leave --pid out")
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return Claimant(
            meant,
            owner,
            at,
            surroundings.pane_of(self._environment) or None,
            conversation=surroundings.conversation_of(self._environment) or None,
        )

    def asking(self) -> asking.AskingFoldersHere:
        """The folders that have asked something."""
        return asking.AskingFoldersHere(self._state_dir)

    def remember(self, folder: str, who: Claimant) -> None:
        """A shortcut only: without it the hooks count nothing."""
        with contextlib.suppress(OSError):
            pointer.point(self._state_dir, who.pid, folder)
            if who.conversation is not None and why_not(who.conversation) is None:
                pointer.point_conversation(self._state_dir, who.conversation, folder)

    def scan(self, folder: str, state: SkillState) -> Artifacts:
        """What the artifacts say."""
        return scan.scan(folder, state.rules, state.skill)

    def log_end(self, folder: str, name: str) -> str:
        """The end of a session's log."""
        return scan.end_of(os.path.join(folder, name)) or ""

    def append_log(self, folder: str, name: str, text: str) -> None:
        """Append an entry, with an empty line before it. Raises RekindleError if not all of it is on the disk."""
        path = os.path.join(folder, name)
        try:
            fd = files.open_to_append(path, root=folder)
            try:
                begin = b"" if os.fstat(fd).st_size == 0 else b"\n"
                files.append(fd, begin + text.rstrip("\n").encode("utf-8", "backslashreplace") + b"\n")
            finally:
                os.close(fd)
        except OSError as error:
            raise RekindleError(
                f"{path}: cannot be written ({error.strerror})", "make it a plain file in the session's folder"
            ) from error

    def keep_dropped(self, folder: str, record: dict[str, Any]) -> None:
        """Keep what a dehydration left behind, one JSON object in a line."""
        self.append_log(folder, _DROPPED, json.dumps(record))

    def dropped(self, folder: str) -> list[dict[str, Any]]:
        """All that dehydrations left behind, oldest first. Lines that cannot be read are passed over."""
        try:
            lines = files.read_short(os.path.join(folder, _DROPPED), _LONGEST_DROPPED).splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise RekindleError(f"{error.filename}: cannot be read ({error.strerror})", "move it away") from error
        found = []
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                one = json.loads(line) if line.strip() else None
                if isinstance(one, dict):
                    found.append(one)
        return found
