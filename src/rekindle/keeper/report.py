"""Composes the exit record from what is known at the end, for the keeper and for the guard in its place."""

import time
from dataclasses import dataclass

from rekindle.keeper.identity import here
from rekindle.keeper.outcome import EndedBy, ExitRecord, LeftRunning, Swept
from rekindle.keeper.progress import Progress
from rekindle.keeper.reaping import AgentEnd
from rekindle.keeper.spec import Spec

DEADLINE_PASSED = "deadline passed"


@dataclass(frozen=True, slots=True)
class Cause:
    by: EndedBy
    reason: str


@dataclass(frozen=True, slots=True)
class Sizes:
    out: int = 0
    err: int = 0
    input: int = 0


def compose(
    spec: Spec,
    cause: Cause,
    *,
    written_by: str,
    started_at: float,
    progress: Progress,
    ended: AgentEnd | None = None,
    sizes: Sizes | None = None,
    swept: tuple[Swept, ...] = (),
    left: tuple[LeftRunning, ...] = (),
) -> ExitRecord:
    sizes = sizes or Sizes()
    return ExitRecord(
        session=spec.session,
        attempt=spec.attempt,
        generation=progress.generation,
        ended_by=cause.by,
        reason=cause.reason,
        code=ended.code if ended else None,
        signal=ended.signal if ended else None,
        written_by=written_by,
        out_size=sizes.out,
        err_size=sizes.err,
        in_size=sizes.input,
        spooled_n=progress.spooled_n,
        started_n=progress.started_n,
        delivered_n=progress.delivered_n,
        truncated_out=progress.truncated_out,
        truncated_err=progress.truncated_err,
        swept=swept,
        swept_count=len(swept),
        left=left,
        started_at=started_at,
        ended_at=time.time(),
        boot=here().boot,
    )
