"""How far an incarnation has come, kept so that a crash of the keeper leaves no guesswork.

`started_n` is written before the first byte of message n goes to the agent, `delivered_n` after the
last one was taken. So after a crash: up to delivered_n the agent's stdin has it; above started_n it
certainly has not; between the two it is in doubt. The file is in place and allocated, so it works
on a full disk. It is synced only when the generation changes: it has to survive the death of
processes, and after a loss of power no agent lives (compare the boot id; everything above
delivered_n is in doubt then).
"""

from dataclasses import asdict, dataclass, replace

from rekindle.keeper import fields
from rekindle.keeper.outcome import Truncation, truncation
from rekindle.keeper.slots import SlotFile, read_slots
from rekindle.keeper.spec import Layout

_SLOT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Progress:
    generation: int
    spooled_n: int = 0
    started_n: int = 0
    delivered_n: int = 0
    stop_reason: str | None = None
    truncated_out: Truncation | None = None
    truncated_err: Truncation | None = None


class ProgressFile:
    def __init__(self, file: SlotFile, progress: Progress) -> None:
        self._file = file
        self.now = progress

    @classmethod
    def create(cls, folder: str, generation: int) -> "ProgressFile":
        file = SlotFile.create(Layout(folder).progress, slot_bytes=_SLOT_BYTES, slots=2)
        made = cls(file, Progress(generation))
        made._write(sync=True)
        return made

    def update(
        self,
        *,
        spooled_n: int | None = None,
        started_n: int | None = None,
        delivered_n: int | None = None,
        generation: int | None = None,
    ) -> None:
        """Change what is given; a new generation is on the disk when this returns."""
        before = self.now
        self.now = replace(
            before,
            generation=before.generation if generation is None else generation,
            spooled_n=before.spooled_n if spooled_n is None else spooled_n,
            started_n=before.started_n if started_n is None else started_n,
            delivered_n=before.delivered_n if delivered_n is None else delivered_n,
        )
        self._write(sync=self.now.generation != before.generation)

    def note_stop(self, reason: str) -> None:
        self.now = replace(self.now, stop_reason=reason[:300])
        self._write(sync=False)

    def note_truncation(self, out: Truncation | None, err: Truncation | None) -> None:
        if (out, err) != (self.now.truncated_out, self.now.truncated_err):
            self.now = replace(self.now, truncated_out=out, truncated_err=err)
            self._write(sync=False)

    def _write(self, *, sync: bool) -> None:
        self._file.write(asdict(self.now), sync=sync)


def read_progress(folder: str) -> Progress | None:
    value = read_slots(Layout(folder).progress)
    if value is None:
        return None
    try:
        reason = value.get("stop_reason")
        return Progress(
            generation=fields.integer(value, "generation"),
            spooled_n=fields.integer(value, "spooled_n"),
            started_n=fields.integer(value, "started_n"),
            delivered_n=fields.integer(value, "delivered_n"),
            stop_reason=reason if isinstance(reason, str) else None,
            truncated_out=truncation(value.get("truncated_out")),
            truncated_err=truncation(value.get("truncated_err")),
        )
    except ValueError:
        return None
