"""The demonstration's orchestrator: appends the events of a small plan to the journal, until somebody kills it."""

from __future__ import annotations

import os
import secrets
import signal
import sys

from rekindle.adapters import run_owner
from rekindle.ports.journal import NewEvent
from rekindle.wiring import open_workspace


def main() -> None:
    """Work through the first wave and get stuck in the second."""
    here = open_workspace(os.environ, sys.argv[1])
    journal = here.writable("checkout")
    sid = secrets.token_hex(4)

    def log(type_: str, said: str, **data: object) -> None:
        got = journal.append(NewEvent(type_, dict(data)), sid=sid)
        print(f"event {got.seq}: {said}", flush=True)

    log("session.start", "the run starts", command="implement", branch="feature/checkout", mode="standard")
    held = run_owner.hold(str(here.folder("checkout")), sid)
    tasks = [{"id": "1", "summary": "Cart model"}, {"id": "2", "summary": "Payment form"}]
    waves = [{"wave": 1, "task_ids": ["1"]}, {"wave": 2, "task_ids": ["2"]}]
    log("plan.created", "a plan of two tasks in two waves", tasks=tasks, waves=waves, dependencies=[])
    log("agent.spawned", "agent cart-eng starts", name="cart-eng", task="1", branch="work/checkout/cart")
    log("task.started", "task 1 started", taskId="1", summary="Cart model", agent="cart-eng")
    log("task.completed", "task 1 completed", taskId="1", files_changed=["cart.py"])
    log("agent.completed", "agent cart-eng is done", name="cart-eng", result="success")
    log("checkpoint", "checkpoint wave-1-complete", label="wave-1-complete", plan_step="wave-2-start", resumable=True)
    log("agent.spawned", "agent pay-eng starts", name="pay-eng", task="2", branch="work/checkout/payment")
    log("task.started", "task 2 started", taskId="2", summary="Payment form", agent="pay-eng")
    signal.pause()
    assert held is not None


if __name__ == "__main__":
    main()
