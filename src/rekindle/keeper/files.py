"""All files of one incarnation, made by the guard before it forks, and so shared with the keeper.

Either all of them are there, with their room reserved and their names synced, or NoRoom is raised
and nothing is held.
"""

import contextlib
import errno
import os
from dataclasses import dataclass

from rekindle.keeper.errors import NoRoom
from rekindle.keeper.identity import create_identity_file
from rekindle.keeper.input_spool import InputSpool
from rekindle.keeper.leftovers import SeenFile
from rekindle.keeper.outcome import create_exit_file
from rekindle.keeper.output_spool import OutputSpool
from rekindle.keeper.progress import ProgressFile
from rekindle.keeper.slots import SlotFile
from rekindle.keeper.spec import Layout, Spec


@dataclass(frozen=True, slots=True)
class Files:
    exit: SlotFile
    identity: SlotFile
    progress: ProgressFile
    seen: SeenFile
    out: OutputSpool
    err: OutputSpool
    input: InputSpool

    def observe(self) -> bool:
        """Look at the outputs; whether the agent said something. Losses go to the progress file."""
        changed = [self.out.observe(), self.err.observe()]
        self.progress.note_truncation(self.out.truncated, self.err.truncated)
        return any(changed)

    def have_room(self) -> bool:
        # All three are topped up, also when one of them fails.
        return all([self.out.has_room(), self.err.has_room(), self.input.has_room()])

    def give_back(self) -> None:
        for spool in (self.out, self.err, self.input):
            spool.give_back()


def create_files(spec: Spec) -> Files:
    layout = Layout(spec.folder)
    try:
        files = Files(
            exit=create_exit_file(spec.folder),
            identity=create_identity_file(spec.folder),
            progress=ProgressFile.create(spec.folder, spec.generation),
            seen=SeenFile.create(spec.folder),
            out=OutputSpool(layout.out, spec.reserve_bytes),
            err=OutputSpool(layout.err, spec.reserve_bytes // 4),
            input=InputSpool(layout.input, spec.reserve_bytes // 16),
        )
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise NoRoom(_sentence(spec)) from error
    if not files.have_room():
        files.give_back()
        raise NoRoom(_sentence(spec))
    for folder in (spec.folder, os.path.dirname(spec.folder)):
        _sync_folder(folder)
    return files


def _sentence(spec: Spec) -> str:
    return (
        f"{spec.folder} has no room for the agent's output ({spec.room_ahead} bytes are reserved ahead). "
        "Free some room."
    )


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        os.fsync(fd)
    os.close(fd)
