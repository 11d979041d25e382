"""`rekindle send`, without the option parser: who waits for an agent to be woken should not wait for that too.

Light standard library only: `start` comes here by itself for a call that has no options.
"""

from __future__ import annotations

import os
import sys

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.receipts import print_woken
from rekindle.doors.cli.use_cases import use_cases


def is_plain(arguments: list[str]) -> bool:
    """Whether these are `send SESSION TEXT` and nothing else, from a person. An agent is refused by the long way."""
    if len(arguments) != 3 or arguments[0] != "send" or "_REKINDLE_COMPLETE" in os.environ:
        return False
    if any(not word or word.startswith("-") for word in arguments[1:]):
        return False
    return not use_cases().ancestry().is_inside()


def send(session: str, text: str, *, follow: bool = False, as_json: bool = False) -> int:
    """Send a text, or standard input if that is `-`. Returns the exit status."""
    client = use_cases().daemon()
    said = sys.stdin.read() if text == "-" else text
    before = None
    if follow:
        from rekindle.doors.cli.watching import read_so_far

        before = read_so_far(client.ask("show", session=session)["id"])
    told = client.ask("send", session=session, text=said, prompt_id=os.urandom(4).hex())
    if told["woken"] and not as_json:
        print_woken(told)
    if as_json:
        from rekindle.doors.cli.options import print_json

        print_json(told)
    elif told.get("mail"):
        print_lines([f"{told['id']}: not delivered yet; {printable(told['mail']['told'])}."])
    elif told["delivered"]:
        print(f"{told['id']}: delivered.")
    elif told["stopped_keeper"]:
        pid = told["stopped_keeper"]
        print(f"{told['id']}: queued; its keeper (pid {pid}) is stopped and does not answer.")
        print(f"It is delivered when the keeper continues: kill -CONT {pid}")
    elif told["status"] == "working":
        print(f"{told['id']}: queued; it is delivered when the agent has finished its turn.")
    else:
        why = f" ({printable(told['why'])})" if told["why"] else ""
        print(f"{told['id']}: not delivered yet; it stays in the queue{why}.")
    is_queued = told["status"] == "working" and not told["stopped_keeper"] and not told.get("mail")
    on_its_way = told["delivered"] or is_queued
    if follow and on_its_way:
        from rekindle.doors.cli.watching import watch

        return watch(client, told["id"], put_to_sleep=False, known=told, conversation=before)
    return 0 if on_its_way else 1
