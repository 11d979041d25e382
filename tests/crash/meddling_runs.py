"""Meddling with what a run has written down (journal, store) and with its course: conflicts, ends, two at once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.crash.feature_verdict import Allows
from tests.crash.feature_yard import Yard
from tests.crash.meddling import Act, Meddling, NotNow
from tests.crash.meddling_branches import BRANCH, tree_of
from tests.e2e.daemon import until
from tests.e2e.features import FEATURE


def _journal(change: str) -> Act:
    def act(yard: Yard, _: str) -> None:
        text = yard.shop.journal.read_bytes()
        lines = text.splitlines(keepends=True)
        if change == "truncated":
            yard.shop.journal.write_bytes(text[: -len(lines[-1]) // 2 - 1])
        elif change == "doubled":
            yard.shop.journal.write_bytes(text + lines[-1])
        else:
            yard.shop.journal.write_bytes(text + b"this is not an event\n")

    return act


def _delete_store(yard: Yard, _: str) -> None:
    """As `rm -rf ~/.local/state/rekindle` does it; the agents' own records are elsewhere."""
    shutil.rmtree(yard.machine.places.state, ignore_errors=True)


def _delete_store_file(yard: Yard, _: str) -> None:
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        Path(yard.machine.places.state, name).unlink(missing_ok=True)


def _resolve(how: str) -> Act:
    def act(yard: Yard, _: str) -> None:
        tree = tree_of(yard, ".integration")
        if how == "abort":
            yard.git("merge", "--abort", cwd=tree)
            return
        (tree / "same.txt").write_text("both\n")
        if how in ("index", "commit"):
            yard.git("add", "-A", cwd=tree)
        if how == "commit":
            yard.git("commit", "-q", "-m", "resolved by hand", cwd=tree)

    return act


def _nothing(_yard: Yard, _task: str) -> None:
    """What is meddled with is the answer."""


def _stop(yard: Yard, _: str) -> None:
    yard.run("stop", FEATURE)


def _stop_session(yard: Yard, task: str) -> None:
    rows = yard.machine.json("ps", "--all")["sessions"]
    mine = [row["id"] for row in rows if row["title"] == f"work: Task {task}"]
    if not mine:
        raise NotNow("it has no session")
    yard.run("stop", mine[-1])


def _bring_session_back(yard: Yard, task: str) -> None:
    rows = yard.machine.json("ps", "--all")["sessions"]
    yard.run("resume", next(row["id"] for row in rows if row["title"] == f"work: Task {task}"))


def _abandon(yard: Yard, _: str) -> None:
    yard.run("abandon", FEATURE)


def _stop_daemon(yard: Yard, _: str) -> None:
    yard.run("serve", "--stop")


def _two_resumes(yard: Yard, _: str) -> None:
    both = [yard.start("resume", FEATURE), yard.start("resume", FEATURE)]
    until(lambda: all(one.poll() is not None for one in both), "the end of both", 150.0)
    yard.tell(f"  -> {[one.returncode for one in both]}")


def _forge(type_: str, **data: object) -> Act:
    """A line that nobody of ours wrote, with the run's own id."""

    def act(yard: Yard, task: str) -> None:
        start = yard.shop.events("session.start")[-1]
        last = max(int(event["seq"]) for event in yard.shop.events() if event.get("seq") is not None)
        event = {**start, "type": type_, "seq": last + 1, "data": {**data, "taskId": task}, "eid": f"forged-{type_}"}
        if type_ == "branch.merged":
            event["data"] |= {"name": yard.branch(task), "target": BRANCH}
        with yard.shop.journal.open("a") as file:
            file.write(json.dumps(event) + "\n")

    return act


def _forge_both(yard: Yard, task: str) -> None:
    _forge("branch.merged")(yard, task)
    _forge("task.completed")(yard, task)


_CONFLICT = Allows({"same.txt": "both"}, history="more")
_CONFLICTS = Allows(asks=("conflict",), must_ask=True, leaves=True, again=True)

RUNS: tuple[Meddling, ...] = (
    Meddling("the journal's last line is cut", _journal("truncated"), allows=Allows(damages_journal=True)),
    Meddling("a line of the journal is doubled", _journal("doubled"), allows=Allows(damages_journal=True)),
    Meddling("a line of the journal is no event", _journal("garbage"), allows=Allows(damages_journal=True)),
    Meddling(
        "the store is deleted", _delete_store, allows=Allows(again=True, asks=("--trust",)), answers=(("--trust",),)
    ),
    Meddling(
        "the store is deleted before a merge",
        _delete_store,
        "held",
        allows=Allows(again=True, asks=("--trust",)),
        answers=(("--trust",),),
    ),
    Meddling("the store's file is deleted", _delete_store_file, allows=Allows(again=True)),
    Meddling(
        "the store's file is deleted while it works",
        _delete_store_file,
        down=False,
        allows=Allows(again=True, asks=("store",), leaves=True),
    ),
    Meddling("a conflict is resolved in the files", _resolve("files"), "conflict", allows=_CONFLICT),
    Meddling("a conflict is resolved in the index", _resolve("index"), "conflict", allows=_CONFLICT),
    Meddling("a conflict is resolved by a commit", _resolve("commit"), "conflict", allows=_CONFLICT),
    Meddling("a conflicting merge is aborted", _resolve("abort"), "conflict", allows=_CONFLICTS),
    Meddling(
        "a conflict is answered with A",
        _nothing,
        "conflict",
        allows=Allows({"same.txt": "b"}, history="more", again=True),
        answers=(("--choose", "A"),),
    ),
    Meddling(
        "a conflict is answered with B",
        _nothing,
        "conflict",
        allows=Allows(may_differ=frozenset({"b.txt", "b-2.txt"}), history="other", leaves=True),
        answers=(("--choose", "B"),),
    ),
    Meddling("the run is stopped", _stop, down=False),
    Meddling("the run is stopped before a merge", _stop, "held", down=False),
    Meddling(
        "a task's session is stopped",
        _stop_session,
        down=False,
        undo=_bring_session_back,
        allows=Allows(asks=("somebody stopped its session",), leaves=True),
    ),
    Meddling("the run is abandoned", _abandon, allows=Allows(asks=("nothing to resume", "abandoned"), leaves=True)),
    Meddling("the daemon is told to end", _stop_daemon, down=False),
    Meddling("two resumes at once", _two_resumes),
    Meddling("two resumes at once before a merge", _two_resumes, "held"),
    Meddling("a merge is forged", _forge("branch.merged", conflicts=False), allows=Allows(damages_journal=True)),
    Meddling(
        "an end of a task is forged", _forge("task.completed", summary="forged"), allows=Allows(damages_journal=True)
    ),
    Meddling("a merge and an end are forged", _forge_both, allows=Allows(damages_journal=True)),
    Meddling(
        "a passed check is forged", _forge("qa.passed", round=1, summary="forged"), allows=Allows(damages_journal=True)
    ),
)
