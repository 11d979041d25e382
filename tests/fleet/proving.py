"""A job in the middle of a turn, and the proof that it went on in the same conversation, whatever died meanwhile."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.fleet.given import agrees, is_doing, record_of
from tests.fleet.yard import Yard, until

FIRST = "say my favourite bird is the albatross"


def begun(yard: Yard, *hosts: str, seconds: int = 600, options: tuple[str, ...] = ()) -> tuple[str, Any]:
    """A job in the middle of a turn, asleep in its third step, with a copy off its host.

    `had` is the agent's own record of that.
    """
    script = (FIRST, "write new.txt precious", f"sleep {seconds}", "say the end")
    job = yard.submit(*script, options=options)
    told = yard.until_driven(job, *hosts)
    session, host = told["session"], told["host"]

    def record() -> Any:
        token = yard.stored(session)["token"]
        found = record_of(yard, host, token) if token else []
        return found if is_doing(found, "sleep") else None

    had = until(record, "its sleep")
    copied(yard, session)
    return job, {**told, "had": had, "script": "\n".join(script)}


def copied(yard: Yard, session: str) -> None:
    """Wait until all that there is of a session now is off its host."""
    since = time.time()

    def is_copied() -> bool:
        found = next(one for one in yard.desk.json("fleet", "status")["sessions"] if one["id"] == session)
        behind = found["behind"]
        return behind is not None and (behind == 0 or time.time() - behind > since)

    until(is_copied, f"a copy of {session}")


def proved(yard: Yard, job: str, told: Any, *, receipt: str = "same", more: tuple[str, ...] = ()) -> Any:
    """The job was finished in the same conversation, with each prompt given once, and nothing of it is lost.

    By what rekindle says, and by the agent's own record of what it was given. `more` was sent later.
    """
    over = yard.until_over(job)
    session = yard.stored(told["session"])
    prompts = [one for one in session["prompts"] if one.get("by", "user") == "user"]
    assert [one["text"] for one in prompts] == [told["script"], *more], yard.story(job)
    assert over["session"] == told["session"]
    assert over["receipt"]["kind"] == receipt, over["receipt"]
    record = agrees(yard, told["session"], over["host"])
    assert record[: len(told["had"])] == told["had"], "the conversation as it was"
    assert [one["text"] for one in record if one["kind"] == "assistant"].count("the end") == 1
    begun_steps = [one["directive"] for one in record if one["kind"] == "step-started"]
    assert len([one for one in begun_steps if one.startswith("sleep")]) == 1, "what was started is not repeated"
    said = yard[over["host"]].said(told["session"])
    assert "albatross" in said and "the end" in said
    missing = any("files that were changed" in one for one in over["receipt"]["unknown"])
    assert (Path(session["cwd"]) / "new.txt").exists() or missing, "it is there, or the receipt says that it may not be"
    return over


def proved_untouched(yard: Yard, job: str, told: Any) -> Any:
    """The same, and one agent did all of it."""
    over = yard.until_over(job)
    assert len(yard.stored(told["session"])["attempts"]) == 1, "one attempt from beginning to end"
    assert over["host"] == told["host"]
    agrees(yard, told["session"], over["host"])
    return over


def spoken(yard: Yard, told: Any) -> list[str]:
    """What the agent has said on the host that had the job, by its own record."""
    record = record_of(yard, told["host"], yard.stored(told["session"])["token"])
    return [one["text"] for one in record if one["kind"] == "assistant"]
