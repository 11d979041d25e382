"""The keeper process: from the guard's fork to its own end.

It becomes a session leader and a subreaper, starts the agent, says so, tends it, and writes the
exit record after the sweep. The guard has prepared everything that the agent's start needs.
"""

import os
import time
from dataclasses import asdict, replace

from rekindle.keeper import kernel, lockfile
from rekindle.keeper.agent import ExecError, start_agent
from rekindle.keeper.deadline import Deadline
from rekindle.keeper.files import Files
from rekindle.keeper.identity import Identity, here, write_identity
from rekindle.keeper.lockfile import Holder
from rekindle.keeper.outcome import EndedBy, LeftRunning, write_exit
from rekindle.keeper.pane import window_of
from rekindle.keeper.processes import ProcessId, is_running, own_id
from rekindle.keeper.readiness import Readiness
from rekindle.keeper.report import DEADLINE_PASSED, Cause, Sizes, compose
from rekindle.keeper.spec import Spec
from rekindle.keeper.tending import Tending, Wakeups


def keep(
    spec: Spec,
    files: Files,
    guard: ProcessId,
    lock: int,
    readiness: Readiness,
    kept: tuple[LeftRunning, ...],
    deadline: Deadline,
    terminal: int | None = None,
) -> None:
    """The keeper's whole life. `kept` are processes that earlier incarnations left running on purpose."""
    os.setsid()
    kernel.set_name("rekindle-keeper")
    kernel.become_subreaper()
    me = own_id()
    place = here()
    lockfile.write_holder(lock, Holder(guard, me, place, spec.folder))
    wakeups = Wakeups()
    if terminal is not None and (window := window_of(terminal)):
        spec = replace(spec, rows=window[0], cols=window[1])
    started_at = time.time()
    if deadline.has_passed:
        _never_started(spec, files, Cause(EndedBy.DEADLINE, DEADLINE_PASSED), started_at)
        readiness.failed("late", "The time until which the agent may live had passed before it was started.")
        return
    try:
        agent = start_agent(spec, files.out.fd, files.err.fd)
    except ExecError as error:
        sentence = _exec_sentence(spec, error)
        _never_started(spec, files, Cause(EndedBy.START_FAILED, sentence), started_at)
        readiness.failed("exec", sentence, program=spec.argv[0], errno=error.errno)
        return
    identity = Identity(spec.session, spec.attempt, place, guard, me, agent.id, spec.socket, started_at)
    write_identity(files.identity, identity)
    tending = Tending(spec, files, agent, identity, wakeups, deadline, terminal)
    tending.open()
    readiness.started(asdict(identity))
    tending.run()
    left = (*(one for one in kept if is_running(one.id)), *tending.tree.left())
    if not left:
        files.give_back()
    record = compose(
        spec,
        tending.cause,
        written_by="keeper",
        started_at=started_at,
        progress=files.progress.now,
        ended=tending.tree.agent_ended,
        sizes=Sizes(files.out.size, files.err.size, files.input.size),
        swept=tending.swept,
        left=left,
    )
    write_exit(files.exit, record)
    tending.close()


def _never_started(spec: Spec, files: Files, cause: Cause, at: float) -> None:
    write_exit(files.exit, compose(spec, cause, written_by="keeper", started_at=at, progress=files.progress.now))
    files.give_back()


def _exec_sentence(spec: Spec, error: ExecError) -> str:
    if error.where == "cwd":
        return f"The agent's working folder {spec.cwd} cannot be used: {error}."
    program = spec.argv[0]
    return f"The agent's program {program} cannot be executed: {error}."
